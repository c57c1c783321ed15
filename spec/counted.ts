import { decodeKey } from '../lib/records/key-codec.ts'
import type { Bytes, ReadTransaction, StorageDriver, WriteTransaction } from '../lib/storage/index.ts'

type OnKey = (key: Bytes) => void

/** The transaction, which calls `onRead` for each key that is looked up or taken from a range. */
const notingReads = (tx: ReadTransaction, onRead: OnKey): ReadTransaction => ({
  get(key) {
    onRead(key)
    return tx.get(key)
  },
  getMany(keys) {
    keys.forEach(onRead)
    return tx.getMany(keys)
  },
  async *range(range) {
    for await (const entry of tx.range(range)) {
      onRead(entry[0])
      yield entry
    }
  },
})

/** The transaction, which tells `onRead` the keys that it reads, and `onChange` those that it changes. */
export const notingKeys = (tx: WriteTransaction, onRead: OnKey, onChange: OnKey): WriteTransaction => ({
  ...notingReads(tx, onRead),
  put(key, value) {
    onChange(key)
    tx.put(key, value)
  },
  delete(key) {
    onChange(key)
    tx.delete(key)
  },
})

/** The keys of one transaction. */
export interface TransactionKeys {
  readonly kind: 'read' | 'write'
  readonly read: Bytes[]
  readonly changed: Bytes[]
}

/** A driver that tells the keys of each transaction, those of its last run, when it has ended. */
export const watchTransactions = (
  driver: StorageDriver,
  onEnd: (keys: TransactionKeys) => void,
): StorageDriver => ({
  ...driver,
  async read(work) {
    const keys: TransactionKeys = { kind: 'read', read: [], changed: [] }
    return driver.read((tx) => work(notingReads(tx, (key) => keys.read.push(key)))).finally(() => onEnd(keys))
  },
  async write(work) {
    let keys: TransactionKeys = { kind: 'write', read: [], changed: [] }
    return driver
      .write((tx) => {
        keys = { kind: 'write', read: [], changed: [] }
        return work(
          notingKeys(
            tx,
            (key) => keys.read.push(key),
            (key) => keys.changed.push(key),
          ),
        )
      })
      .finally(() => onEnd(keys))
  },
})

export interface Counted {
  driver: StorageDriver
  /** @returns how many records and index entries were read during the work */
  during(work: () => Promise<unknown>): Promise<number>
  /** How many have been read since the work began. */
  reads(): number
}

/** A driver whose reads are counted: each key that is looked up, and each entry of a range that is taken. */
export const countReads = (driver: StorageDriver): Counted => {
  let reads = 0
  return {
    driver: { ...driver, read: (work) => driver.read((tx) => work(notingReads(tx, () => void reads++))) },
    async during(work) {
      reads = 0
      await work()
      return reads
    },
    reads: () => reads,
  }
}

/** A driver that tells which records and ranges are read, also by writes. */
export const watchReads = (driver: StorageDriver, onRead: (collection: string) => void): StorageDriver => {
  const seen = (key: Bytes) => onRead(String(decodeKey(key)[0]))
  const watching = <Tx extends ReadTransaction>(tx: Tx): Tx => ({
    ...tx,
    ...notingReads(tx, seen),
    range(range) {
      seen(range.start)
      return tx.range(range)
    },
  })
  return {
    ...driver,
    read: (work) => driver.read((tx) => work(watching(tx))),
    write: (work) => driver.write((tx) => work(watching<WriteTransaction>(tx))),
  }
}
