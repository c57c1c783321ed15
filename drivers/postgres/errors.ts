import { StorageError, type StorageReason } from '../../lib/storage/index.ts'

/** SQLSTATE of the server, or the code of the socket error. */
const codeOf = (cause: unknown): string | undefined =>
  cause instanceof Error && 'code' in cause ? String(cause.code) : undefined

export const messageOf = (cause: unknown): string => {
  if (!(cause instanceof Error)) return String(cause)
  // A host name with several addresses fails with one error for each address.
  return cause instanceof AggregateError ? cause.errors.map(messageOf).join('; ') : cause.message
}

/**
 * Whether the transaction failed because of a concurrent one (serialization failure, deadlock): a retry may
 * succeed.
 */
export const isConflict = (cause: unknown): boolean => ['40001', '40P01'].includes(codeOf(cause) ?? '')

/**
 * Whether the server has no room for further locks. The predicate locks of a serializable transaction stay
 * until every transaction that ran beside it has ended, so one that runs for seconds on a busy server fills
 * the table; a retry succeeds when it has ended.
 */
export const isLockShortage = (cause: unknown): boolean => codeOf(cause) === '53200'

/**
 * Whether two processes created the tables at the same time: IF NOT EXISTS does not prevent collisions in the
 * catalog.
 */
export const isCatalogRace = (cause: unknown): boolean =>
  isConflict(cause) || ['23505', '42P07', '42P06', '42710', 'XX000'].includes(codeOf(cause) ?? '')

const LOST = /connection terminated|connection error|connection ended|not queryable|read timeout|ECONN|EPIPE/i

/**
 * Whether the connection must not be used again: it broke, its server has become a standby, or a reply did
 * not come in time. The last statement that was sent over it may or may not have taken effect.
 */
export const isLost = (cause: unknown): boolean => {
  const code = codeOf(cause)
  if (code === undefined) return LOST.test(messageOf(cause))
  return /^(08|57P0|25006)/.test(code) || /^E[A-Z]+$/.test(code)
}

/** Whether a statement had no reply in time, which pg reports in the message alone. */
export const isTimeout = (cause: unknown): boolean => /read timeout/.test(messageOf(cause))

/** Whether another host may serve: this one is unreachable, starting, stopping, or a standby. */
export const isWrongHost = (cause: unknown): boolean =>
  (cause instanceof StorageError ? cause.reason : meaningOf(cause).reason) === 'away'

/** Whether the pool had no free connection in time. pg-pool reports this in the message alone. */
export const isPoolExhausted = (cause: unknown): boolean =>
  /timeout exceeded when trying to connect/.test(messageOf(cause))

interface Meaning {
  readonly reason: StorageReason
  /** What the database does or lacks, for a message that begins with its name. */
  readonly predicate: string
}

/** The meaning of each SQLSTATE; the first match counts. */
const MEANINGS: readonly (Meaning & { readonly code: RegExp })[] = [
  { code: /^28/, reason: 'failed', predicate: 'refuses these credentials' },
  { code: /^3D000/, reason: 'failed', predicate: 'has no such database' },
  { code: /^42501/, reason: 'failed', predicate: 'does not grant this user the privileges that Allot needs' },
  { code: /^53300/, reason: 'busy', predicate: 'accepts no more connections' },
  { code: /^53200/, reason: 'busy', predicate: 'has no room for further locks' },
  { code: /^53100/, reason: 'full', predicate: 'has no space left on its disk' },
  { code: /^(57014|25P03|55P03)/, reason: 'busy', predicate: 'did not answer in time' },
  { code: /^25006/, reason: 'away', predicate: 'is a standby and takes no writes' },
  { code: /^XX00[12]/, reason: 'corrupt', predicate: 'reports that its data is damaged' },
]

const UNREACHED = /ENOENT|ENOTFOUND|EAI_AGAIN|timeout expired/

const meaningOf = (cause: unknown): Meaning => {
  const code = codeOf(cause) ?? ''
  const known = MEANINGS.find((meaning) => meaning.code.test(code))
  if (known !== undefined) return known
  if (isConflict(cause))
    return { reason: 'busy', predicate: 'has too many concurrent writes to the same records' }
  if (isLost(cause) || UNREACHED.test(`${code} ${messageOf(cause)}`))
    return { reason: 'away', predicate: 'cannot be reached' }
  return { reason: 'failed', predicate: 'cannot be used' }
}

/**
 * Translates an error of pg.
 * @param where the database as {@link Settings.where} describes it, while the driver opens: operators read
 *   that message. Undefined afterwards: API clients may read the message, which then tells neither host nor
 *   database.
 */
export const toStorageError = (where: string | undefined, cause: unknown): StorageError => {
  if (cause instanceof StorageError) return cause
  const { reason, predicate } = meaningOf(cause)
  const message =
    where === undefined ? `the database ${predicate}` : `${where} ${predicate}: ${messageOf(cause)}`
  return new StorageError(reason, message, { cause })
}

export const tooManyConflicts = (): StorageError =>
  new StorageError('busy', 'too many concurrent writes to the same records: try again in a moment')

export const tooFewLocks = (): StorageError =>
  new StorageError(
    'busy',
    'the database has no room for further locks (its setting max_pred_locks_per_transaction): try again in a moment',
  )
