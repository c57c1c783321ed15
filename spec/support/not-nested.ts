import { AsyncLocalStorage } from 'node:async_hooks'
import type { StorageDriver } from '../../lib/index.ts'

/** Whether the body of a transaction runs. */
const running = new AsyncLocalStorage<{ isRunning: boolean }>()

const alone =
  <Transaction, T>(body: (tx: Transaction) => Promise<T>) =>
  (tx: Transaction): Promise<T> => {
    const mark = { isRunning: true }
    return running.run(mark, async () => {
      try {
        return await body(tx)
      } finally {
        mark.isRunning = false
      }
    })
  }

const refuseNested = (): void => {
  if (running.getStore()?.isRunning)
    throw new Error('a transaction begins within another one: on PostgreSQL, each holds a connection')
}

/**
 * The driver, which refuses a transaction within another one. On PostgreSQL, requests that hold a connection
 * and wait for a second one can take all connections, and none of them goes on.
 */
export const notNested = (driver: StorageDriver): StorageDriver => ({
  ...driver,
  async read(body, name) {
    refuseNested()
    return driver.read(alone(body), name)
  },
  async write(body) {
    refuseNested()
    return driver.write(alone(body))
  },
})
