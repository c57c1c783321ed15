import type { StorageDriver } from '../../lib/index.ts'

/** The driver as another server on the same shared store has it: closing it leaves it open. */
export const secondServerOn = (driver: StorageDriver): StorageDriver => ({
  ...driver,
  open: async () => undefined,
  close: async () => undefined,
})

/** Runs `pause` once, before the first write that begins when `isDue` returns true. */
export const pausedBeforeWrite = (
  driver: StorageDriver,
  isDue: () => Promise<boolean>,
  pause: () => Promise<unknown>,
): StorageDriver => {
  let isPaused = false
  return {
    ...driver,
    async write(body) {
      if (!isPaused && (await isDue())) {
        isPaused = true
        await pause()
      }
      return driver.write(body)
    },
  }
}

/** Waits for what `pause` returns after each read. */
export const pausedAfterReads = (driver: StorageDriver, pause: () => Promise<unknown>): StorageDriver => ({
  ...driver,
  async read(body) {
    const result = await driver.read(body)
    await pause()
    return result
  },
})
