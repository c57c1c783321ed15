import { AsyncLocalStorage } from 'node:async_hooks'
import type { CacheKey } from '../caches.ts'
import type { ReadTransaction, StorageDriver, WriteTransaction } from '../storage/index.ts'
import { createSequences, type Sequences } from './sequence.ts'

/** A write transaction with callbacks that run when its changes are durable, to invalidate a cache or notify the host. */
export interface WriteContext extends WriteTransaction {
  /**
   * @param action called with false when the commit failed with an unknown outcome: it must invalidate caches, and must
   *   not notify anyone
   */
  afterCommit(action: (isKnown: boolean) => void): void
}

export interface Store {
  readonly driver: StorageDriver
  /** Ids for new records; an id is never used twice. */
  readonly sequences: Sequences
  /** Runs `work`, possibly again, so it must have no side effects. Results with a key are cached: see `cachedRead`. */
  read<T>(work: (tx: ReadTransaction) => Promise<T>, key?: CacheKey): Promise<T>
  /**
   * Runs all reads of this store within `work` on one snapshot, with the round trips of one read. `work` must not write, and
   * may run again.
   */
  readTogether<T>(work: () => Promise<T>, key?: CacheKey): Promise<T>
  /** May run `work` again; only the callbacks of the last run are called. */
  write<T>(work: (tx: WriteContext) => Promise<T>): Promise<T>
}

export const createStore = (driver: StorageDriver): Store => {
  const outer = driver.shared ? new AsyncLocalStorage<ReadTransaction>() : undefined
  return {
    driver,
    sequences: createSequences(driver),
    read(work, as) {
      const tx = outer?.getStore()
      return tx === undefined ? driver.read(work, { repeatable: true, cacheKey: as }) : work(tx)
    },
    readTogether: (work, as) =>
      outer === undefined
        ? work()
        : driver.read((tx) => outer.run(tx, work), { repeatable: true, cacheKey: as }),
    async write(work) {
      if (outer?.getStore() !== undefined) throw new Error('a callback of readTogether must not write')
      let actions: Action[] = []
      const runActions = (isKnown: boolean) => {
        for (const action of actions) action(isKnown)
      }
      const result = await driver
        .write(async (tx) => {
          actions = []
          const added: Action[] = []
          const value = await work(writeContext(tx, added))
          actions = added
          return value
        })
        .catch((error) => {
          // Actions are set only when `work` has succeeded, so this is a failure of the commit.
          runActions(false)
          throw error
        })
      runActions(true)
      return result
    },
  }
}

type Action = (isKnown: boolean) => void

const writeContext = (tx: WriteTransaction, actions: Action[]): WriteContext => ({
  get: (key) => tx.get(key),
  getMany: (keys) => tx.getMany(keys),
  range: (range) => tx.range(range),
  put: (key, value) => tx.put(key, value),
  delete: (key) => tx.delete(key),
  afterCommit: (action) => void actions.push(action),
})
