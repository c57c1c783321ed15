import { readdir } from 'node:fs/promises'
import { Level } from 'level'
import type { StorageDriver } from '../../lib/storage/index.ts'
import { type Database, overAbstractLevel } from './abstract.ts'
import { damaged, heldByThisProcess, toStorageError } from './errors.ts'
import { type FolderLock, lockFolder } from './folder-lock.ts'
import { checkShutdownManifest, removeShutdownManifest, writeShutdownManifest } from './shutdown-manifest.ts'

/**
 * Records in a LevelDB folder, which is open once at a time: in one process, and in one place of it.
 * @param location a folder; it is made, with its parents, when it does not exist.
 * @param options.openFiles how many of its files, of 2 MiB mostly, are mapped into memory at a time: at least 64, and
 *   1000 when absent
 */
export const level = (location: string, { openFiles = 1000 }: { openFiles?: number } = {}): StorageDriver =>
  overAbstractLevel(
    'level',
    async () => {
      const lock = await lockFolder(location)
      if (lock === undefined) throw heldByThisProcess(location)
      try {
        await refuseHeadless(location)
        await checkShutdownManifest(location)
        return await opened(lock, openFiles)
      } catch (error) {
        lock.release()
        throw error
      }
    },
    (cause) => toStorageError(location, cause),
  )

/** The database, which holds the lock until it is closed, and leaves a note of its clean stop behind. */
const opened = async (lock: FolderLock, openFiles: number): Promise<Database> => {
  const { folder } = lock
  const database = new Level<Uint8Array, Uint8Array>(folder, {
    keyEncoding: 'view',
    valueEncoding: 'view',
    // LevelDB keeps ten of them for itself.
    maxOpenFiles: openFiles + 10,
  })
  await database.open()
  await removeShutdownManifest(folder)
  lock.note()
  const close = database.close.bind(database)
  return Object.assign(database, {
    async close() {
      lock.forget()
      await close()
      await writeShutdownManifest(folder)
      lock.release()
    },
  })
}

/** Where CURRENT is gone LevelDB begins anew and deletes the tables that it finds. */
const refuseHeadless = async (location: string): Promise<void> => {
  const files = await readdir(location).catch((): string[] => [])
  if (!files.includes('CURRENT') && files.some((name) => /\.(ldb|sst|log)$/.test(name)))
    throw damaged(location)
}
