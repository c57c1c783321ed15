import { setFlagsFromString } from 'node:v8'
import type { Command } from 'commander'
import type { FileStorage } from '../../lib/files/index.ts'
import type { StorageDriver } from '../../lib/storage/index.ts'
import type { Repaired, Verification } from '../../lib/verify.ts'
import type { ChosenDriver, StoreFlags } from '../config/store.ts'
import { UsageError } from '../errors.ts'
import { print, printNote, withProgressBar } from '../terminal.ts'
import { examples, storeOptions } from './options.ts'

export const addVerifyCommand = (program: Command): void => {
  storeOptions(program.command('verify'))
    .description('check every index, counter and total of the store against its records')
    .option(
      '--repair',
      "repair what can be derived from records; for a damaged LevelDB, run LevelDB's own repair first",
    )
    .option(
      '--force',
      'repair a PostgreSQL database although other processes use it, or a store whose files are all lost',
    )
    .addHelpText('after', examples('allot verify --data /var/lib/allot'))
    .action(verifyStore)
}

interface Flags extends StoreFlags {
  repair?: boolean
  force?: boolean
}

type Chosen = ChosenDriver & { readonly force: boolean }

/** Every file of a LevelDB is read once, so keeping many of them open gains nothing. */
const OPEN_FILES = 64

const verifyStore = async ({ repair = false, force = false, ...flags }: Flags): Promise<void> => {
  if (force && !repair)
    throw new UsageError('--force is for --repair: a check of PostgreSQL runs beside other processes anyway')
  // Collects garbage often. Every record is read once and dropped, and by default the heap grows to several
  // times as much. (Limiting the young generation too would save another 20 MiB, and take a fifth longer.)
  setFlagsFromString('--optimize-for-size')
  const [{ driverFor, foldersOf, chosenDriver, requireStore, storeLocation }, { FileStorage }] =
    await Promise.all([import('../config/store.ts'), import('../../lib/files/index.ts')])
  requireStore(flags, 'name another folder with --data')
  const location = storeLocation(flags)
  const driver = await driverFor(location, {
    level: { openFiles: OPEN_FILES },
    postgres: { exclusive: repair && !force },
  })
  try {
    const files = new FileStorage(foldersOf(location).files)
    if (repair) await repairAndPrint(driver, files, { ...chosenDriver(location), force })
    else await verifyAndPrint(driver, files)
  } finally {
    await driver.close()
  }
}

const verifyAndPrint = async (driver: StorageDriver, files: FileStorage): Promise<void> => {
  const { verify } = await import('../../lib/verify.ts')
  await driver.open()
  const result = await withProgressBar('verifying', (onProgress) => verify(driver, files, onProgress))
  await printVerification(
    result,
    'the store is inconsistent: restore a backup when a file is damaged; otherwise, `allot verify --repair` repairs what can be derived from records',
  )
}

const repairAndPrint = async (driver: StorageDriver, files: FileStorage, chosen: Chosen): Promise<void> => {
  const { repaired, messages, after } = await repairDamaged(driver, files, chosen)
  for (const message of messages) print(`repaired: ${message}`)
  if (repaired > messages.length) print(`repaired: ${repaired - messages.length} more`)
  await printVerification(
    after,
    'the remaining faults cannot be derived from other records: correct them by hand, or restore a backup',
  )
}

/** Repairs the store. A LevelDB that cannot be read is repaired by LevelDB first. */
const repairDamaged = async (
  driver: StorageDriver,
  files: FileStorage,
  chosen: Chosen,
): Promise<Repaired> => {
  const { repair } = await import('../../lib/verify.ts')
  const { StorageError } = await import('../../lib/storage/index.ts')
  const openAndRepair = async () => {
    await driver.open()
    return withProgressBar('repairing', (onProgress) => repair(driver, files, onProgress, chosen.force))
  }
  try {
    return await openAndRepair()
  } catch (error) {
    const reason = error instanceof StorageError ? error.reason : undefined
    if (chosen.isShared && reason === 'locked')
      throw new Error(`${(error as Error).message}, or repair beside them with --force`, { cause: error })
    if (chosen.repair === undefined || reason !== 'corrupt') throw error
    await driver.close()
    await repairFiles(chosen)
    return openAndRepair()
  }
}

const repairFiles = async ({ title, folder, repair, url }: ChosenDriver): Promise<void> => {
  printNote(`${folder!(url)} is damaged: running ${title}'s own repair, which keeps what it can read.`)
  printNote(
    'The newest writes may be lost, and deleted records may reappear: if you have a recent backup, restore it.',
  )
  for (const file of await repair!(url)) printNote(`set aside, because parts of it are unreadable: ${file}`)
}

/** @param advice message of the error that is thrown when there are faults */
const printVerification = async (result: Verification, advice: string): Promise<void> => {
  const { sentence } = await import('../../lib/verify.ts')
  for (const message of result.messages) print(message)
  if (result.faults > result.messages.length) print(`and ${result.faults - result.messages.length} more`)
  print(sentence(result))
  if (result.faults > 0) throw new Error(advice)
}
