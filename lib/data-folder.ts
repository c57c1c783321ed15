import { readdirSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import type { OnDeletionError } from './disk.ts'
import { invalid } from './errors.ts'
import { FileStorage } from './files/index.ts'
import { GitStorage } from './git/index.ts'
import { GitReader } from './git/objects/reader.ts'
import { Transport } from './git/transport.ts'
import { type Log, logError, standardError } from './http/index.ts'
import { checked } from './options/checks.ts'
import { type AllotOptions, type HostDependencies, HostOptions, type Options } from './options/index.ts'
import { leftoverAge } from './repositories/disk-journal.ts'
import { type StorageDriver, StorageError } from './storage/index.ts'

/*
 * The layout of a data folder, for `createAllot({ data })` and for every command with `--data`. Invariant:
 * each folder below belongs to one part of Allot, and none of them lies inside the folder of a LevelDB.
 */

/** Folder of the records, when no driver stores them elsewhere. */
export const storeFolder = (data: string): string => join(data, 'store')

/**
 * The options of git data and files, each with its folder: in the data folder, unless the option names
 * another one.
 */
export const foldersIn = ({
  data,
  repositories,
  files,
}: Pick<Options, 'data' | 'repositories' | 'files'>) => ({
  repositories: repositories && {
    ...repositories,
    directory: repositories.directory ?? join(data, 'repositories'),
  },
  files: { ...files, directory: files.directory ?? join(data, 'files') },
})
type Folders = ReturnType<typeof foldersIn>

/** Options with the folders of git data and files. */
export type Located = Options & ReturnType<typeof foldersIn>

/** The options of the host that are not data, with a driver and a log in any case. */
export type Host = { readonly [Name in keyof HostDependencies]-?: HostDependencies[Name] | undefined } & {
  readonly driver: StorageDriver
  readonly tokens: boolean
  readonly log: Log
}

/**
 * Checks the options, and finds the driver and the folders.
 * @throws AllotError invalid for wrong options, and for folders that cannot be used
 */
export const locate = async (given: AllotOptions): Promise<{ options: Located; host: Host }> => {
  const {
    driver: own,
    authenticate,
    tokens = true,
    onBeforeStore,
    htmlUrl,
    log = standardError,
    ...data
  } = checked(HostOptions, given, EXAMPLE)
  if (authenticate === undefined) refuseLoginOptions(tokens, data.pages)
  const driver = await driverOf({ driver: own, data: given.data })
  const options: Located = { ...data, ...foldersIn(data) }
  checkOutside(driver.folder, options)
  return { options, host: { driver, authenticate, tokens, onBeforeStore, htmlUrl, log } }
}

/** Options that only a host with its own login has. */
const refuseLoginOptions = (tokens: boolean, { loginUrl, logoutUrl }: Options['pages']): void => {
  const given = { 'tokens: false': !tokens, 'pages.loginUrl': loginUrl, 'pages.logoutUrl': logoutUrl }
  for (const [option, value] of Object.entries(given))
    if (value) throw invalid(`${option} needs the option authenticate, the host's own login`)
}

export const EXAMPLE = "{ data: './data' }"

/**
 * The given driver, or LevelDB in the data folder.
 * @throws AllotError invalid without either, and for a data folder that holds something else
 */
export const driverOf = async ({
  driver,
  data,
}: {
  driver: StorageDriver | undefined
  data: string | undefined
}): Promise<StorageDriver> => {
  if (data !== undefined) checkDataFolder(data)
  if (driver !== undefined) return driver
  if (data !== undefined) return (await import('../drivers/level/index.ts')).level(storeFolder(data))
  throw invalid(
    `the data needs a place: give a folder, such as ${EXAMPLE}, or a driver, such as { driver: memory() }`,
  )
}

/** Files of a LevelDB, with or without records. */
const LEVEL_FILE = /^(?:CURRENT|MANIFEST-\d+|OWNER\.json|.+\.(?:ldb|sst))$/
/**
 * The folders of GitStorage and of FileStorage, which tell the folders of Allot from others of the same name.
 */
const REPOSITORY_BUCKET = /^[0-9a-f]{2}$/
const FILE_AREA = /^(?:arriving|attachments|lfs|packages)$/
/** Hidden files, a configuration file, and what file systems create at their root. */
const IGNORED_ENTRY = /^(?:\..*|.*\.toml|lost\+found)$/

/**
 * Refuses a folder that holds something else than data of Allot. A folder that is empty or does not exist is
 * fine.
 * @throws AllotError invalid that says what was found
 */
export const checkDataFolder = (data: string): void => {
  const entries = entriesOf(data)
  const [store, repositories, files] = ['store', 'repositories', 'files'].map((name) =>
    entriesOf(join(data, name)),
  ) as [string[], string[], string[]]
  const isStore = store.some((name) => LEVEL_FILE.test(name))
  const levelFiles = entries.filter((name) => LEVEL_FILE.test(name))
  if (levelFiles.length > 0) throw invalid(storeMessage(data, levelFiles, entries.includes('store')))
  if (store.length > 0 && !isStore)
    throw invalid(
      `the data folder ${data} holds a folder named store without records of Allot (${listed(store)}): name another folder`,
    )
  const others = entries.filter(
    (name) => !['store', 'repositories', 'files'].includes(name) && !IGNORED_ENTRY.test(name),
  )
  const isData =
    isStore ||
    repositories.some((name) => REPOSITORY_BUCKET.test(name)) ||
    files.some((name) => FILE_AREA.test(name))
  if (others.length > 0 && !isData)
    throw invalid(
      `the data folder ${data} holds other files (${listed(others)}) and no data of Allot: name an empty folder, or one that does not exist yet`,
    )
}

const storeMessage = (data: string, files: readonly string[], hasStore: boolean): string => {
  const found = `the data folder ${data} holds the files of a LevelDB directly (${listed(files)})`
  const parent = dirname(resolve(data))
  if (resolve(data) === storeFolder(parent))
    return `${found}: name the folder that contains it, ${relative('', parent) || '.'}`
  if (hasStore) return `${found} and a folder named store: move those that you do not need to another place`
  return `${found}, and its records belong in ${storeFolder(data)}: move these files there, or name another folder`
}

/** The names in a folder; none when there is no such folder. */
const entriesOf = (folder: string): string[] => {
  try {
    return readdirSync(folder).sort()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOTDIR') return []
    throw invalid(`${folder} is a file, or lies below one: name a folder for the data`)
  }
}

/** The first names of a list. */
const listed = (names: readonly string[]): string =>
  names.length > 3 ? `${names.slice(0, 3).join(', ')}, …` : names.join(', ')

/**
 * Refuses a folder for git data or files inside the folder of the driver.
 * @param store folder that belongs to the driver; undefined when there is none
 * @throws AllotError invalid that names both folders
 */
const checkOutside = (store: string | undefined, { repositories, files }: Folders): void => {
  if (store === undefined) return
  const directories = {
    repositories: repositories ? repositories.directory : undefined,
    files: files.directory,
  }
  for (const [name, directory] of Object.entries(directories))
    if (directory !== undefined && `${resolve(directory)}${sep}`.startsWith(`${resolve(store)}${sep}`))
      throw invalid(
        `${name}.directory: ${directory} lies inside ${store}, which belongs to the driver: give the option data instead of a driver, or set ${name}.directory to a folder outside`,
      )
}

/** Logs a failed removal from the disk, and a store that fails before or after one. */
export const onDeletionError = (log: Log): OnDeletionError => {
  const onDiskError = logError(
    log,
    'what was deleted could not be removed from the disk; a later start tries again',
  )
  const onStoreError = logError(
    log,
    'the store failed while what was deleted was to be removed from the disk; a later start tries again',
  )
  return (error, fields) => (error instanceof StorageError ? onStoreError : onDiskError)(error, fields)
}

/** What this server stores on its own disk, besides records. */
export type DiskStorage = ReturnType<typeof openDiskStorage>

/** Called by `createAllot` with its options. */
export const openDiskStorage = (located: Located, driver: StorageDriver, log: Log) => {
  const { repositories, git, ssh, contents, files } = located
  const handlers = { onDeletionError: onDeletionError(log) }
  const onError = (error: Error, fields: object) =>
    log.info({ err: error, ...fields }, 'a git process failed')
  const onUnchecked = (fields: object) =>
    log.error(fields, 'git has stored a push without its check against the quota and git.maxPushSize')
  const fileStorage = new FileStorage({ ...files, isAlone: !driver.shared, ...handlers })
  const gitReader =
    repositories === false || contents === false
      ? undefined
      : new GitReader({
          ...{ ...repositories, ...contents, maxMemory: git.maxMemory, download: git, onError },
          objectCacheSize: contents.cacheSize / 2,
          responseCacheSize: contents.cacheSize / 2,
        })
  // Changes over the API are pushes, too.
  const isServed = git.http || ssh.port !== undefined || contents !== false
  const age = leftoverAge({ driver })
  return {
    /** Undefined when the host stores the repositories, and reports their sizes. */
    gitStorage: repositories === false ? undefined : new GitStorage({ ...repositories, ...handlers }),
    /**
     * Serves fetches and pushes over HTTP and SSH; undefined when both and the contents over the API are
     * turned off.
     */
    transport:
      repositories === false || !isServed
        ? undefined
        : new Transport({ ...repositories, ...git, leftoverAge: age, onError, onUnchecked }),
    /** Reads contents for the API; undefined when that is turned off. */
    gitReader,
    /** Files other than git data: attachments, LFS objects, packages. */
    fileStorage,
  }
}
