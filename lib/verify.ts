import { attachmentsIntegrity } from './content/attachments-integrity.ts'
import { checkFiles, type FileFault } from './content/file-check.ts'
import { filesIntegrity } from './content/files-integrity.ts'
import { contentIntegrity } from './content/integrity.ts'
import type { FileStore } from './files/index.ts'
import { repairRecords } from './integrity/repair.ts'
import { type OnProgress, type Totals, verifyRecords } from './integrity/verify.ts'
import { quotaIntegrity } from './quota/integrity.ts'
import { migrateStore } from './records/migrate.ts'
import { hostingIntegrity } from './repositories/integrity.ts'
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
const checks = [quotaIntegrity, hostingIntegrity, contentIntegrity, filesIntegrity, attachmentsIntegrity]

/**
 * Recounts every counter, index and derived number of an open store against its records, within one snapshot: others may
 * read and write meanwhile. Files are held against their records, and records against their files.
 * @param disk where the files lie, unless they are to be left out
 * @param told how far it has come, now and then
 * @throws AllotError unavailable for a store that is not of this program's layout.
 */
export const verify = async (
  driver: StorageDriver,
  disk?: FileStore,
  told?: OnProgress,
): Promise<Verification> => {
  const faults = list()
  const counted = await driver.read((tx) =>
    verifyRecords(tx, checks, { onFault: faults.add, onProgress: told }),
  )
  if (disk !== undefined) await checkFiles(driver, disk, faults.add)
  return verification(counted, faults)
}

/** What a repair did, and what is still wrong after it: broken records, and those that point to nothing. */
export interface Repaired {
  repaired: number
  /** The first hundred things that were mended. */
  named: string[]
  after: Verification
}

/**
 * Mends what follows from records: indexes, counters, sequences and derived numbers; never a record of something else,
 * but that of an LFS object which is lost, and takes away files that belong to nothing. To be run while nobody writes.
 */
export const repair = async (
  driver: StorageDriver,
  disk?: FileStore,
  told?: OnProgress,
): Promise<Repaired> => {
  await migrateStore(driver)
  const repaired = list()
  const left = disk === undefined ? [] : await mendFiles(driver, disk, repaired.add)
  let faults = list()
  const begin = () => {
    faults = list()
    for (const one of left) faults.add(one)
    return faults.add
  }
  const counted = await repairRecords(driver, checks, { onRepaired: repaired.add, begin, told })
  return { repaired: repaired.total(), named: repaired.first, after: verification(counted, faults) }
}

/** @returns what nothing can mend but a person */
const mendFiles = async (
  driver: StorageDriver,
  disk: FileStore,
  repaired: (fault: FileFault) => void,
): Promise<FileFault[]> => {
  const found: FileFault[] = []
  const left: FileFault[] = []
  await checkFiles(driver, disk, (fault) => found.push(fault))
  for (const fault of found)
    if (await fault.repair()) repaired(fault)
    else left.push(fault)
  return left
}

const verification = (
  { records, entries, counters }: Totals,
  { total, first }: ReturnType<typeof list>,
): Verification => ({ records, indexEntries: entries, counters, faults: total(), named: first })

const list = () => {
  const first: string[] = []
  let total = 0
  return {
    first,
    total: () => total,
    add({ message }: { message: string }) {
      total++
      if (first.length < NAMED) first.push(message)
    },
  }
}

/** `3 records, 7 index entries, 2 counters: all agree` */
export const sentence = ({ records, indexEntries, counters, faults }: Verification): string =>
  [
    `${records} records, ${indexEntries} index entries, ${counters} counters`,
    faults === 0 ? 'all agree' : `${faults} ${faults === 1 ? 'thing differs' : 'things differ'}`,
  ].join(': ')
