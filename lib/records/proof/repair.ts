import { AllotError } from '../../errors.ts'
import type { StorageDriver } from '../../storage/driver.ts'
import type { Fault, Mend, Proof } from './declare.ts'
import { type Counted, type Found, type Told, verifyRecords } from './verify.ts'

/** What is mended in one write. */
const AT_ONCE = 256
/** What is remembered of a pass to be mended after it. */
const REMEMBERED = 100_000
/** What one recount mends may show more to the next; each goes deeper, so that few are needed. */
const ROUNDS = 20

export interface Mending {
  /** Told of each fault that was put right. */
  mended: (fault: Fault) => void
  /** Called before each recount, for who is to be told of what it finds. */
  begin: () => Found
  told?: Told | undefined
}

/**
 * Mends what follows from records: the store's own indexes, counters and sequences first, for changes of records rely on
 * them; then, once those agree, the derived numbers that floors have declared. Records that are broken stay as they are.
 * To be run while nobody else writes.
 * @returns what the last recount counted, which found nothing more to mend
 */
export const repairRecords = async (
  driver: StorageDriver,
  proofs: readonly Proof[],
  mending: Mending,
): Promise<Counted> => {
  for (let round = 0; round < ROUNDS; round++) {
    const { counted, isMended } = await mendOnce(driver, proofs, mending)
    if (!isMended) return counted
  }
  throw new AllotError('unavailable', `after ${ROUNDS} rounds there is still something to mend: run it again`)
}

type Mendable = Fault & { mend: Mend }

/** One recount, and what can be mended after it. */
const mendOnce = async (
  driver: StorageDriver,
  proofs: readonly Proof[],
  { mended, begin, told }: Mending,
): Promise<{ counted: Counted; isMended: boolean }> => {
  const tell = begin()
  let own: Mendable[] = []
  const derived: Mendable[] = []
  let isMended = false
  const flush = async () => {
    const faults = own
    own = []
    if (await mendAll(driver, faults, mended)) isMended = true
  }
  const found: Found = (fault, isOwn) => {
    tell(fault, isOwn)
    const list = isOwn ? own : derived
    if (isMendable(fault) && list.length < REMEMBERED) list.push(fault)
  }
  const pause = async () => {
    if (own.length >= AT_ONCE) await flush()
  }
  const counted = await driver.read((tx) => verifyRecords(tx, proofs, { found, told, pause }))
  await flush()
  return { counted, isMended: isMended || (await mendAll(driver, derived, mended)) }
}

const isMendable = (fault: Fault): fault is Mendable => fault.mend !== undefined

const mendAll = async (
  driver: StorageDriver,
  faults: readonly Mendable[],
  mended: (fault: Fault) => void,
): Promise<boolean> => {
  let isMended = false
  for (let from = 0; from < faults.length; from += AT_ONCE) {
    const some = faults.slice(from, from + AT_ONCE)
    const done = await driver.write(async (tx) => {
      const put: Mendable[] = []
      for (const fault of some) if (await fault.mend(tx)) put.push(fault)
      return put
    })
    for (const fault of done) mended(fault)
    if (done.length > 0) isMended = true
  }
  return isMended
}
