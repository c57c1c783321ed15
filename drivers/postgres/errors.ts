import { StorageError, type StorageReason } from '../../lib/storage/index.ts'

/** What the server calls its errors: SQLSTATE; or what the socket says. */
const codeOf = (cause: unknown): string | undefined =>
  cause instanceof Error && 'code' in cause ? String(cause.code) : undefined

const messageOf = (cause: unknown): string => {
  if (!(cause instanceof Error)) return String(cause)
  // A name with several addresses fails with one error for each of them.
  return cause instanceof AggregateError ? cause.errors.map(messageOf).join('; ') : cause.message
}

/** Somebody else's transaction was in the way: the same again may well succeed. */
export const isConflict = (cause: unknown): boolean => CONFLICTS.has(codeOf(cause) ?? '')
const CONFLICTS = new Set(['40001', '40P01'])

/** Two that make the tables at once can meet in the catalogue, whatever IF NOT EXISTS promises. */
export const isCatalogRace = (cause: unknown): boolean =>
  isConflict(cause) || ['23505', '42P07', '42P06', '42710', 'XX000'].includes(codeOf(cause) ?? '')

/** The connection is of no use any more (its server may be a standby by now), and what was asked over it last may or may not have happened. */
export const isLost = (cause: unknown): boolean => {
  const code = codeOf(cause)
  if (code === undefined) return LOST.test(messageOf(cause))
  return /^(08|57P0|25006)/.test(code) || /^E[A-Z]+$/.test(code)
}

/** Another server may do: this one is not there, is starting or stopping, or is a standby. */
export const isWrongServer = (cause: unknown): boolean => meaningOf(cause)[0] === 'away'
const LOST = /connection terminated|connection error|connection ended|not queryable|read timeout|ECONN|EPIPE/i

/** By SQLSTATE, the first that fits. */
const meanings: [code: RegExp, reason: StorageReason, words: string][] = [
  [/^28/, 'failed', 'refuses these credentials'],
  [/^3D000/, 'failed', 'has no such database'],
  [/^42501/, 'failed', 'does not allow this user what Allot needs'],
  [/^53300/, 'busy', 'takes no more connections'],
  [/^53100/, 'full', 'has no room left on its disk'],
  [/^(57014|25P03|55P03)/, 'busy', 'did not answer in time'],
  [/^25006/, 'away', 'takes no writes now: it is a standby'],
  [/^XX00[12]/, 'corrupt', 'says that its data is damaged'],
]

/**
 * What an error of pg means. While the driver is opened that is told to whoever runs the store, with the database and the
 * words of pg; afterwards to whoever asks something of it, who is not to know of the inside: `where` is undefined then.
 */
export const toStorageError = (where: string | undefined, cause: unknown): StorageError => {
  if (cause instanceof StorageError) return cause
  const [reason, words] = meaningOf(cause)
  const message = where === undefined ? `the database ${words}` : `${where} ${words}: ${messageOf(cause)}`
  return new StorageError(reason, message, { cause })
}

const meaningOf = (cause: unknown): [reason: StorageReason, words: string] => {
  const code = codeOf(cause) ?? ''
  const known = meanings.find(([pattern]) => pattern.test(code))
  if (known !== undefined) return [known[1], known[2]]
  if (isConflict(cause)) return ['busy', 'has too many writes of the same things at once']
  if (isLost(cause) || UNREACHED.test(`${code} ${messageOf(cause)}`)) return ['away', 'cannot be reached']
  return ['failed', 'cannot be used']
}
const UNREACHED = /ENOENT|ENOTFOUND|EAI_AGAIN|timeout expired/

/** The pool has its own words for a connection that did not become free. */
export const isPoolExhausted = (cause: unknown): boolean =>
  /timeout exceeded when trying to connect/.test(messageOf(cause))
