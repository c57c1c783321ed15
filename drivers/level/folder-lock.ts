import { closeSync, fstatSync, ftruncateSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { makeFolder, StorageError } from '../../lib/storage/index.ts'

/** Mode of the folders that are created: they are for the user of the process alone. */
const PRIVATE = 0o700
const OWNER_FILE = 'OWNER.json'

export interface FolderLock {
  /** Real path of the folder. */
  readonly folder: string
  /** Writes this process to OWNER.json, for the message of others. Call it while LevelDB's lock is held. */
  writeOwner(): void
  release(): void
}

/**
 * Admits one opener per process to a LevelDB folder. LevelDB's own file LOCK keeps other processes out, but
 * not a second opener in the same process. A POSIX (fcntl) lock is dropped when its process closes any
 * descriptor of the file, so an opener that is refused must never have touched LOCK.
 *
 * Each opener holds a descriptor of OWNER.json, and proceeds only while that is the only descriptor of this
 * file in the process. All threads and all copies of this module share the process's descriptors, and the
 * inode is the same for every spelling of the path. Descriptors end with the process, so a crash leaves
 * nothing to clean up.
 * @throws StorageError `locked` when another opener in this process has the folder
 */
export const lockFolder = async (location: string): Promise<FolderLock> => {
  await makeFolder(location, PRIVATE)
  const folder = await realpath(location)
  const descriptor = openSync(join(folder, OWNER_FILE), 'a+')
  const release = () => closeSync(descriptor)
  if (isOpenTwice(descriptor)) {
    release()
    throw heldByThisProcess(location)
  }
  const writeOwner = () => {
    try {
      ftruncateSync(descriptor)
      writeSync(descriptor, JSON.stringify({ pid: process.pid, host: hostname() }))
    } catch {
      // The disk is full. Only the messages of refused openers use this text.
    }
  }
  return { folder, writeOwner, release }
}

const isOpenTwice = (descriptor: number): boolean => {
  const file = fileId(descriptor)
  return openDescriptors().some((other) => other !== descriptor && fileId(other) === file)
}

const fileId = (descriptor: number): string | undefined => {
  try {
    const { dev, ino } = fstatSync(descriptor, { bigint: true })
    return `${dev}:${ino}`
  } catch {
    return undefined
  }
}

const openDescriptors = (): number[] => {
  try {
    return readdirSync('/dev/fd').map(Number)
  } catch {
    // This system has no such folder.
    return []
  }
}

export const heldByThisProcess = (location: string): StorageError =>
  new StorageError(
    'locked',
    `${location} is already in use by this process (pid ${process.pid}): share the driver that has it open, or close that one first`,
  )

export const heldByAnotherProcess = (location: string, cause: unknown): StorageError =>
  new StorageError(
    'locked',
    `${location} is in use by another process${ownerOf(location)}: stop that process first`,
    { cause },
  )

/** The process that wrote OWNER.json last, in parentheses; a damaged file names none. */
const ownerOf = (location: string): string => {
  try {
    const { pid, host } = JSON.parse(readFileSync(join(location, OWNER_FILE), 'utf8'))
    return ` (pid ${pid}${host === hostname() ? '' : ` on ${host}`})`
  } catch {
    return ''
  }
}
