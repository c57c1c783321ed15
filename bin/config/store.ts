import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { level } from '../../drivers/level/index.ts'
import { type OpenAllot, openAllot } from '../../lib/allot.ts'
import type { HostParts } from '../../lib/options.ts'
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
  /** As `--storage` takes it; undefined for a LevelDB in the data folder. */
  storage: string | undefined
}

export const storeLocation = (flags: StoreFlags): StoreLocation => {
  const config = readConfig(flags.config)
  const { data, storage } = config.server
  return { config, data: flags.data ?? data, storage: flags.storage ?? storage }
}

/** Folder of the LevelDB; undefined when the records are stored elsewhere. */
export const levelFolder = ({ storage, data }: StoreLocation): string | undefined =>
  storage === undefined ? join(data, 'store') : /^level:(.+)$/.exec(storage)?.[1]

/** @throws Error when the store doesn't exist. Commands that only read must not create it. */
export const requireStore = (
  flags: StoreFlags,
  advice = 'name another folder with --data, or a server with --url',
): void => {
  const folder = levelFolder(storeLocation(flags))
  if (folder !== undefined && !existsSync(folder))
    throw new Error(`there is no store in ${folder}: ${advice}`)
}

export const isPostgres = (storage = ''): boolean => /^postgres(ql)?:/.test(storage)

/**
 * @param levelOptions options of the driver when it is LevelDB
 * @throws UsageError when `--storage` names no driver; the message hides a password
 */
export const driverFor = async (
  location: StoreLocation,
  levelOptions?: Parameters<typeof level>[1],
): Promise<StorageDriver> => {
  const { storage, config } = location
  if (storage === 'memory:') return (await import('../../drivers/memory/index.ts')).memory()
  if (storage !== undefined && isPostgres(storage))
    return (await import('../../drivers/postgres/index.ts')).postgres(storage, config.storage)
  const folder = levelFolder(location)
  if (folder !== undefined) return level(folder, levelOptions)
  const shown = storage?.replace(/:[^:@/]*@/, ':…@')
  throw new UsageError(`--storage ${shown}: expected level:<folder>, postgres://… or memory:`)
}

/**
 * Options of the repositories and of the files. Both are in the data folder, unless the configuration gives them a folder
 * other than the library's default.
 */
export const foldersIn = ({ config, data }: StoreLocation): Pick<Config, 'repositories' | 'files'> => {
  const defaults = readConfig(undefined)
  const inData = <T extends { directory: string }>(options: T, fallback: T, name: string): T =>
    options.directory === fallback.directory ? { ...options, directory: join(data, name) } : options
  const { repositories, files } = config
  return {
    repositories: repositories && inData(repositories, defaults.repositories || repositories, 'repositories'),
    files: inData(files, defaults.files, 'files'),
  }
}

export interface Opened {
  allot: OpenAllot
  config: Config
  /** The data folder. */
  data: string
  repositories: Config['repositories']
}

interface Parts extends Pick<HostParts, 'log' | 'authenticate'> {
  /** Wraps the driver, such as to measure it. */
  wrapDriver?: (driver: StorageDriver, config: Config) => StorageDriver | Promise<StorageDriver>
}

/** Opens the store for `allot serve`. The caller closes it. */
export const openStore = async (flags: StoreFlags, { wrapDriver, ...parts }: Parts = {}): Promise<Opened> => {
  const location = storeLocation(flags)
  const { config, data } = location
  const { server: _, storage: __, api, ...sections } = config
  const stored = await driverFor(location)
  const driver = wrapDriver === undefined ? stored : await wrapDriver(stored, config)
  const folders = foldersIn(location)
  const allot = await openAllot({ ...api, ...sections, ...folders, driver, ...parts })
  return { allot, config, data, repositories: folders.repositories }
}

/**
 * Opens the store for a command, calls `body` and closes the store.
 * @throws StorageError that advises to use the server when a server has the store open
 */
export const withStore = async <T>(
  flags: StoreFlags,
  body: (opened: Opened) => Promise<T>,
  parts?: Parts,
): Promise<T> => {
  const opened = await openStore(flags, parts).catch((error: unknown) => {
    if (!(error instanceof StorageError) || error.reason !== 'locked') throw error
    throw new Error(`${error.message} (with --url and --token)`, { cause: error })
  })
  try {
    return await body(opened)
  } finally {
    await opened.allot.close()
  }
}
