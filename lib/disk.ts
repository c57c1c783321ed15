/**
 * Shared by `GitStorage` and `FileStorage`: both keep folders on disk that others read, write and remove
 * meanwhile.
 */
import { existsSync } from 'node:fs'
import { mkdir, open, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { AllotError } from './errors.ts'

/** What Node, git and LevelDB say of a full disk, a disk quota, and a limit on the size of files. */
const FULL = /ENOSPC|EDQUOT|EFBIG|No space left|quota exceeded|File too large/i
/**
 * What the system says of a disk that cannot be read or written, of a folder that it does not create, and of
 * a process that has as many files open as it may.
 */
const UNUSABLE_TEXTS =
  'Read-only file system|Permission denied|Operation not permitted|Input/output error|Too many open files'
const UNUSABLE = new RegExp(
  `\\b(?:EROFS|EACCES|EPERM|EIO|EMFILE|ENFILE)\\b|no such file or directory, mkdir|${UNUSABLE_TEXTS}`,
)
/** The end of a message whose reason is in its cause, for the log. */
export const REASON_IN_LOG = ': its log has the reason'

/**
 * Whether an error means that the disk is full. LevelDB reports it in the message only; a limit on the size
 * of files counts too.
 */
export const isFull = (cause: unknown): boolean =>
  cause instanceof Error && (FULL.test(cause.message) || isFull(cause.cause))

/**
 * The error for a client when the disk has failed and not the request: storage_full or unavailable; undefined
 * for other errors.
 */
export const diskFault = (cause: unknown): AllotError | undefined => {
  if (cause instanceof AllotError || !(cause instanceof Error)) return undefined
  if (FULL.test(cause.message)) return storageFull(cause)
  return UNUSABLE.test(cause.message) ? diskUnusable(cause) : undefined
}

const storageFull = (cause: Error) => new AllotError('storage_full', 'the disk is full', { cause })

const diskUnusable = (cause: Error) => {
  const message = `the server cannot use a file or folder that it needs${REASON_IN_LOG}`
  return new AllotError('unavailable', message, { cause })
}

/** How the lines end in which git reports what the system said. */
const [GIT_FULL, GIT_UNUSABLE] = [
  /: (?:No space left on device|Disk quota exceeded|File too large)$/,
  new RegExp(`: (?:${UNUSABLE_TEXTS}(?: in system)?)$`),
]
/**
 * Lines in which git finds fault with an object, and may quote what is in it, and with it a client:
 * `object <id>: <fault>: …`.
 */
const QUOTES_OBJECT = /\bobject [0-9a-f]{40}: \w+: /
const NO_QUARANTINE = 'unable to create temporary object directory'

/**
 * The error for a client when the output of git says that the disk has failed, as {@link diskFault} has it.
 */
export const diskFaultOfGit = (cause: Error): AllotError | undefined => {
  const lines = cause.message.split('\n').filter((line) => !QUOTES_OBJECT.test(line))
  if (lines.some((line) => GIT_FULL.test(line))) return storageFull(cause)
  const isUnusable = lines.some((line) => GIT_UNUSABLE.test(line) || line.includes(NO_QUARANTINE))
  return isUnusable ? diskUnusable(cause) : undefined
}

/**
 * Milliseconds that a push, a fetch from another server or a copy may take at most. Older entries of the
 * journal of such work are abandoned (lib/repositories/disk-journal.ts).
 */
export const MAX_WORK_MS = 24 * 3600_000

/**
 * A handler for `catch` that returns a value when a path does not exist, and throws every other error again.
 */
export const ifMissing =
  <T>(value: T) =>
  (error: NodeJS.ErrnoException): T => {
    if (error.code === 'ENOENT') return value
    throw error
  }

export const ifExists = (error: NodeJS.ErrnoException): void => {
  if (error.code !== 'EEXIST') throw error
}

/**
 * Creates a folder and those above it. `mkdir` with `recursive` never ends in /proc, where it is told that a
 * folder is missing (ENOENT) which exists.
 * @returns whether it did not exist
 */
export const makeFolder = async (folder: string, mode = 0o777): Promise<boolean> => {
  const missing: string[] = []
  for (let path = resolve(folder); !existsSync(path); path = dirname(path)) missing.unshift(path)
  for (const path of missing) await mkdir(path, { mode }).catch(ifExists)
  // It can be a file.
  await mkdir(folder, { recursive: true })
  return missing.length > 0
}

/** Makes the content of a file or the entries of a folder durable. Windows cannot sync folders. */
export const syncToDisk = async (path: string): Promise<void> => {
  if (process.platform === 'win32') return
  const handle = await open(path, 'r').catch(ifMissing(undefined))
  await handle?.sync().finally(() => handle.close())
}

/**
 * Whether a path has not changed for at least `seconds`; always true for 0, and for a path that does not
 * exist.
 */
export const isUnchangedFor = async (path: string, seconds: number): Promise<boolean> => {
  if (seconds === 0) return true
  const { mtimeMs } = await stat(path).catch(ifMissing({ mtimeMs: 0 }))
  return Date.now() - mtimeMs >= seconds * 1000
}

/** Called when something could not be deleted from the disk; a later start tries again. */
export type OnDeletionError = (error: unknown, fields?: object) => void

/** Defers removals while a reader, such as an export, needs what existed when it started. */
export class DeletionHold {
  #holds = 0
  #deferred: (() => Promise<void>)[] = []
  readonly #onError: OnDeletionError

  /** @param onError called when a deferred removal fails; the others are run anyway */
  constructor(onError: OnDeletionError = () => undefined) {
    this.#onError = onError
  }

  /**
   * Defers removals from now on.
   * @returns ends the hold and never rejects; the last one to end runs the deferred removals
   */
  hold(): () => Promise<void> {
    this.#holds++
    return async () => {
      if (--this.#holds > 0) return
      for (const removal of this.#deferred.splice(0)) await removal().catch(this.#onError)
    }
  }

  /**
   * Runs a removal, or defers it while there is a hold.
   * @throws the error of a removal that is not deferred
   * @returns whether the removal was deferred
   */
  async remove(removal: () => Promise<void>): Promise<boolean> {
    const isDeferred = this.#holds > 0
    if (isDeferred) this.#deferred.push(removal)
    else await removal()
    return isDeferred
  }
}
