/** Sorted as unsigned bytes, on every driver. */
export type Bytes = Uint8Array

export type Entry = readonly [key: Bytes, value: Bytes]

/** start <= key < end */
export interface KeyRange {
  start: Bytes
  end: Bytes
  reverse?: boolean
  limit?: number
}

export interface ReadTransaction {
  get(key: Bytes): Promise<Bytes | undefined>
  getMany(keys: readonly Bytes[]): Promise<(Bytes | undefined)[]>
  range(range: KeyRange): AsyncIterable<Entry>
}

export interface WriteTransaction extends ReadTransaction {
  put(key: Bytes, value: Bytes): void
  delete(key: Bytes): void
}

/**
 * Ordered bytes and two kinds of transaction, nothing optional. It fits LevelDB, a map, and any SQL engine with
 * serialisable transactions. `spec/driver-spec.ts` is the whole proof of a driver.
 */
export interface StorageDriver {
  readonly name: string
  /** Other processes may write: memoize nothing on trust. */
  readonly shared: boolean
  open(): Promise<void>
  /** One snapshot. */
  read<T>(work: (tx: ReadTransaction) => Promise<T>): Promise<T>
  /** Serialisable, reads its own writes, durable when it resolves, may run `work` again. */
  write<T>(work: (tx: WriteTransaction) => Promise<T>): Promise<T>
  close(): Promise<void>
}
