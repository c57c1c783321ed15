import { AllotError } from '../errors.ts'
import type { StorageDriver } from '../storage/driver.ts'
import type { Fault, IntegrityChecks, RepairAction } from './checks.ts'
import { type OnFault, type OnProgress, type Totals, verifyRecords } from './verify.ts'

/** What is mended in one write. */
const BATCH_SIZE = 256
/** What is remembered of a pass to be mended after it. */
const REMEMBERED = 100_000
/** What one recount mends may show more to the next; each goes deeper, so that few are needed. */
const ROUNDS = 20

export interface RepairListener {
  /** Told of each fault that was put right. */
  onRepaired: (fault: Fault) => void
  /** Called before each recount, for who is to be told of what it finds. */
  begin: () => OnFault
  told?: OnProgress | undefined
}

/**
 * Mends what follows from records: the store's own indexes, counters and sequences first, for changes of records rely on
 * them; then, once those agree, the derived numbers that floors have declared. Records that are broken stay as they are.
 * To be run while nobody else writes.
 * @returns what the last recount counted, which found nothing more to mend
 */
export const repairRecords = async (
  driver: StorageDriver,
  checks: readonly IntegrityChecks[],
  mending: RepairListener,
): Promise<Totals> => {
  for (let round = 0; round < ROUNDS; round++) {
    const { counted, isRepaired } = await mendOnce(driver, checks, mending)
    if (!isRepaired) return counted
  }
  throw new AllotError('unavailable', `after ${ROUNDS} rounds there is still something to mend: run it again`)
}

type Mendable = Fault & { repair: RepairAction }

/** One recount, and what can be mended after it. */
const mendOnce = async (
  driver: StorageDriver,
  checks: readonly IntegrityChecks[],
  { onRepaired, begin, told }: RepairListener,
): Promise<{ counted: Totals; isRepaired: boolean }> => {
  const tell = begin()
  let own: Mendable[] = []
  const derived: Mendable[] = []
  let isRepaired = false
  const flush = async () => {
    const faults = own
    own = []
    if (await mendAll(driver, faults, onRepaired)) isRepaired = true
  }
  const found: OnFault = (fault, isOwn) => {
    tell(fault, isOwn)
    const list = isOwn ? own : derived
    if (isMendable(fault) && list.length < REMEMBERED) list.push(fault)
  }
  const pause = async () => {
    if (own.length >= BATCH_SIZE) await flush()
  }
  const counted = await driver.read((tx) =>
    verifyRecords(tx, checks, { onFault: found, onProgress: told, pause }),
  )
  await flush()
  return { counted, isRepaired: isRepaired || (await mendAll(driver, derived, onRepaired)) }
}

const isMendable = (fault: Fault): fault is Mendable => fault.repair !== undefined

const mendAll = async (
  driver: StorageDriver,
  faults: readonly Mendable[],
  repaired: (fault: Fault) => void,
): Promise<boolean> => {
  let isRepaired = false
  for (let from = 0; from < faults.length; from += BATCH_SIZE) {
    const some = faults.slice(from, from + BATCH_SIZE)
    const done = await driver.write(async (tx) => {
      const put: Mendable[] = []
      for (const fault of some) if (await fault.repair(tx)) put.push(fault)
      return put
    })
    for (const fault of done) repaired(fault)
    if (done.length > 0) isRepaired = true
  }
  return isRepaired
}
