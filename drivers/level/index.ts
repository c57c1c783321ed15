import { readdir } from 'node:fs/promises'
import { Level } from 'level'
import type { StorageDriver } from '../../lib/storage/index.ts'
import { type Database, overAbstractLevel } from './abstract.ts'
import { forgetCleanStop, noteCleanStop, refuseChanged } from './clean-stop.ts'
import { damaged, explain } from './explain.ts'

/**
 * Records in a LevelDB folder, which belongs to one process at a time.
 * @param location a folder; it is made, with its parents, when it does not exist.
 * @param options.openFiles how many of its files, of 2 MiB mostly, are mapped into memory at a time: at least 64, and
 *   1000 when absent
 */
export const level = (location: string, { openFiles = 1000 }: { openFiles?: number } = {}): StorageDriver =>
  overAbstractLevel(
    'level',
    async () => {
      await refuseHeadless(location)
      await refuseChanged(location)
      return noted(
        new Level<Uint8Array, Uint8Array>(location, {
          keyEncoding: 'view',
          valueEncoding: 'view',
          // LevelDB keeps ten of them for itself.
          maxOpenFiles: openFiles + 10,
        }),
        location,
      )
    },
    (cause) => explain(location, cause),
  )

/** The database, which leaves a note of its clean stop behind. */
const noted = (database: Database, location: string): Database => {
  const [open, close] = [database.open.bind(database), database.close.bind(database)]
  return Object.assign(database, {
    async open() {
      await open()
      await forgetCleanStop(location)
    },
    async close() {
      await close()
      await noteCleanStop(location)
    },
  })
}

/** Where CURRENT is gone LevelDB begins anew and deletes the tables that it finds. */
const refuseHeadless = async (location: string): Promise<void> => {
  const files = await readdir(location).catch((): string[] => [])
  if (!files.includes('CURRENT') && files.some((name) => /\.(ldb|sst|log)$/.test(name)))
    throw damaged(location)
}
