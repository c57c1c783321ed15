import { type StorageDriver, StorageError, wrapDriver } from './driver.ts'

/** Called for the host's log. */
export interface OutageListener {
  /**
   * Called when the database goes away.
   * @param error the first failure; its causes name the hosts
   */
  onAway(error: StorageError): void
  /** Called when it is back. */
  onBack(outage: {
    /** How long it was away. */
    seconds: number
    /** Number of reads and writes that failed meanwhile. */
    failed: number
  }): void
}

/**
 * Tells when the database goes away and when it is back, once each, instead of a line for each request that
 * fails. The errors are marked as logged.
 */
export const reportOutages = (driver: StorageDriver, { onAway, onBack }: OutageListener): StorageDriver => {
  let outage: { since: number; failed: number } | undefined
  return wrapDriver(driver, async (_operation, call) => {
    const known = outage
    try {
      const result = await call()
      // A call that began before may still succeed on a connection that goes on.
      if (outage !== undefined && outage === known) {
        onBack({ seconds: Math.round(performance.now() - outage.since) / 1000, failed: outage.failed })
        outage = undefined
      }
      return result
    } catch (error) {
      if (!(error instanceof StorageError) || error.reason !== 'away') throw error
      error.isLogged = true
      if (outage === undefined) onAway(error)
      outage ??= { since: performance.now(), failed: 0 }
      outage.failed++
      throw error
    }
  })
}
