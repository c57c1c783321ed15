import { AsyncLocalStorage } from 'node:async_hooks'
import type { ReadTransaction, StorageDriver, WriteTransaction } from '../storage/driver.ts'
import { createSequences, type Sequences } from './sequence.ts'

/** A write transaction that can say what must happen once its changes are durable (drop a memo, tell the host). */
export interface WriteContext extends WriteTransaction {
  /** `isKnown` is false when nobody can say whether the changes are kept: memos are to be dropped, and nobody told. */
  afterCommit(action: (isKnown: boolean) => void): void
}

export interface Store {
  readonly driver: StorageDriver
  /** Numbers for new records, never used twice. */
  readonly sequences: Sequences
  /** May run `work` again, so it must change nothing outside of itself. `as`: see the driver contract. */
  read<T>(work: (tx: ReadTransaction) => Promise<T>, as?: string): Promise<T>
  /**
   * Whatever `work` reads by this store, in however many reads, is of one moment and costs as few round trips as one read
   * does. It must not write, and may run again.
   */
  readTogether<T>(work: () => T | Promise<T>, as?: string): Promise<T>
  /** May run `work` again (see the driver contract); only the last run's `afterCommit` actions are kept. */
  write<T>(work: (tx: WriteContext) => Promise<T>): Promise<T>
}

export const createStore = (driver: StorageDriver): Store => {
  const around = driver.shared ? new AsyncLocalStorage<ReadTransaction>() : undefined
  return {
    driver,
    sequences: createSequences(driver),
    read(work, as) {
      const tx = around?.getStore()
      return tx === undefined ? driver.read(work, { again: true, as }) : work(tx)
    },
    readTogether: async (work, as) =>
      around === undefined
        ? work()
        : driver.read((tx) => around.run(tx, async () => work()), { again: true, as }),
    async write(work) {
      if (around?.getStore() !== undefined) throw new Error('what is read together must not write')
      let actions: Action[] = []
      const end = (isKnown: boolean) => {
        for (const action of actions) action(isKnown)
      }
      const result = await driver
        .write(async (tx) => {
          actions = []
          const own: Action[] = []
          const done = await work(changeOf(tx, own))
          actions = own
          return done
        })
        .catch((error) => {
          // There are actions only when the work itself was done, so it was the driver that failed.
          end(false)
          throw error
        })
      end(true)
      return result
    },
  }
}

type Action = (isKnown: boolean) => void

const changeOf = (tx: WriteTransaction, actions: Action[]): WriteContext => ({
  get: (key) => tx.get(key),
  getMany: (keys) => tx.getMany(keys),
  range: (range) => tx.range(range),
  put: (key, value) => tx.put(key, value),
  delete: (key) => tx.delete(key),
  afterCommit: (action) => void actions.push(action),
})
