import { attachmentsProof } from './hosting/attachments-proof.ts'
import { contentsProof } from './hosting/contents-proof.ts'
import { hostingProof } from './hosting/proof.ts'
import { quotaProof } from './quota/proof.ts'
import { prepareStore } from './records/opening.ts'
import { repairRecords } from './records/proof/repair.ts'
import { type Counted, type Told, verifyRecords } from './records/proof/verify.ts'
import type { StorageDriver } from './storage/driver.ts'

/** What a recount of the whole store came to. */
export interface Verification {
  records: number
  indexEntries: number
  counters: number
  /** How many things are wrong: 0 when all agree. */
  faults: number
  /** The first hundred of them, each in a sentence that names it. */
  named: string[]
}

const NAMED = 100
const proofs = [quotaProof, hostingProof, contentsProof, attachmentsProof]

/**
 * Recounts every counter, index and derived number of an open store against its records, within one snapshot: others may
 * read and write meanwhile.
 * @param told how far it has come, now and then
 * @throws AllotError unavailable for a store that is not of this program's layout.
 */
export const verify = async (driver: StorageDriver, told?: Told): Promise<Verification> => {
  const faults = list()
  const counted = await driver.read((tx) => verifyRecords(tx, proofs, { found: faults.add, told }))
  return verification(counted, faults)
}

/** What a repair did, and what is still wrong after it: broken records, and those that point to nothing. */
export interface Repaired {
  mended: number
  /** The first hundred things that were mended. */
  named: string[]
  after: Verification
}

/**
 * Mends what follows from records: indexes, counters, sequences and derived numbers; never a record of something else.
 * To be run while nobody writes.
 */
export const repair = async (driver: StorageDriver, told?: Told): Promise<Repaired> => {
  await prepareStore(driver)
  const mended = list()
  let faults = list()
  const begin = () => {
    faults = list()
    return faults.add
  }
  const counted = await repairRecords(driver, proofs, { mended: mended.add, begin, told })
  return { mended: mended.total(), named: mended.first, after: verification(counted, faults) }
}

const verification = (
  { records, entries, counters }: Counted,
  { total, first }: ReturnType<typeof list>,
): Verification => ({ records, indexEntries: entries, counters, faults: total(), named: first })

const list = () => {
  const first: string[] = []
  let total = 0
  return {
    first,
    total: () => total,
    add({ says }: { says: string }) {
      total++
      if (first.length < NAMED) first.push(says)
    },
  }
}

/** `3 records, 7 index entries, 2 counters: all agree` */
export const sentence = ({ records, indexEntries, counters, faults }: Verification): string =>
  [
    `${records} records, ${indexEntries} index entries, ${counters} counters`,
    faults === 0 ? 'all agree' : `${faults} ${faults === 1 ? 'thing differs' : 'things differ'}`,
  ].join(': ')
