import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import { forgetCleanStop } from './clean-stop.ts'
import { explain } from './explain.ts'

/** Where LevelDB's repair puts the files that it could not use, within the store's folder. */
const LOST = 'lost'

/**
 * LevelDB's own repair, for a folder that does not open any more: it keeps every record that it can still read, makes a
 * new list of its files, and moves what it cannot use into the folder `lost`. Newer writes may be missing after it, and
 * things that were deleted may be back.
 * @returns the paths of the files that were moved away
 * @throws {StorageError} locked when another process has it
 */
export const repairLevel = async (location: string): Promise<string[]> => {
  const before = new Set(await lostIn(location))
  try {
    await ClassicLevel.repair(location)
  } catch (cause) {
    throw explain(location, cause)
  }
  // What the files were like when the store was closed is no longer of use.
  await forgetCleanStop(location)
  return (await lostIn(location)).filter((file) => !before.has(file))
}

const lostIn = async (location: string): Promise<string[]> => {
  const folder = join(location, LOST)
  return (await readdir(folder).catch((): string[] => [])).map((name) => join(folder, name))
}
