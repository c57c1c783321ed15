import { isFull, StorageError } from '../../lib/storage/index.ts'

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

/** What classic-level's error means to whoever runs the store at this location. */
export const explain = (location: string, cause: unknown): StorageError => {
  if (cause instanceof StorageError) return cause
  const code = codeOf(cause)
  if (code === 'LEVEL_LOCKED')
    return new StorageError(
      'locked',
      `${location} is in use by another process: stop that process first, or talk to the running server over HTTP`,
      { cause },
    )
  if (isDamage(code, cause)) return damaged(location, { cause })
  if (isFull(cause))
    return new StorageError('full', `${location} cannot be used because the disk is full`, { cause })
  return new StorageError('failed', `${location} cannot be used: ${messageOf(cause)}`, { cause })
}

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
