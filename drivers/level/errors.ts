import { isFull, StorageError } from '../../lib/storage/index.ts'
import { heldByAnotherProcess, heldByThisProcess } from './folder-lock.ts'

/** @param detail what was found */
export const damaged = (location: string, { detail, cause }: { detail?: string; cause?: unknown } = {}) =>
  new StorageError(
    'corrupt',
    `${location} is damaged: restore a backup, or run \`allot verify --repair\`, which keeps what LevelDB can still read${detail === undefined ? '' : ` (${detail})`}`,
    { cause },
  )

/** LevelDB's message when this process has the folder open by other means than this driver. */
const HELD_HERE = /already held by process/
/** LevelDB reports some damage, such as a missing manifest, as an I/O error or an invalid argument. */
const DAMAGE = /Corruption: |missing files|(MANIFEST-\d+|\.ldb|\.sst): (No such file|Invalid argument)/

/** Translates an error of classic-level for the operator of the store. */
export const toStorageError = (location: string, cause: unknown): StorageError => {
  if (cause instanceof StorageError) return cause
  const [code, message] = [codeOf(cause), messageOf(cause)]
  if (code === 'LEVEL_LOCKED')
    return HELD_HERE.test(message) ? heldByThisProcess(location) : heldByAnotherProcess(location, cause)
  if (code === 'LEVEL_CORRUPTION' || DAMAGE.test(message)) return damaged(location, { cause })
  if (isFull(cause))
    return new StorageError('full', `${location} cannot be used because the disk is full`, { cause })
  return new StorageError('failed', `${location} cannot be used: ${FAULTS[code ?? ''] ?? message}`, { cause })
}

const FAULTS: Partial<Record<string, string>> = {
  EACCES: 'this user may not open or create the folder',
  EEXIST: 'it is a file',
  ENOTDIR: 'it lies below a file',
}

/** abstract-level throws an error whose cause is LevelDB's error. */
const codeOf = (error: unknown): string | undefined => {
  if (!(error instanceof Error)) return undefined
  const { code } = error as { code?: string }
  return code === 'LEVEL_DATABASE_NOT_OPEN' ? codeOf(error.cause) : code
}

const messageOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? messageOf(error.cause) : error.message
}
