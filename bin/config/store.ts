import { statSync } from 'node:fs'
import { rmdir } from 'node:fs/promises'
import { isAbsolute, relative } from 'node:path'
import { type OpenAllot, openAllot } from '../../lib/allot.ts'
import { checkDataFolder, foldersIn, storeFolder } from '../../lib/data-folder.ts'
import type { ExpectedOwners } from '../../lib/engine.ts'
import type { HostDependencies } from '../../lib/options/index.ts'
import { makeFolder, type StorageDriver, StorageError } from '../../lib/storage/index.ts'
import { UsageError } from '../errors.ts'
import { type Config, readConfig, toSnakeCase } from './config.ts'
import { type DriverOptions, findDriver, type NamedDriver, storageForms } from './drivers.ts'
import { hasVariables } from './environment.ts'

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
  /**
   * Value of `--storage`; undefined for a LevelDB in the data folder. Messages use `describeStore`: a URL can
   * hold a password.
   */
  storage: string | undefined
  /** Whether a file or the environment has the limits of the server. */
  isConfigured: boolean
}

/** @throws AllotError invalid when the data folder holds something else than data of Allot */
export const storeLocation = (flags: StoreFlags): StoreLocation => {
  const config = readConfig(flags.config)
  const data = flags.data ?? config.server.data
  checkDataFolder(data)
  const storage = flags.storage ?? config.server.storage
  return { config, data, storage, isConfigured: flags.config !== undefined || hasVariables('quota') }
}

/** The value of `--storage`, or that of the LevelDB in the data folder. */
const urlOf = ({ storage, data }: StoreLocation): string => storage ?? `level:${storeFolder(data)}`

/** The driver of a store, and the URL that it is called with. */
export interface ChosenDriver extends NamedDriver {
  readonly url: string
}

/**
 * @throws UsageError when `--storage` names no driver; the message shows only its scheme, since the rest can
 * hold a password
 * @throws Error when the configuration has options of PostgreSQL and the driver is another one
 */
export const chosenDriver = (location: StoreLocation): ChosenDriver => {
  const url = urlOf(location)
  const driver = findDriver(url)
  if (driver === undefined)
    throw new UsageError(`--storage ${url.replace(/:.+/s, ':…')}: expected ${storageForms()}`)
  const [option] = Object.keys(location.config.storage)
  if (option !== undefined && driver.name !== 'postgres')
    throw new Error(
      `[storage] ${toSnakeCase(option)}: the section is for PostgreSQL, and the records are in ${driver.title}: remove it, or name a database with storage = "postgres://…" under [server]`,
    )
  return { ...driver, url }
}

/** Folder of the records; undefined when they are stored elsewhere. */
export const recordsFolder = (location: StoreLocation): string | undefined => {
  const url = urlOf(location)
  return findDriver(url)?.folder?.(url)
}

/**
 * Commands that only read must not create a store.
 * @throws Error when the store doesn't exist, or this user may not see whether it does
 */
export const requireStore = (
  flags: StoreFlags,
  advice = 'name another folder with --data, or a server with --url',
): void => {
  const folder = recordsFolder(storeLocation(flags))
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

/** Names the store in messages, without the password of a database. */
export const describeStore = async (location: StoreLocation): Promise<string> => {
  if (location.storage === undefined) return location.data
  const { describe, url } = chosenDriver(location)
  return describe(url, { postgres: location.config.storage })
}

/** @throws UsageError or Error, as {@link chosenDriver} */
export const driverFor = async (
  location: StoreLocation,
  options: DriverOptions = {},
): Promise<StorageDriver> => {
  const { create, url } = chosenDriver(location)
  return create(url, { ...options, postgres: { ...location.config.storage, ...options.postgres } })
}

/** Folders of git data and files. */
export const foldersOf = ({ config, data }: StoreLocation) => foldersIn({ ...config, data })

/**
 * Creates the data folder, and the folders that are configured outside of it, for the user of the process
 * alone. Folders that exist keep their mode. A folder that cannot be created is reported by the part that
 * needs it.
 * @returns those that did not exist
 */
const createFolders = async (location: StoreLocation): Promise<string[]> => {
  const { repositories, files } = foldersOf(location)
  const created: string[] = []
  for (const folder of [location.data, ...outside(location.data, repositories, files)])
    if (await makeFolder(folder, 0o700).catch(() => false)) created.push(folder)
  return created
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

interface OpenOptions extends Pick<HostDependencies, 'log' | 'authenticate'> {
  /**
   * Whether this process serves; a command needs neither SSH nor background work, which servers on the same
   * store do.
   */
  isServer?: boolean
  /** `either` for a command that also works with a store of `createQuota`. */
  owners?: ExpectedOwners
}

/** Opens an Allot on a store. The caller closes it. */
export const openAllotAt = async (
  location: StoreLocation,
  { isServer = false, owners = 'accounts', ...options }: OpenOptions = {},
): Promise<Opened> => {
  const { config, data, isConfigured } = location
  const { server: _, storage: __, api, ...sections } = config
  const driver = await driverFor(location)
  const created = isServer ? await createFolders(location) : []
  const folders = foldersOf(location)
  const quota = isServer || isConfigured ? sections.quota : undefined
  const given = { ...api, ...sections, quota, ...folders, data, driver, ...options }
  const allot = await openAllot(given, { isServer, owners }).catch(async (error) => {
    // A store that cannot be opened leaves nothing behind. Only empty folders can be removed so.
    for (const folder of created) await rmdir(folder).catch(() => undefined)
    throw error
  })
  return {
    allot,
    config,
    data,
    description: await describeStore(location),
    repositories: folders.repositories,
  }
}

interface CommandOptions extends OpenOptions {
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
  { alternative, ...options }: CommandOptions = {},
): Promise<T> => {
  const opened = await openAllotAt(storeLocation(flags), options).catch((error: unknown) => {
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
