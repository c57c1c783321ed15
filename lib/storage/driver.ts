import { AllotError, type ErrorCode } from '../errors.ts'

/** Sorted as unsigned bytes, on every driver. */
export type Bytes = Uint8Array

export type Entry = readonly [key: Bytes, value: Bytes]

/** start <= key < end. `start` may have no bytes (the first key there is); `limit` counts entries, after `reverse`. */
export interface KeyRange {
  start: Bytes
  end: Bytes
  reverse?: boolean
  limit?: number
}

/**
 * A key has at least one byte, a value may have none. Bytes that are returned stay as they are for as long as they are
 * held; they are to be read, not changed. A transaction that is used after its work has settled rejects.
 */
export interface ReadTransaction {
  get(key: Bytes): Promise<Bytes | undefined>
  /** In the order of the keys, with undefined for each that is absent. */
  getMany(keys: readonly Bytes[]): Promise<(Bytes | undefined)[]>
  /** May be left early. It shows what is there when its first entry is asked for. */
  range(range: KeyRange): AsyncIterable<Entry>
}

/** The bytes that are handed over are copied, so that the caller may use them again at once. */
export interface WriteTransaction extends ReadTransaction {
  put(key: Bytes, value: Bytes): void
  delete(key: Bytes): void
}

export interface ReadOptions {
  /**
   * The work may run again, so it must change nothing outside of itself: a driver far from its data can then begin with
   * what it read before. False when absent. A driver that has no use for it leaves it alone.
   */
  again?: boolean
  /**
   * A name for the work and all that it goes by besides what it reads: its outcome before may be given once more, the same
   * object, where everything that it read then is still so.
   */
  as?: string | undefined
}

/**
 * Ordered bytes and two kinds of transaction, nothing optional. It fits LevelDB, a map, and any SQL engine with
 * serialisable transactions. `spec/driver-spec.ts` is the whole proof of a driver.
 *
 * `open` and `close` may be called again and in any order: they follow each other. Everything else rejects with a
 * {@link StorageError} of the reason `closed` before `open` has resolved and from the call of `close` on.
 */
export interface StorageDriver {
  readonly name: string
  /** Other processes may write: memoize nothing on trust. */
  readonly shared: boolean
  open(): Promise<void>
  /** One snapshot of what is durable, from before the work begins; or, where it may run again, from before it ends. */
  read<T>(work: (tx: ReadTransaction) => Promise<T>, options?: ReadOptions): Promise<T>
  /**
   * Serialisable, reads its own writes, durable when it resolves, may run `work` again. When `work` rejects nothing is
   * written. Work must not wait for another `write` of the same store: where writes take turns, that turn never comes.
   */
  write<T>(work: (tx: WriteTransaction) => Promise<T>): Promise<T>
  /** Waits for the work that was begun, so it must not be awaited within such work. */
  close(): Promise<void>
}

/**
 * Why a store cannot do what it is asked; `away` is a database that cannot be reached now, `busy` one that has too much
 * to do. All but `full` are answered with 503: the service is down, not wrong.
 */
export type StorageReason = 'closed' | 'locked' | 'failed' | 'corrupt' | 'full' | 'away' | 'busy'

export class StorageError extends AllotError {
  override readonly name = 'StorageError'
  readonly reason: StorageReason

  constructor(reason: StorageReason, message: string, options?: { cause?: unknown }) {
    const code: ErrorCode = reason === 'full' ? 'storage_full' : 'unavailable'
    super(code, message, options)
    this.reason = reason
  }
}

/** LevelDB says in words alone why the disk refused; a limit on the size of files is a full disk to the process. */
export const isFull = (cause: unknown): boolean =>
  cause instanceof Error &&
  (/ENOSPC|EDQUOT|EFBIG|No space left|quota exceeded|File too large/i.test(cause.message) ||
    isFull(cause.cause))
