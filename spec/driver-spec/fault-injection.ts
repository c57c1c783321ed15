import type { ReadTransaction, StorageDriver, WriteTransaction } from '../../lib/storage/index.ts'

/**
 * The points at which a transaction can be delayed or can fail. `commit` is after the callback and before
 * anything is written; `answer` is after the commit and before the caller learns of it.
 */
export type Call = 'begin' | 'get' | 'getMany' | 'range' | 'entry' | 'commit' | 'answer'

/** Runs before each call, and may delay it or throw. */
export type Fault = (call: Call) => Promise<void>

/** The same driver, with a fault before every call of every transaction. */
export const withFaults = (driver: StorageDriver, inject: Fault): StorageDriver => ({
  name: driver.name,
  shared: driver.shared,
  open: () => driver.open(),
  async read(body) {
    await inject('begin')
    return driver.read((tx) => body(readTransaction(tx, inject)))
  },
  async write(body) {
    await inject('begin')
    const result = await driver.write(async (tx) => {
      const done = await body(writeTransaction(tx, inject))
      await inject('commit')
      return done
    })
    await inject('answer')
    return result
  },
  close: () => driver.close(),
})

const readTransaction = (tx: ReadTransaction, inject: Fault): ReadTransaction => ({
  async get(key) {
    await inject('get')
    return tx.get(key)
  },
  async getMany(keys) {
    await inject('getMany')
    return tx.getMany(keys)
  },
  async *range(range) {
    await inject('range')
    for await (const entry of tx.range(range)) {
      await inject('entry')
      yield entry
    }
  },
})

const writeTransaction = (tx: WriteTransaction, inject: Fault): WriteTransaction => ({
  ...readTransaction(tx, inject),
  put: (key, value) => tx.put(key, value),
  delete: (key) => tx.delete(key),
})
