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

const LOST =
  /left for another host|connection terminated|connection error|connection ended|not queryable|read timeout|ECONN|EPIPE/i

/**
 * Whether the connection must not be used again: it broke, its server has become a standby, a reply did
 * not come in time, the session behind it is another one, which lacks its prepared statements, or the
 * transaction before has not ended, because its COMMIT failed after the connection was given back.
 * Unless {@link isRefused}, the last statement that was sent over it may or may not have taken effect.
 */
export const isLost = (cause: unknown): boolean => {
  const code = codeOf(cause)
  if (code === undefined) return LOST.test(messageOf(cause))
  return /^(08|57P0|25006|25P02|26000)/.test(code) || /^E[A-Z]+$/.test(code)
}

/**
 * Whether the server has refused a statement, because its session lacks the prepared statement, or because
 * the transaction had failed before. The COMMIT of such a transaction is a rollback: nothing was written.
 */
export const isRefused = (cause: unknown): boolean => ['25P02', '26000'].includes(codeOf(cause) ?? '')

export const isStandby = (cause: unknown): boolean => codeOf(cause) === '25006'

/** Whether the server did not accept a connection in time; not, whether none of the pool became free. */
export const isConnectTimeout = (cause: unknown): boolean =>
  messageOf(cause) === 'Connection terminated due to connection timeout'

/** Whether the server must be left: it did not reply in time, or has become a standby. */
export const isUnusable = (cause: unknown): boolean =>
  isStandby(cause) || /read timeout/.test(messageOf(cause))

const AWAY = 'cannot be reached'
const ALL_IN_USE = 'has no free connection: all have been in use for too long'

interface Meaning {
  readonly reason: StorageReason
  /** What the database does or lacks, for a message that begins with its name. */
  readonly predicate: string
}

/** The meaning of each SQLSTATE, and of errors that have only a message; the first match counts. */
const MEANINGS: readonly (Meaning & { readonly error: RegExp })[] = [
  { error: /^28/, reason: 'failed', predicate: 'refuses these credentials' },
  { error: /^3D000/, reason: 'failed', predicate: 'has no such database' },
  {
    error: /^42501/,
    reason: 'failed',
    predicate: 'does not grant this user the privileges that Allot needs',
  },
  { error: /^53300/, reason: 'busy', predicate: 'accepts no more connections' },
  {
    error: /^53200/,
    reason: 'busy',
    predicate: 'has no room for further locks (its setting max_pred_locks_per_transaction)',
  },
  { error: /^53100/, reason: 'full', predicate: 'has no space left on its disk' },
  { error: /^(57014|25P03|55P03)/, reason: 'busy', predicate: 'did not answer in time' },
  { error: /^25006/, reason: 'away', predicate: 'is a standby and takes no writes' },
  { error: /^XX00[12]/, reason: 'corrupt', predicate: 'reports that its data is damaged' },
  {
    error: /^(40001|40P01)/,
    reason: 'busy',
    predicate: 'has too many concurrent writes to the same records',
  },
  { error: / timeout exceeded when trying to connect/, reason: 'busy', predicate: ALL_IN_USE },
  { error: /ENOENT|ENOTFOUND|EAI_AGAIN|timeout expired/, reason: 'away', predicate: AWAY },
]

const meaningOf = (cause: unknown): Meaning => {
  const error = `${codeOf(cause) ?? ''} ${messageOf(cause)}`
  const known = MEANINGS.find((meaning) => meaning.error.test(error))
  if (known !== undefined) return known
  return isLost(cause)
    ? { reason: 'away', predicate: AWAY }
    : { reason: 'failed', predicate: 'cannot be used' }
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

export const standby = () => Object.assign(new Error('this server is a standby'), { code: '25006' })

export const tooManyWaiting = () =>
  new StorageError('busy', 'too many writes wait for the database: try again in a moment')

export const notWritten = () =>
  new StorageError('busy', 'the database did not answer in time, and nothing was written: try again')

export const unknownOutcome = (cause?: unknown) =>
  new StorageError(
    'away',
    'the database went away during a commit, and it is not known whether the write took place',
    { cause, isOutcomeUnknown: true },
  )

export const sharedSessions = () =>
  new StorageError(
    'failed',
    'the pooler in front of the database shares sessions between connections: set pool_mode = session for this database',
  )

/** @param processes of the database, as pg_stat_activity numbers them */
export const usedByOthers = (processes: string | null | undefined) =>
  new StorageError(
    'locked',
    `other processes use the database (pg_stat_activity has them as ${processes}): stop all servers and commands of Allot first`,
  )

/** @param processes as in {@link usedByOthers} */
export const heldAlone = (processes: string | null | undefined) =>
  new StorageError(
    'busy',
    `another process repairs the database (pg_stat_activity has it as ${processes}): try again when it is done`,
  )

export const claimLost = (cause?: unknown) =>
  new StorageError('locked', 'the connection that kept other processes out has ended: begin again', { cause })
