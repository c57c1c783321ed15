import { setTimeout } from 'node:timers/promises'
import type { StorageDriver } from './driver.ts'

/** Milliseconds after which a check counts as failed. */
export const STORE_TIMEOUT_MS = 3000
/** Milliseconds for which the result of a check is reused. */
export const READY_INTERVAL_MS = 250

const wait = (ms: number): Promise<void> => setTimeout(ms, undefined, { ref: false })

/**
 * Tells whether a store could write now, by a transaction that changes nothing. Callers share a check: those
 * of `/-/readyz` need no credentials.
 * @param pause resolves after so many milliseconds
 */
export const writableCheck = (driver: StorageDriver, pause = wait): (() => Promise<boolean>) => {
  let current: Promise<boolean> | undefined
  const begin = () => {
    const isDone = driver
      .write(async () => undefined)
      .then(
        () => true,
        () => false,
      )
    return Promise.race([isDone, pause(STORE_TIMEOUT_MS).then(() => false)])
  }
  return () => {
    if (current !== undefined) return current
    const begun = begin()
    current = begun
    void begun
      .then(() => pause(READY_INTERVAL_MS))
      .then(() => {
        current = undefined
      })
    return begun
  }
}
