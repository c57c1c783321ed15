import { mkdirSync } from 'node:fs'
import { Level } from 'level'
import { type StorageDriver, StorageError } from '../../lib/storage/index.ts'
import { overAbstractLevel } from './abstract.ts'

/**
 * Records in a LevelDB folder, which belongs to one process at a time.
 * @param location a folder; it is made, with its parents, when it does not exist.
 */
export const level = (location: string): StorageDriver =>
  overAbstractLevel(
    'level',
    () => {
      mkdirSync(location, { recursive: true })
      return new Level<Uint8Array, Uint8Array>(location, { keyEncoding: 'view', valueEncoding: 'view' })
    },
    (cause) => explain(location, cause),
  )

const explain = (location: string, cause: unknown): StorageError => {
  switch (codeOf(cause)) {
    case 'LEVEL_LOCKED':
      return new StorageError(
        'locked',
        `${location} is in use by another process: stop it first, or talk to the server that runs there`,
        { cause },
      )
    case 'LEVEL_CORRUPTION':
      return new StorageError(
        'corrupt',
        `${location} is damaged and was not opened: \`allot verify --repair\` says what can be saved`,
        { cause },
      )
    default:
      return new StorageError('failed', `${location} cannot be opened: ${messageOf(cause)}`, { cause })
  }
}

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
