import { AllotError } from '../errors.ts'
import type { StorageDriver } from '../storage/index.ts'
import type { Check, Fault } from './checks.ts'
import type { Totals } from './run.ts'
import { type OnCount, verifyRecords } from './verify.ts'

/** Repairs in one write transaction. */
const BATCH_SIZE = 256
/** Faults of a kind that one round remembers; the next round finds the rest again. */
const MAX_REMEMBERED = 200_000
/** A repair may reveal faults in what is derived from it, so the check runs again until it finds none. */
const MAX_ROUNDS = 20

interface RepairOptions {
  onRepaired: (fault: Fault) => void
  /** Called before each round, for a listener to what the round finds. */
  onRound: () => (fault: Fault) => void
  onProgress?: OnCount | undefined
}

/**
 * Repairs what follows from records: indexes, counters and sequences first, since changes of records rely on
 * them; then, in a round that finds those in order, what domains derive. Broken records stay as they are.
 * Nothing else may write.
 * @returns the totals of the last round, which found nothing more to repair
 * @throws AllotError unavailable when faults remain after many rounds
 */
export const repairRecords = async (
  driver: StorageDriver,
  checks: readonly Check[],
  { onRepaired, onRound, onProgress }: RepairOptions,
): Promise<Totals> => {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const listener = onRound()
    const [ofKeys, ofRecords]: [Fault[], Fault[]] = [[], []]
    const onFault = (fault: Fault) => {
      listener(fault)
      const found = fault.changesRecord ? ofRecords : ofKeys
      if (fault.repair !== undefined && found.length < MAX_REMEMBERED) found.push(fault)
    }
    const totals = await driver.read((tx) => verifyRecords(tx, checks, onFault, onProgress))
    const repairs = await repairAll(driver, ofKeys.length > 0 ? ofKeys : ofRecords, onRepaired)
    if (repairs === 0) return totals
  }
  throw new AllotError(
    'unavailable',
    `faults remain after ${MAX_ROUNDS} rounds of repair: run \`allot verify --repair\` again`,
  )
}

/** @returns the number of faults that were repaired */
const repairAll = async (
  driver: StorageDriver,
  faults: readonly Fault[],
  onRepaired: (fault: Fault) => void,
): Promise<number> => {
  let repairs = 0
  for (let start = 0; start < faults.length; start += BATCH_SIZE) {
    const repaired = await driver.write(async (tx) => {
      const done: Fault[] = []
      for (const fault of faults.slice(start, start + BATCH_SIZE))
        if (await fault.repair?.(tx)) done.push(fault)
      return done
    })
    for (const fault of repaired) onRepaired(fault)
    repairs += repaired.length
  }
  return repairs
}
