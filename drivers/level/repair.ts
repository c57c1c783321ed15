import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { toStorageError } from './errors.ts'
import { FolderLock } from './folder-lock.ts'
import { removeShutdownManifest } from './shutdown-manifest.ts'

/**
 * Runs LevelDB's repair on a folder that no longer opens, for `allot verify --repair`. It keeps every record
 * that is still readable, writes a new manifest, and moves unusable files into the folder `lost`. Recent
 * writes may be missing afterwards, and deleted records may be back.
 * @returns the paths of the files that were moved
 * @throws StorageError `locked` when this process or another one has the folder open
 */
export const repairLevel = async (location: string): Promise<string[]> => {
  const lock = await FolderLock.acquire(location)
  try {
    await refuseLocked(location)
    const before = new Set(await listLost(location))
    const { ClassicLevel } = await import('classic-level')
    await ClassicLevel.repair(location)
    // The repair has changed the files that the manifest describes.
    await removeShutdownManifest(location)
    return (await listLost(location)).filter((file) => !before.has(file))
  } catch (cause) {
    throw toStorageError(location, cause)
  } finally {
    lock.release()
  }
}

/**
 * LevelDB's repair takes no lock. This open always fails, and its error tells whether another process holds
 * LOCK.
 */
const refuseLocked = async (location: string): Promise<void> => {
  const { ClassicLevel } = await import('classic-level')
  const probe = new ClassicLevel(location, { createIfMissing: false, errorIfExists: true })
  await probe.open().catch((cause: unknown) => {
    const error = toStorageError(location, cause)
    if (error.reason === 'locked') throw error
  })
}

const listLost = async (location: string): Promise<string[]> => {
  const folder = join(location, 'lost')
  return (await readdir(folder).catch((): string[] => [])).map((name) => join(folder, name))
}
