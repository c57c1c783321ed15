import { hostname } from 'node:os'
import { isFull, StorageError } from '../../lib/storage/index.ts'
import { type Owner, ownerOf } from './folder.ts'

/** @param detail what was found */
export const damaged = (location: string, { detail, cause }: { detail?: string; cause?: unknown } = {}) =>
  new StorageError(
    'corrupt',
    `${location} is damaged: \`allot verify --repair\` says what can be saved${detail === undefined ? '' : ` (${detail})`}`,
    { cause },
  )

export const heldByThisProcess = (location: string): StorageError => {
  const owner = ownerOf(location)
  const thread = owner?.thread === 0 ? 'main thread' : `worker thread ${owner?.thread}`
  const where = owner?.pid === process.pid ? `, ${thread}` : ''
  return new StorageError(
    'locked',
    `${location} is already in use by this process (pid ${process.pid}${where}): share the driver that has it open, or close that one first`,
  )
}

const heldByAnotherProcess = (location: string, cause: unknown): StorageError => {
  const owner = ownerOf(location)
  // After a restart with the same pid, OWNER.json may still name this pid.
  const isSelf = owner?.pid === process.pid && owner.host === hostname()
  const name = owner === undefined || isSelf ? '' : ` (${processName(owner)})`
  return new StorageError(
    'locked',
    `${location} is in use by another process${name}: stop that process first, or talk to the running server over HTTP`,
    { cause },
  )
}

const processName = ({ pid, host }: Owner): string =>
  host === hostname() ? `pid ${pid}` : `pid ${pid} on ${host}`

/** LevelDB's message when this process has the folder open by other means than this driver. */
const HELD_HERE = /already held by process/
/** LevelDB reports some damage, such as a missing manifest, as an I/O error or an invalid argument. */
const DAMAGE = /Corruption: |missing files|(MANIFEST-\d+|\.ldb|\.sst): No such file/

/** Translates an error of classic-level for the operator of the store. */
export const toStorageError = (location: string, cause: unknown): StorageError => {
  if (cause instanceof StorageError) return cause
  const [code, message] = [codeOf(cause), messageOf(cause)]
  if (code === 'LEVEL_LOCKED')
    return HELD_HERE.test(message) ? heldByThisProcess(location) : heldByAnotherProcess(location, cause)
  if (code === 'LEVEL_CORRUPTION' || DAMAGE.test(message)) return damaged(location, { cause })
  if (isFull(cause))
    return new StorageError('full', `${location} cannot be used because the disk is full`, { cause })
  return new StorageError('failed', `${location} cannot be used: ${message}`, { cause })
}

/** abstract-level wraps LevelDB's error as the cause of its own. */
const codeOf = (error: unknown): string | undefined => {
  if (!(error instanceof Error)) return undefined
  const { code } = error as { code?: string }
  return code === 'LEVEL_DATABASE_NOT_OPEN' ? codeOf(error.cause) : code
}

const messageOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? messageOf(error.cause) : error.message
}
