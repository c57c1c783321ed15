import { hostname } from 'node:os'
import { isFull, StorageError } from '../../lib/storage/index.ts'
import { type Owner, ownerOf } from './folder-lock.ts'

/** @param because.detail a few words on what was found. */
export const damaged = (
  location: string,
  because: { detail?: string; cause?: unknown } = {},
): StorageError => {
  const found = because.detail === undefined ? '' : ` (${because.detail})`
  return new StorageError(
    'corrupt',
    `${location} is damaged: \`allot verify --repair\` says what can be saved${found}`,
    { cause: because.cause },
  )
}

export const heldByThisProcess = (location: string): StorageError => {
  const owner = ownerOf(location)
  const where = owner?.pid === process.pid ? `, ${threadOf(owner)}` : ''
  return new StorageError(
    'locked',
    `${location} is already in use by this process (pid ${process.pid}${where}): share the driver that has it open, or close that one first`,
  )
}

const threadOf = ({ thread }: Owner): string => (thread === 0 ? 'main thread' : `worker thread ${thread}`)

const heldByAnotherProcess = (location: string, cause: unknown): StorageError => {
  const owner = ownerOf(location)
  // After a restart under the same number the note can be this process's own predecessor's.
  const isSelf = owner?.pid === process.pid && owner.host === hostname()
  const who = owner === undefined || isSelf ? '' : ` (${processOf(owner)})`
  return new StorageError(
    'locked',
    `${location} is in use by another process${who}: stop that process first, or talk to the running server over HTTP`,
    { cause },
  )
}

const processOf = ({ pid, host }: Owner): string =>
  host === hostname() ? `pid ${pid}` : `pid ${pid} on ${host}`

/** What classic-level's error means to whoever runs the store at this location. */
export const toStorageError = (location: string, cause: unknown): StorageError => {
  if (cause instanceof StorageError) return cause
  const code = codeOf(cause)
  if (code === 'LEVEL_LOCKED')
    return HELD_HERE.test(messageOf(cause))
      ? heldByThisProcess(location)
      : heldByAnotherProcess(location, cause)
  if (isDamage(code, cause)) return damaged(location, { cause })
  if (isFull(cause))
    return new StorageError('full', `${location} cannot be used because the disk is full`, { cause })
  return new StorageError('failed', `${location} cannot be used: ${messageOf(cause)}`, { cause })
}

/** LevelDB's words when code of this process that is not Allot's has the folder open. */
const HELD_HERE = /already held by process/

/** LevelDB calls some damage, such as a manifest that is gone, an input/output error or a wrong argument. */
const isDamage = (code: string | undefined, cause: unknown): boolean =>
  code === 'LEVEL_CORRUPTION' || DAMAGE.test(messageOf(cause))
const DAMAGE = /Corruption: |missing files|(MANIFEST-\d+|\.ldb|\.sst): No such file/

/** abstract-level wraps what LevelDB said as the cause of its own error. */
const codeOf = (error: unknown): string | undefined => {
  if (!(error instanceof Error)) return undefined
  const { code } = error as { code?: string }
  return code === 'LEVEL_DATABASE_NOT_OPEN' ? codeOf(error.cause) : code
}

const messageOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? messageOf(error.cause) : error.message
}
