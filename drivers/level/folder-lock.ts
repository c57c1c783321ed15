import { closeSync, fstatSync, ftruncateSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { mkdir, realpath } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { threadId } from 'node:worker_threads'
import { StorageError } from '../../lib/storage/index.ts'

/** Mode of the folders that are created: they are for the user of the process alone. */
const PRIVATE = 0o700
const OWNER_FILE = 'OWNER.json'
/** Openers that collide all retry after a random pause, so one of them is soon alone. */
const ATTEMPTS = 12
const MAX_PAUSE_MS = 40

/**
 * Admits one opener per process to a LevelDB folder. LevelDB's own file LOCK keeps other processes out, but
 * not a second opener in the same process. A POSIX (fcntl) lock is dropped when its process closes any
 * descriptor of the file, so an opener that is refused must never have touched LOCK.
 *
 * Each opener holds a descriptor of OWNER.json, and proceeds only while that is the only descriptor of this
 * file in the process. All threads and all copies of this module share the process's descriptors, and the
 * inode is the same for every spelling of the path. Descriptors end with the process, so a crash leaves
 * nothing to clean up.
 */
export class FolderLock {
  /** Real path of the folder. */
  readonly folder: string
  readonly #descriptor: number

  private constructor(folder: string, descriptor: number) {
    this.folder = folder
    this.#descriptor = descriptor
  }

  /** @throws StorageError `locked` when another opener in this process has the folder. */
  static async acquire(location: string): Promise<FolderLock> {
    await mkdir(location, { recursive: true, mode: PRIVATE })
    const folder = await realpath(location)
    for (let attempt = 1; ; attempt++) {
      const descriptor = openSync(join(folder, OWNER_FILE), 'a+')
      if (isOnlyDescriptor(descriptor)) return new FolderLock(folder, descriptor)
      closeSync(descriptor)
      if (attempt === ATTEMPTS) throw heldByThisProcess(location)
      await sleep(Math.random() * MAX_PAUSE_MS)
    }
  }

  /**
   * Writes this process and thread to OWNER.json, for the message of a refused opener. Call it only while
   * LevelDB is open.
   */
  writeOwner(): void {
    const owner: Owner = { pid: process.pid, thread: threadId, host: hostname() }
    this.#write(JSON.stringify(owner))
  }

  clearOwner(): void {
    this.#write('')
  }

  release(): void {
    closeSync(this.#descriptor)
  }

  #write(text: string): void {
    try {
      ftruncateSync(this.#descriptor)
      writeSync(this.#descriptor, text)
    } catch {
      // The disk is full. Only the messages of refused openers use this text.
    }
  }
}

interface Owner {
  pid: number
  thread: number
  host: string
}

const isOnlyDescriptor = (descriptor: number): boolean => {
  const file = fileId(descriptor)
  return !openDescriptors(descriptor).some((other) => other !== descriptor && fileId(other) === file)
}

const fileId = (descriptor: number): string | undefined => {
  try {
    const { dev, ino } = fstatSync(descriptor, { bigint: true })
    return `${dev}:${ino}`
  } catch {
    return undefined
  }
}

/** Numbers that are tried where the system does not list the descriptors of a process. */
const PROBED = 4096

const openDescriptors = (own: number): number[] => {
  try {
    const listed = readdirSync('/dev/fd').map(Number)
    if (listed.includes(own)) return listed
  } catch {
    // This system has no such folder.
  }
  return Array.from({ length: PROBED }, (_, descriptor) => descriptor)
}

/** The opener that wrote OWNER.json last; undefined when that process has ended. */
const ownerOf = (location: string): Owner | undefined => {
  try {
    const owner = JSON.parse(readFileSync(join(location, OWNER_FILE), 'utf8')) as Owner
    return owner.host !== hostname() || isAlive(owner.pid) ? owner : undefined
  } catch {
    return undefined
  }
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

export const heldByThisProcess = (location: string): StorageError => {
  const owner = ownerOf(location)
  const thread = owner?.thread === 0 ? 'main thread' : `worker thread ${owner?.thread}`
  const where = owner?.pid === process.pid ? `, ${thread}` : ''
  return new StorageError(
    'locked',
    `${location} is already in use by this process (pid ${process.pid}${where}): share the driver that has it open, or close that one first`,
  )
}

export const heldByAnotherProcess = (location: string, cause: unknown): StorageError => {
  const owner = ownerOf(location)
  const isHere = owner?.host === hostname()
  // After a restart with the same pid, OWNER.json may still name this pid.
  const isKnown = owner !== undefined && !(isHere && owner.pid === process.pid)
  const name = isKnown ? ` (pid ${owner.pid}${isHere ? '' : ` on ${owner.host}`})` : ''
  return new StorageError(
    'locked',
    `${location} is in use by another process${name}: stop that process first`,
    { cause },
  )
}
