import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import { heldByThisProcess, toStorageError } from './errors.ts'
import { lockFolder } from './folder-lock.ts'
import { removeShutdownManifest } from './shutdown-manifest.ts'

/** Where LevelDB's repair puts the files that it could not use, within the store's folder. */
const LOST = 'lost'

/**
 * LevelDB's own repair, for a folder that does not open any more: it keeps every record that it can still read, makes a
 * new list of its files, and moves what it cannot use into the folder `lost`. Newer writes may be missing after it, and
 * things that were deleted may be back.
 * @returns the paths of the files that were moved away
 * @throws {StorageError} locked when this process or another one has it open
 */
export const repairLevel = async (location: string): Promise<string[]> => {
  const lock = await lockFolder(location)
  if (lock === undefined) throw heldByThisProcess(location)
  try {
    return await repaired(location)
  } catch (cause) {
    throw toStorageError(location, cause)
  } finally {
    lock.release()
  }
}

const repaired = async (location: string): Promise<string[]> => {
  await refuseLocked(location)
  const before = new Set(await lostIn(location))
  await ClassicLevel.repair(location)
  // What the files were like when the store was closed is no longer of use.
  await removeShutdownManifest(location)
  return (await lostIn(location)).filter((file) => !before.has(file))
}

/** LevelDB's repair takes no lock itself. This open always fails, and tells whether another process holds LOCK. */
const refuseLocked = async (location: string): Promise<void> => {
  const probe = new ClassicLevel(location, { createIfMissing: false, errorIfExists: true })
  await probe.open().catch((cause: unknown) => {
    const error = toStorageError(location, cause)
    if (error.reason === 'locked') throw error
  })
}

const lostIn = async (location: string): Promise<string[]> => {
  const folder = join(location, LOST)
  return (await readdir(folder).catch((): string[] => [])).map((name) => join(folder, name))
}
