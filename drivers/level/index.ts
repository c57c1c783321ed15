import { readdir } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { checkArgument, checkOptionNames, type StorageDriver } from '../../lib/storage/index.ts'
import { type Database, overAbstractLevel } from './abstract.ts'
import { damaged, toStorageError } from './errors.ts'
import { type FolderLock, lockFolder } from './folder-lock.ts'
import { hasSpace } from './space.ts'
import { checkTables } from './tables.ts'

/**
 * Required, since an import makes Node parse a CommonJS package a second time, for the names of its exports.
 * Bundlers do not see it: docs/embedding.md says what a host that is bundled does.
 */
const { Level } = createRequire(import.meta.url)('level') as {
  Level: typeof import('classic-level').ClassicLevel
}

/** LevelDB raises lower numbers to this one. */
const MIN_OPEN_FILES = 64
/** classic-level hands the size to LevelDB in 32 bits. */
const MAX_BLOCK_CACHE = 2 ** 32 - 1

/** Options of a LevelDB. */
export interface LevelOptions {
  /**
   * How many of LevelDB's files, mostly of 2 MiB, are mapped into memory at once: at least 64; default 1000.
   */
  openFiles?: number
  /**
   * Bytes of blocks that LevelDB keeps decompressed after a key of them was read, below 4 GiB; default 8 MiB:
   * with 128 MiB, such a read takes a tenth less processor time at best (docs/performance.md).
   */
  blockCache?: number
}

/**
 * Keeps records in a LevelDB folder. Only one driver of one process can have the folder open.
 * @param location the folder; created with its parents when it does not exist
 * @throws AllotError invalid for an argument that is wrong, or an option that does not exist
 */
export const level = (location: string, options: LevelOptions = {}): StorageDriver => {
  const isFolder = typeof location === 'string' && location !== ''
  checkArgument(isFolder, 'location', "a folder, such as './data/store'", location)
  checkOptionNames(options, ['openFiles', 'blockCache'])
  const { openFiles = 1000, blockCache = 8 * 1024 * 1024 } = options
  const isEnough = Number.isInteger(openFiles) && openFiles >= MIN_OPEN_FILES
  checkArgument(isEnough, 'openFiles', `a whole number of at least ${MIN_OPEN_FILES}`, openFiles)
  const isSize = Number.isInteger(blockCache) && blockCache >= 0 && blockCache <= MAX_BLOCK_CACHE
  checkArgument(isSize, 'blockCache', `a whole number from 0 to ${MAX_BLOCK_CACHE}`, blockCache)
  const open = async () => {
    const lock = await lockFolder(location)
    try {
      await refuseWithoutCurrent(location)
      return await openDatabase(lock, { openFiles, blockCache })
    } catch (error) {
      lock.release()
      throw error
    }
  }
  return {
    ...overAbstractLevel(
      'level',
      open,
      (cause) => toStorageError(location, cause),
      () => hasSpace(location),
    ),
    folder: location,
  }
}

/** Before all keys. */
const NO_KEY = new Uint8Array(1)

/** Opens the database. Closing it releases the lock. */
const openDatabase = async (
  { folder, writeOwner, release }: FolderLock,
  { openFiles, blockCache }: Required<LevelOptions>,
): Promise<Database> => {
  const database: Database & { open(): Promise<void>; getProperty(name: string): string } = new Level<
    Uint8Array,
    Uint8Array
  >(folder, {
    keyEncoding: 'view',
    valueEncoding: 'view',
    // LevelDB reserves ten for other files.
    maxOpenFiles: openFiles + 10,
    cacheSize: blockCache,
  })
  await database.open()
  writeOwner()
  const close = database.close.bind(database)
  return Object.assign(database, {
    findDamage: (onDamage: (message: string) => void) =>
      checkTables(folder, database.getProperty('leveldb.sstables'), onDamage),
    async close() {
      // Writes the log as a table, which has checksums: of a log that was cut off later, LevelDB would open
      // the rest without an error. On a full disk the log stays as it is.
      await database.compactRange?.(NO_KEY, NO_KEY).catch(() => undefined)
      // When this rejects, LevelDB is still open. The lock is kept then, since another opener would drop
      // LevelDB's own lock.
      await close()
      release()
    },
  })
}

/**
 * Refuses a folder with tables but without the file CURRENT: LevelDB would create a new database and delete
 * them.
 */
const refuseWithoutCurrent = async (location: string): Promise<void> => {
  const files = await readdir(location).catch((): string[] => [])
  if (!files.includes('CURRENT') && files.some((name) => /\.(ldb|sst|log)$/.test(name)))
    throw damaged(location)
}
