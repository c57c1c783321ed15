import { join } from 'node:path'
import { level } from '../drivers/level/index.ts'
import { type Allot, createAllot } from '../lib/allot.ts'
import type { Log } from '../lib/http/index.ts'
import type { StorageDriver } from '../lib/storage/index.ts'
import { type Config, readConfig } from './config.ts'
import { Usage } from './usage.ts'

/** What every command that needs the store takes; what is said here wins over the file. */
export interface StoreFlags {
  data?: string
  config?: string
  storage?: string
}

export interface Opened {
  allot: Allot
  config: Config
  /** The data folder. */
  data: string
}

export const open = async (flags: StoreFlags, log?: Log): Promise<Opened> => {
  const config = readConfig(flags.config)
  const data = flags.data ?? config.server.data
  const { api, quota, git, markdown, cors, login } = config
  const allot = await createAllot({
    ...api,
    quota,
    git,
    markdown,
    cors,
    login,
    repositories: repositoriesIn(config, data),
    driver: await driverFor(flags.storage ?? config.server.storage, data, config.storage),
    ...(log === undefined ? {} : { log }),
  })
  return { allot, config, data }
}

/** The repositories lie beside the store, unless the file says where. */
const repositoriesIn = ({ repositories }: Config, data: string): Config['repositories'] => {
  if (repositories === false) return false
  const directory =
    repositories.directory === DEFAULT_DIRECTORY ? join(data, 'repositories') : repositories.directory
  return { ...repositories, directory }
}
const DEFAULT_DIRECTORY = 'data/repositories'

/** What an import goes into: the store and the folder of the repositories, neither of them opened. */
export const unopened = async (
  flags: StoreFlags,
): Promise<{ driver: StorageDriver; repositories: Config['repositories']; data: string }> => {
  const { storage, data, options } = placeOf(flags)
  const repositories = repositoriesIn(readConfig(flags.config), data)
  return { driver: await driverFor(storage, data, options), repositories, data }
}

/** Where the records lie, for commands that need nothing else. */
export interface Place {
  storage: string | undefined
  data: string
  options: Config['storage']
}

export const placeOf = (flags: StoreFlags): Place => {
  const { server, storage: options } = readConfig(flags.config)
  return { storage: flags.storage ?? server.storage, data: flags.data ?? server.data, options }
}

/** The folder of a LevelDB; undefined for records that lie elsewhere. */
export const folderOf = (storage: string | undefined, data: string): string | undefined =>
  storage === undefined ? join(data, 'store') : /^level:(.+)$/.exec(storage)?.[1]

export const driverFor = async (
  storage: string | undefined,
  data: string,
  options: Config['storage'],
): Promise<StorageDriver> => {
  if (storage === 'memory:') return (await import('../drivers/memory/index.ts')).memory()
  if (storage !== undefined && /^postgres(ql)?:/.test(storage))
    return (await import('../drivers/postgres/index.ts')).postgres(storage, options)
  const folder = folderOf(storage, data)
  if (folder === undefined)
    throw new Usage(
      `--storage ${withoutPassword(storage ?? '')}: expected level:<folder>, postgres://… or memory:`,
    )
  return level(folder)
}

const withoutPassword = (storage: string): string => storage.replace(/:[^:@/]*@/, ':…@')

/** Opens, works and closes: for commands that come and go. */
export const withStore = async (flags: StoreFlags, work: (allot: Allot) => Promise<void>): Promise<void> => {
  const { allot } = await open(flags)
  try {
    await work(allot)
  } finally {
    await allot.close()
  }
}
