import { accountChecks } from './accounts/integrity.ts'
import { checkFiles, contentChecks, type FileFault } from './content/integrity.ts'
import { AllotError } from './errors.ts'
import type { FileStorage } from './files/index.ts'
import { type Fault, type OnCount, Repairs, referenceChecks, verifyRecords } from './integrity/index.ts'
import { quotaChecks } from './quota/integrity.ts'
import { upgradeStore } from './records/schema/index.ts'
import { repositoryChecks } from './repositories/integrity.ts'
import type { StorageDriver } from './storage/index.ts'
import { webhookChecks } from './webhooks/kept.ts'

/** The result of a check of the whole store. */
export interface Verification {
  /** Number of records that were read. */
  records: number
  /** Number of index entries that were compared. */
  indexEntries: number
  /** Number of counters that were compared. */
  counters: number
  /** Number of faults; 0 when everything agrees. */
  faults: number
  /** Messages of the first hundred faults. */
  messages: string[]
}

/** The result of a repair, and of the check after it: broken records and dangling references remain. */
export interface Repaired {
  repaired: number
  /** Messages of the first hundred faults that were repaired. */
  messages: string[]
  after: Verification
}

const MAX_MESSAGES = 100
const CHECKS = [
  ...referenceChecks,
  ...quotaChecks,
  ...accountChecks,
  ...repositoryChecks,
  ...contentChecks,
  ...webhookChecks,
]

/**
 * Checks the files of an open store, and within one snapshot its records, while others may read and write
 * (lib/integrity/index.ts).
 * @param disk to check the stored files against their records, and records against their files
 * @throws AllotError unavailable when the store does not have the layout of this version
 */
export const verify = async (
  driver: StorageDriver,
  disk?: FileStorage,
  onProgress?: OnCount,
): Promise<Verification> => verifyAfter(await damageOf(driver), driver, disk, onProgress)

/** What is damaged in the files of the database. */
const damageOf = async (driver: StorageDriver): Promise<FaultList> => {
  const damage = new FaultList()
  await driver.findDamage?.((message) => damage.add({ message }))
  return damage
}

/** @param onFault called with each fault of a record, an index or a counter */
const verifyAfter = async (
  damage: FaultList,
  driver: StorageDriver,
  disk?: FileStorage,
  onProgress?: OnCount,
  onFault: (fault: Fault) => void = () => undefined,
): Promise<Verification> => {
  const list = new FaultList(damage)
  const add = (fault: Fault) => {
    list.add(fault)
    onFault(fault)
  }
  const { records, entries, counters } = await driver.read((tx) => verifyRecords(tx, CHECKS, add, onProgress))
  if (disk !== undefined) await checkFiles(driver, disk, list.add)
  return { records, indexEntries: entries, counters, faults: list.total, messages: list.messages }
}

/** A repair may reveal faults in what is derived from it, so the check runs again until it finds none. */
const MAX_ROUNDS = 20

/**
 * Repairs what follows from the records:
 * - makes indexes and counters again;
 * - removes files without a record;
 * - removes LFS objects whose file is missing or has another size, and that file;
 * - corrects members of records that follow from other records.
 *
 * Other broken records stay unchanged. The caller stops all other processes of the store first; the
 * PostgreSQL driver's option `exclusive` enforces that.
 * @param force also when none of the files that have records is on the disk; and beside other processes of a
 * shared store, which is not upgraded then
 * @throws AllotError misconfigured without `force` in the first case, with nothing repaired: another folder
 * than that of the files may be named, or its disk not mounted; unavailable when faults remain after many
 * rounds
 */
export const repair = async (
  driver: StorageDriver,
  disk?: FileStorage,
  onProgress?: OnCount,
  force = false,
): Promise<Repaired> => {
  // First: when LevelDB moves what is damaged to another file, it gives it a right sum.
  const damage = await damageOf(driver)
  await upgradeStore(driver, { isAlone: !(force && driver.shared) })
  const repaired = new FaultList()
  const ofFiles: FileFault[] = []
  if (disk !== undefined) {
    const { recorded, present } = await checkFiles(driver, disk, (fault) => ofFiles.push(fault))
    if (recorded > 0 && present === 0 && !force) throw new AllotError('misconfigured', noFiles(recorded))
  }
  for (const fault of ofFiles) if (await fault.repair()) repaired.add(fault)
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const found = new Repairs()
    const after = await verifyAfter(damage, driver, disk, onProgress, (fault) => found.add(fault))
    if ((await found.run(driver, repaired.add)) === 0)
      return { repaired: repaired.total, messages: repaired.messages, after }
  }
  throw new AllotError(
    'unavailable',
    `faults remain after ${MAX_ROUNDS} rounds of repair: run \`allot verify --repair\` again`,
  )
}

const noFiles = (recorded: number): string =>
  `nothing is repaired, since none of the ${recorded} files that have records is on the disk: mount the disk and name the folder of the files, with --config when a configuration names it, or add --force if they are lost`

/** Counts faults and keeps the messages of the first. */
class FaultList {
  readonly messages: string[]
  total: number

  constructor({ messages, total }: Pick<FaultList, 'messages' | 'total'> = { messages: [], total: 0 }) {
    this.messages = [...messages]
    this.total = total
  }

  readonly add = ({ message }: Pick<Fault, 'message'>): void => {
    this.total++
    if (this.messages.length < MAX_MESSAGES) this.messages.push(message)
  }
}

/** The result in a sentence, such as `3 records, 7 index entries, 2 counters: all agree`. */
export const sentence = ({ records, indexEntries, counters, faults }: Verification): string =>
  [
    `${records} records, ${indexEntries} index entries, ${counters} counters`,
    faults === 0 ? 'all agree' : `${faults} ${faults === 1 ? 'thing differs' : 'things differ'}`,
  ].join(': ')
