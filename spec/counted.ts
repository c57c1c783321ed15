import { decodeKey } from '../lib/records/key-codec.ts'
import type { Bytes, ReadTransaction, StorageDriver, WriteTransaction } from '../lib/storage/index.ts'

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
  const counting = (tx: ReadTransaction): ReadTransaction => ({
    get(key) {
      reads++
      return tx.get(key)
    },
    getMany(keys) {
      reads += keys.length
      return tx.getMany(keys)
    },
    async *range(range) {
      for await (const entry of tx.range(range)) {
        reads++
        yield entry
      }
    },
  })
  return {
    driver: { ...driver, read: (work) => driver.read((tx) => work(counting(tx))) },
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
  const watching = <Tx extends ReadTransaction>(tx: Tx): Tx =>
    Object.assign(Object.create(tx) as Tx, {
      get(key) {
        seen(key)
        return tx.get(key)
      },
      getMany(keys) {
        keys.forEach(seen)
        return tx.getMany(keys)
      },
      range(range) {
        seen(range.start)
        return tx.range(range)
      },
    } satisfies ReadTransaction)
  return {
    ...driver,
    read: (work) => driver.read((tx) => work(watching(tx))),
    write: (work) => driver.write((tx) => work(watching<WriteTransaction>(tx))),
  }
}
