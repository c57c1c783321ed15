import { statSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { isAbsolute, relative } from 'node:path'
import { level } from '../../drivers/level/index.ts'
import { parseSettings } from '../../drivers/postgres/settings.ts'
import { type OpenAllot, openAllot } from '../../lib/allot.ts'
import { checkDataFolder, foldersIn, storeFolder } from '../../lib/data-folder.ts'
import type { HostParts } from '../../lib/options/index.ts'
import { type StorageDriver, StorageError } from '../../lib/storage/index.ts'
import { UsageError } from '../errors.ts'
import { type Config, readConfig } from './config.ts'

/** Options of every command that opens the store. They take precedence over the configuration file. */
export interface StoreFlags {
  data?: string
  config?: string
  storage?: string
}

export interface StoreLocation {
  config: Config
  /** The data folder. */
  data: string
  /** Value of `--storage`; undefined for a LevelDB in the data folder. Messages use `describeStore`: a URL can hold a password. */
  storage: string | undefined
}

/** @throws AllotError invalid when the data folder holds something else than data of Allot */
export const storeLocation = (flags: StoreFlags): StoreLocation => {
  const config = readConfig(flags.config)
  const data = flags.data ?? config.server.data
  checkDataFolder(data)
  return { config, data, storage: flags.storage ?? config.server.storage }
}

/** Folder of the LevelDB; undefined when the records are stored elsewhere. */
export const levelFolder = ({ storage, data }: StoreLocation): string | undefined =>
  storage === undefined ? storeFolder(data) : /^level:(.+)$/.exec(storage)?.[1]

/**
 * Commands that only read must not create a store.
 * @throws Error when the store doesn't exist, or this user may not see whether it does
 */
export const requireStore = (
  flags: StoreFlags,
  advice = 'name another folder with --data, or a server with --url',
): void => {
  const folder = levelFolder(storeLocation(flags))
  if (folder !== undefined && !storeExists(folder))
    throw new Error(`there is no store in ${folder}: ${advice}`)
}

/** @throws Error when it cannot be known, such as in a folder that this user may not open */
export const storeExists = (folder: string): boolean => {
  try {
    return statSync(folder, { throwIfNoEntry: false }) !== undefined
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const reason = code === 'EACCES' ? 'this user may not open the folder above it' : message
    throw new Error(`${folder} cannot be opened: ${reason}`)
  }
}

export const isPostgres = (storage = ''): boolean => /^postgres(ql)?:/.test(storage)

/** Names the store in messages, without the password of a database. */
export const describeStore = ({ config, data, storage }: StoreLocation): string => {
  if (storage === undefined) return data
  return isPostgres(storage) ? parseSettings(storage, config.storage).where : storage
}

/** Options for the driver that serves the store. */
interface DriverOptions {
  level?: Parameters<typeof level>[1]
  /** Whether other processes may not use the store meanwhile; a LevelDB always has one process. */
  exclusive?: boolean
}

/**
 * @throws UsageError when `--storage` names no driver; the message shows only its scheme, since the rest can hold a password
 */
export const driverFor = async (
  location: StoreLocation,
  { level: levelOptions, exclusive = false }: DriverOptions = {},
): Promise<StorageDriver> => {
  const { storage, config } = location
  if (storage === 'memory:') return (await import('../../drivers/memory/index.ts')).memory()
  if (storage !== undefined && isPostgres(storage))
    return (await import('../../drivers/postgres/index.ts')).postgres(storage, {
      ...config.storage,
      exclusive,
    })
  const folder = levelFolder(location)
  if (folder !== undefined) return level(folder, levelOptions)
  const shown = storage?.replace(/:.+/s, ':…')
  throw new UsageError(`--storage ${shown}: expected level:<folder>, postgres://… or memory:`)
}

/** Folders of git data and files. */
export const foldersOf = ({ config, data }: StoreLocation) => foldersIn({ ...config, data })

/**
 * Creates the data folder, and the folders that are configured outside of it, for the user of the process alone. Folders that
 * exist keep their mode. A folder that cannot be created is reported by the part that needs it.
 */
export const createFolders = async (location: StoreLocation): Promise<void> => {
  const { repositories, files } = foldersOf(location)
  for (const folder of [location.data, ...outside(location.data, repositories, files)])
    await mkdir(folder, { recursive: true, mode: 0o700 }).catch(() => undefined)
}

/** The folders of git data and files that do not lie in the data folder. */
export const outside = (data: string, ...parts: ({ directory: string } | false)[]): string[] =>
  parts.flatMap((part) => {
    if (part === false) return []
    const path = relative(data, part.directory)
    return path.startsWith('..') || isAbsolute(path) ? [part.directory] : []
  })

export interface Opened {
  allot: OpenAllot
  config: Config
  /** The data folder. */
  data: string
  /** Names the store in messages, without the password of a database. */
  description: string
  repositories: ReturnType<typeof foldersIn>['repositories']
}

interface Parts extends Pick<HostParts, 'log' | 'authenticate'> {
  /** Wraps the driver, such as to measure it. */
  wrapDriver?: (driver: StorageDriver, config: Config) => StorageDriver | Promise<StorageDriver>
  /** Whether this process serves; a command needs neither SSH nor background work, which servers on the same store do. */
  isServer?: boolean
}

/** Opens the store for `allot serve`. The caller closes it. */
export const openStore = async (
  location: StoreLocation,
  { wrapDriver, isServer = false, ...parts }: Parts = {},
): Promise<Opened> => {
  const { config, data } = location
  const { server: _, storage: __, api, ...sections } = config
  const stored = await driverFor(location)
  const driver = wrapDriver === undefined ? stored : await wrapDriver(stored, config)
  const folders = foldersOf(location)
  const allot = await openAllot({ ...api, ...sections, ...folders, data, driver, ...parts }, { isServer })
  return { allot, config, data, description: describeStore(location), repositories: folders.repositories }
}

interface CommandParts extends Parts {
  /** What to do instead when another process has the store open, such as `name its server with --url`. */
  alternative?: string
}

/**
 * Opens the store for a command, calls `body` and closes the store.
 * @throws Error with the alternative when another process has the store open
 */
export const withStore = async <T>(
  flags: StoreFlags,
  body: (opened: Opened) => Promise<T>,
  { alternative, ...parts }: CommandParts = {},
): Promise<T> => {
  const opened = await openStore(storeLocation(flags), parts).catch((error: unknown) => {
    const isLocked = error instanceof StorageError && error.reason === 'locked'
    if (!isLocked || alternative === undefined) throw error
    throw new Error(`${error.message}, or ${alternative}`, { cause: error })
  })
  try {
    return await body(opened)
  } finally {
    await opened.allot.close()
  }
}
