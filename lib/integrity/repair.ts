import type { StorageDriver } from '../storage/index.ts'
import type { Fault } from './checks.ts'

/** Repairs in one write transaction. */
const BATCH_SIZE = 256
/** Faults of a kind that are remembered at most; the next check finds the rest again. */
const MAX_REMEMBERED = 200_000

/**
 * The faults that one check has found: those of indexes, counters and sequences are repaired first, since
 * changes of records rely on them. A check after that finds the others again.
 */
export class Repairs {
  readonly #ofKeys: Fault[] = []
  readonly #ofRecords: Fault[] = []

  add(fault: Fault): void {
    const faults = fault.changesRecord ? this.#ofRecords : this.#ofKeys
    if (fault.repair !== undefined && faults.length < MAX_REMEMBERED) faults.push(fault)
  }

  /**
   * What others write meanwhile may be overwritten with what the check has seen; the next check finds that.
   * @param onRepaired called with each fault that was repaired
   * @returns the number of them
   */
  async run(driver: StorageDriver, onRepaired: (fault: Fault) => void): Promise<number> {
    const faults = this.#ofKeys.length > 0 ? this.#ofKeys : this.#ofRecords
    let repairs = 0
    for (let start = 0; start < faults.length; start += BATCH_SIZE) {
      const repaired = await driver.write(async (tx) => {
        const done: Fault[] = []
        for (const fault of faults.slice(start, start + BATCH_SIZE))
          if (await fault.repair?.(tx)) done.push(fault)
        return done
      })
      repaired.forEach(onRepaired)
      repairs += repaired.length
    }
    return repairs
  }
}
