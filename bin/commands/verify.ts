import { existsSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { level } from '../../drivers/level/index.ts'
import { repairLevel } from '../../drivers/level/repair.ts'
import { createFileStore, type FileStore } from '../../lib/files/index.ts'
import { type StorageDriver, StorageError } from '../../lib/storage/index.ts'
import { type Repaired, repair, sentence, type Verification, verify } from '../../lib/verify.ts'
import { readConfig } from '../config/config.ts'
import { driverFor, filesIn, folderOf, type StoreFlags, storeLocation } from '../config/store.ts'
import { createProgressBar, withProgressBar } from '../terminal/progress.ts'

/**
 * A heap that stays small and is cleaned often: what is read is looked at once and dropped, and by default several times
 * as much would lie about. Only for a process like this one, which comes and goes. (To keep the space for what is new from
 * growing too would save 20 MiB more, and take a fifth longer.)
 */
const keepSmall = (): void => setFlagsFromString('--optimize-for-size')

/** Every file is read through once, so that none is worth keeping in memory. */
const FEW = { openFiles: 64 }

interface Flags extends StoreFlags {
  repair?: boolean
}

export const verifyStore = async ({ repair: isRepair = false, ...flags }: Flags): Promise<void> => {
  keepSmall()
  const { storage, data, options } = storeLocation(flags)
  const folder = folderOf(storage, data)
  // Opening would make it.
  if (folder !== undefined && !existsSync(folder)) throw new Error(`there is no store in ${folder}`)
  const driver = folder === undefined ? await driverFor(storage, data, options) : level(folder, FEW)
  try {
    const files = createFileStore(filesIn(readConfig(flags.config), data))
    if (isRepair) await repairIn(driver, files, folder)
    else await verifyIn(driver, files)
  } finally {
    await driver.close()
  }
}

const verifyIn = async (driver: StorageDriver, files: FileStore): Promise<void> => {
  await driver.open()
  const found = await withProgressBar(createProgressBar('recounting'), (told) => verify(driver, files, told))
  tell(found)
  if (found.faults > 0)
    throw new Error('not everything agrees: `allot verify --repair` mends what follows from records')
}

const repairIn = async (
  driver: StorageDriver,
  files: FileStore,
  folder: string | undefined,
): Promise<void> => {
  const { repaired, named, after } = await opened(driver, files, folder)
  for (const one of named) process.stdout.write(`mended: ${one}\n`)
  if (repaired > named.length) process.stdout.write(`mended: ${repaired - named.length} more\n`)
  tell(after)
  if (after.faults > 0)
    throw new Error(
      'what is left does not follow from other records, so that nothing can mend it but a person, or a backup',
    )
}

/** The repair of a store that opens; of one that does not, LevelDB's own comes first. */
const opened = async (
  driver: StorageDriver,
  files: FileStore,
  folder: string | undefined,
): Promise<Repaired> => {
  const mend = async () => {
    await driver.open()
    return withProgressBar(createProgressBar('mending'), (told) => repair(driver, files, told))
  }
  try {
    return await mend()
  } catch (error) {
    if (folder === undefined || !(error instanceof StorageError) || error.reason !== 'corrupt') throw error
    await driver.close()
    await salvage(folder)
    return mend()
  }
}

const salvage = async (folder: string): Promise<void> => {
  const say = (line: string) => process.stderr.write(`${line}\n`)
  say(
    `${folder} is damaged: LevelDB's own repair keeps what it can read. The newest writes may be lost, and what`,
  )
  say('was deleted may be back; restore a backup instead if there is one that is new enough.')
  const lost = await repairLevel(folder)
  for (const file of lost) say(`set aside, with whatever could not be read of it: ${file}`)
}

const tell = (found: Verification): void => {
  for (const one of found.named) process.stdout.write(`${one}\n`)
  if (found.faults > found.named.length)
    process.stdout.write(`and ${found.faults - found.named.length} more\n`)
  process.stdout.write(`${sentence(found)}\n`)
}
