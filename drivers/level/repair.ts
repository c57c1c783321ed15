import { mkdtemp, readdir, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { toStorageError } from './errors.ts'
import { lockFolder } from './folder-lock.ts'

/**
 * Runs LevelDB's repair on a folder that no longer opens, for `allot verify --repair`. It keeps every record
 * that is still readable, writes a new manifest, and moves unusable files into the folder `lost`. Recent
 * writes may be missing afterwards, and deleted records may be back.
 * @returns the paths of the files that were moved
 * @throws StorageError `locked` when this process or another one has the folder open
 */
export const repairLevel = async (location: string): Promise<string[]> => {
  const { folder, writeOwner, release } = await lockFolder(location)
  try {
    return await whileLocked(folder, async () => {
      writeOwner()
      const before = new Set(await listLost(location))
      const { ClassicLevel } = await import('classic-level')
      await ClassicLevel.repair(location)
      return (await listLost(location)).filter((file) => !before.has(file))
    })
  } catch (cause) {
    throw toStorageError(location, cause)
  } finally {
    release()
  }
}

/**
 * LevelDB's repair takes no lock. So another database is open meanwhile, whose file LOCK is a link to that of
 * the folder: opening it fails while another process has the folder open, and keeps others out.
 */
const whileLocked = async <T>(folder: string, body: () => Promise<T>): Promise<T> => {
  const { ClassicLevel } = await import('classic-level')
  const beside = await mkdtemp(join(folder, 'repair-'))
  try {
    await symlink(join(folder, 'LOCK'), join(beside, 'LOCK'))
    const guard = new ClassicLevel(beside)
    await guard.open()
    return await body().finally(() => guard.close())
  } finally {
    await rm(beside, { recursive: true })
  }
}

const listLost = async (location: string): Promise<string[]> => {
  const folder = join(location, 'lost')
  return (await readdir(folder).catch((): string[] => [])).map((name) => join(folder, name))
}
