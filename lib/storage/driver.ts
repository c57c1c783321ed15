import { AllotError, type ErrorCode } from '../errors.ts'

/**
 * The contract between Allot and its databases: ordered bytes, snapshot reads and serializable writes.
 * `spec/driver-spec.ts` is the suite that a driver must pass. The contract fits LevelDB, a sorted map, and
 * any SQL engine with serializable transactions.
 */

/** A key or a value. Keys are ordered by their bytes, which are unsigned. */
export type Bytes = Uint8Array

/** A key with its value. */
export type Entry = readonly [key: Bytes, value: Bytes]

/** The keys with `start <= key < end`. */
export interface KeyRange {
  /** May be empty, which is before every key. */
  start: Bytes
  /** The first key that is not in the range. */
  end: Bytes
  /** Whether to return the last key first. */
  reverse?: boolean
  /** The number of entries to return at most, counted in the direction of the range. */
  limit?: number
}

/**
 * Reads from one snapshot. A key has at least one byte; a value may be empty. Returned bytes must not be
 * changed, and stay the same for as long as they are referenced. Methods reject after the transaction's
 * callback has settled.
 */
export interface ReadTransaction {
  /** The value of the key; undefined when it does not exist. */
  get(key: Bytes): Promise<Bytes | undefined>
  /** The values in the order of the keys, with undefined for each key that does not exist. */
  getMany(keys: readonly Bytes[]): Promise<(Bytes | undefined)[]>
  /**
   * Iteration may stop early. In a write it includes the changes made before the first entry is requested.
   */
  range(range: KeyRange): AsyncIterable<Entry>
}

/** Reads include the transaction's own writes. The bytes given to `put` and `delete` are copied. */
export interface WriteTransaction extends ReadTransaction {
  /** Saves a value, replacing the one that the key has. */
  put(key: Bytes, value: Bytes): void
  /** Removes a key; it need not exist. */
  delete(key: Bytes): void
}

/**
 * A database. `open` and `close` may be called repeatedly and in any order; calls run one after another. All
 * other methods reject with a {@link StorageError} of the reason `closed` before `open` has resolved, and
 * from the call of `close` on.
 */
export interface StorageDriver {
  /** Kind of the database, such as `level`, for messages. */
  readonly name: string
  /** Whether other processes may write to the database, so that a value in memory may be outdated. */
  readonly shared: boolean
  /** Folder on this machine that belongs to the driver alone; undefined when there is none. */
  readonly folder?: string | undefined
  /** Connects, or opens the files. Rejects with a {@link StorageError} when it cannot. */
  open(): Promise<void>
  /**
   * Runs `body` once, on a snapshot of durable data that is taken after the call, before the first read.
   * @param name the same for bodies that mostly read the same, without a secret: a driver may ask at once for
   *   what the last one has read, to save round trips
   */
  read<T>(body: (tx: ReadTransaction) => Promise<T>, name?: string): Promise<T>
  /**
   * Runs `body` in a serializable transaction, and resolves when its changes are durable. The driver may
   * run `body` several times; the result of the last run counts. Nothing is written when `body` rejects.
   * `body` must not wait for another `write` of the same driver: drivers that run writes one at a time
   * would wait for ever.
   */
  write<T>(body: (tx: WriteTransaction) => Promise<T>): Promise<T>
  /**
   * Reads all files of the database, and calls `onDamage` for each damage that reads do not notice. May
   * be absent where the database finds its own damage.
   */
  findDamage?(onDamage: (message: string) => void): Promise<void>
  /** Waits for running transactions, so it must not be awaited within one. */
  close(): Promise<void>
}

/**
 * Why a store fails. All but `full` are answered with 503.
 *
 * - `closed`: the driver is not open.
 * - `locked`: another driver or process has the database open, which only one may have.
 * - `failed`: the database cannot be used for another reason, such as a wrong password.
 * - `corrupt`: the data is damaged.
 * - `full`: the disk of the database has no space left; answered with 507.
 * - `away`: the database cannot be reached, or it is not known whether the last write took place.
 * - `busy`: the database is overloaded, did not answer in time, or another process repairs it. Nothing was
 *   written, and a retry may succeed.
 */
export type StorageReason = 'closed' | 'locked' | 'failed' | 'corrupt' | 'full' | 'away' | 'busy'

/** The error of a driver. Clients get its message. */
export class StorageError extends AllotError {
  /** Always `StorageError`. */
  override readonly name = 'StorageError'
  /** Why the store failed. */
  readonly reason: StorageReason

  constructor(
    reason: StorageReason,
    message: string,
    options?: { cause?: unknown; isOutcomeUnknown?: boolean },
  ) {
    const code: ErrorCode = reason === 'full' ? 'storage_full' : 'unavailable'
    // With `retryAfter`, refusals of many requests share lines of the log.
    super(code, message, reason === 'busy' || reason === 'away' ? { retryAfter: 1, ...options } : options)
    this.reason = reason
  }
}

/** Runs around each transaction, and calls `run` once, which does it. */
type Around = <T>(operation: 'read' | 'write', run: () => Promise<T>) => Promise<T>

/** Runs each transaction of a driver within `around`. */
export const wrapDriver = (driver: StorageDriver, around: Around): StorageDriver => ({
  name: driver.name,
  shared: driver.shared,
  folder: driver.folder,
  open: () => driver.open(),
  close: () => driver.close(),
  findDamage: async (onDamage) => driver.findDamage?.(onDamage),
  read: (body, name) => around('read', () => driver.read(body, name)),
  write: (body) => around('write', () => driver.write(body)),
})
