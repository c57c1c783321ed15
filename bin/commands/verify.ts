import { setFlagsFromString } from 'node:v8'
import type { Command } from 'commander'
import type { FileStorage } from '../../lib/files/index.ts'
import type { StorageDriver } from '../../lib/storage/index.ts'
import type { Repaired, Verification } from '../../lib/verify.ts'
import type { StoreFlags, StoreLocation } from '../config/store.ts'
import { print, printNote, withProgressBar } from '../terminal.ts'
import { examples, storeOptions } from './options.ts'

export const addVerifyCommand = (program: Command): void => {
  storeOptions(program.command('verify'))
    .description('check every index, counter and total of the store against its records')
    .option(
      '--repair',
      "repair what can be derived from records; for a damaged LevelDB, run LevelDB's own repair first",
    )
    .addHelpText('after', examples('allot verify --data /var/lib/allot'))
    .action(verifyStore)
}

interface Flags extends StoreFlags {
  repair?: boolean
}

const verifyStore = async ({ repair = false, ...flags }: Flags): Promise<void> => {
  // Collects garbage often. Every record is read once and dropped, and by default the heap grows to several times as much.
  // (Limiting the young generation too would save another 20 MiB, and take a fifth longer.)
  setFlagsFromString('--optimize-for-size')
  const [{ foldersIn, requireStore, storeLocation }, { FileStorage }] = await Promise.all([
    import('../config/store.ts'),
    import('../../lib/files/index.ts'),
  ])
  requireStore(flags, 'name another folder with --data')
  const location = storeLocation(flags)
  const driver = await createDriver(location)
  try {
    const files = new FileStorage(foldersIn(location).files)
    if (repair) await repairAndPrint(driver, files, location)
    else await verifyAndPrint(driver, files)
  } finally {
    await driver.close()
  }
}

/** Every file is read once, so keeping many of them open gains nothing. */
const MAX_OPEN_FILES = 64

const createDriver = async (location: StoreLocation): Promise<StorageDriver> => {
  const { driverFor, levelFolder } = await import('../config/store.ts')
  const folder = levelFolder(location)
  if (folder === undefined) return driverFor(location)
  const { level } = await import('../../drivers/level/index.ts')
  return level(folder, { openFiles: MAX_OPEN_FILES })
}

const verifyAndPrint = async (driver: StorageDriver, files: FileStorage): Promise<void> => {
  const { verify } = await import('../../lib/verify.ts')
  await driver.open()
  const result = await withProgressBar('verifying', (onProgress) => verify(driver, files, onProgress))
  await printVerification(result)
  if (result.faults > 0)
    throw new Error(
      'the store is inconsistent: `allot verify --repair` repairs what can be derived from records',
    )
}

const repairAndPrint = async (
  driver: StorageDriver,
  files: FileStorage,
  location: StoreLocation,
): Promise<void> => {
  const { repaired, named, after } = await repairDamaged(driver, files, location)
  for (const message of named) print(`repaired: ${message}`)
  if (repaired > named.length) print(`repaired: ${repaired - named.length} more`)
  await printVerification(after)
  if (after.faults > 0)
    throw new Error(
      'the remaining faults cannot be derived from other records: correct them by hand, or restore a backup',
    )
}

/** Repairs the store. A LevelDB that cannot be opened is repaired by LevelDB first. */
const repairDamaged = async (
  driver: StorageDriver,
  files: FileStorage,
  location: StoreLocation,
): Promise<Repaired> => {
  const [{ levelFolder }, { StorageError }, { repair }] = await Promise.all([
    import('../config/store.ts'),
    import('../../lib/storage/index.ts'),
    import('../../lib/verify.ts'),
  ])
  const openAndRepair = async () => {
    await driver.open()
    return withProgressBar('repairing', (onProgress) => repair(driver, files, onProgress))
  }
  const folder = levelFolder(location)
  try {
    return await openAndRepair()
  } catch (error) {
    const isDamaged = error instanceof StorageError && error.reason === 'corrupt'
    if (folder === undefined || !isDamaged) throw error
    await driver.close()
    await repairFolder(folder)
    return openAndRepair()
  }
}

const repairFolder = async (folder: string): Promise<void> => {
  const { repairLevel } = await import('../../drivers/level/damage.ts')
  printNote(`${folder} is damaged: running LevelDB's own repair, which keeps what it can read.`)
  printNote(
    'The newest writes may be lost, and deleted records may reappear: if you have a recent backup, restore it.',
  )
  for (const file of await repairLevel(folder))
    printNote(`set aside, because parts of it are unreadable: ${file}`)
}

const printVerification = async (result: Verification): Promise<void> => {
  const { sentence } = await import('../../lib/verify.ts')
  for (const message of result.named) print(message)
  if (result.faults > result.named.length) print(`and ${result.faults - result.named.length} more`)
  print(sentence(result))
}
