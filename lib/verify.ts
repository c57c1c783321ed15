import { hostingProof } from './hosting/proof.ts'
import { quotaProof } from './quota/proof.ts'
import { verifyRecords } from './records/proof/verify.ts'
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
const proofs = [quotaProof, hostingProof]

/**
 * Recounts every counter, index and derived number of an open store against its records, within one snapshot: others may
 * read and write meanwhile.
 * @param read told now and then of how many more entries were read
 */
export const verify = async (
  driver: StorageDriver,
  read?: (entries: number) => void,
): Promise<Verification> => {
  const named: string[] = []
  let faults = 0
  const { records, entries, counters } = await driver.read((tx) =>
    verifyRecords(
      tx,
      proofs,
      ({ says }) => {
        faults++
        if (named.length < NAMED) named.push(says)
      },
      read,
    ),
  )
  return { records, indexEntries: entries, counters, faults, named }
}

/** `3 records, 7 index entries, 2 counters: all agree` */
export const sentence = ({ records, indexEntries, counters, faults }: Verification): string =>
  `${records} records, ${indexEntries} index entries, ${counters} counters: ${
    faults === 0 ? 'all agree' : `${faults} differ`
  }`
