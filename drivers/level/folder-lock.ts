import { closeSync, fstatSync, ftruncateSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { mkdir, realpath } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { threadId } from 'node:worker_threads'

/**
 * Lets one opener per process at a LevelDB folder. LevelDB's own LOCK keeps other processes out, but not a second opener of
 * this one, and a POSIX (fcntl) lock is dropped when its process closes any descriptor of the file: so an opener that is refused
 * must never have touched LOCK.
 *
 * Each opener holds a descriptor of OWNER.json, and goes on only while that descriptor is the process's only one. The table of
 * descriptors is the same for every thread and every copy of this module, the inode is the same for every spelling of the
 * path, and both end with the process: no crash leaves anything to clean up.
 */
export interface FolderLock {
  /** The folder's one spelling. */
  readonly folder: string
  /** Says in OWNER.json who holds LOCK, for the message of whoever is refused. Call it only while LevelDB is open. */
  note(): void
  /** Takes that back. */
  forget(): void
  release(): void
}

export interface Owner {
  pid: number
  thread: number
  host: string
}

/** Openers that collide all back off for a random time: one of them is alone soon. */
const TRIES = 12
const LONGEST_PAUSE_MS = 40

/** @returns undefined when another opener in this process has the folder. */
export const lockFolder = async (location: string): Promise<FolderLock | undefined> => {
  await mkdir(location, { recursive: true })
  const folder = await realpath(location)
  for (let attempts = 1; ; attempts++) {
    const descriptor = openSync(join(folder, OWNER), 'a+')
    if (isOnly(descriptor)) return lockOf(folder, descriptor)
    closeSync(descriptor)
    if (attempts === TRIES) return undefined
    await sleep(Math.random() * LONGEST_PAUSE_MS)
  }
}
const OWNER = 'OWNER.json'

const lockOf = (folder: string, descriptor: number): FolderLock => {
  const write = (text: string) => {
    try {
      ftruncateSync(descriptor)
      writeSync(descriptor, text)
    } catch {
      // A full disk: what is missing is only words for a message.
    }
  }
  return {
    folder,
    note: () => write(JSON.stringify({ pid: process.pid, thread: threadId, host: hostname() })),
    forget: () => write(''),
    release: () => closeSync(descriptor),
  }
}

const isOnly = (descriptor: number): boolean => {
  const own = identityOf(descriptor)
  return !descriptors(descriptor).some((other) => other !== descriptor && identityOf(other) === own)
}

const identityOf = (descriptor: number): string | undefined => {
  try {
    const { dev, ino } = fstatSync(descriptor, { bigint: true })
    return `${dev}:${ino}`
  } catch {
    return undefined
  }
}

/** The process's open descriptors; where the system does not list them, every number that is likely to be one. */
const descriptors = (own: number): number[] => {
  const listed = listedDescriptors()
  return listed.includes(own) ? listed : Array.from({ length: PROBED }, (_, at) => at)
}
const PROBED = 4096

const listedDescriptors = (): number[] => {
  try {
    return readdirSync('/dev/fd').map(Number)
  } catch {
    return []
  }
}

/** Who noted last that it holds the folder; undefined when that process is gone. */
export const ownerOf = (location: string): Owner | undefined => {
  try {
    const owner = JSON.parse(readFileSync(join(location, OWNER), 'utf8')) as Owner
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
