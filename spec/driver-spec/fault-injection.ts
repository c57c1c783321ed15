import type { ReadTransaction, StorageDriver, WriteTransaction } from '../../lib/storage/index.ts'

/**
 * Where a transaction can be held up or can fail. `commit` is when its work is done and nothing is written yet, `answer`
 * when it is written and the caller has not heard of it.
 */
export type Call = 'begin' | 'get' | 'getMany' | 'range' | 'entry' | 'commit' | 'answer'

/** Happens before a call: nothing, a while, or an error. */
export type Trouble = (call: Call) => Promise<void>

/** The same driver, with trouble at every call of every transaction. */
export const troubled = (driver: StorageDriver, trouble: Trouble): StorageDriver => ({
  name: driver.name,
  shared: driver.shared,
  open: () => driver.open(),
  async read(work) {
    await trouble('begin')
    return driver.read((tx) => work(readingWith(tx, trouble)))
  },
  async write(work) {
    await trouble('begin')
    const result = await driver.write(async (tx) => {
      const done = await work(writingWith(tx, trouble))
      await trouble('commit')
      return done
    })
    await trouble('answer')
    return result
  },
  close: () => driver.close(),
})

const readingWith = (tx: ReadTransaction, trouble: Trouble): ReadTransaction => ({
  async get(key) {
    await trouble('get')
    return tx.get(key)
  },
  async getMany(keys) {
    await trouble('getMany')
    return tx.getMany(keys)
  },
  async *range(range) {
    await trouble('range')
    for await (const entry of tx.range(range)) {
      await trouble('entry')
      yield entry
    }
  },
})

const writingWith = (tx: WriteTransaction, trouble: Trouble): WriteTransaction => ({
  ...readingWith(tx, trouble),
  put: (key, value) => tx.put(key, value),
  delete: (key) => tx.delete(key),
})
