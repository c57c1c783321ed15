import { join } from 'node:path'
import { type Allot, createAllot } from '../lib/allot.ts'
import type { HostParts } from '../lib/options.ts'
import type { StorageDriver } from '../lib/storage/index.ts'
import { type Config, readConfig } from './config/config.ts'
import { driverFor, filesIn, type StoreFlags, storeLocation } from './config/store.ts'

export type { StoreFlags }

interface Parts extends Pick<HostParts, 'log' | 'authenticate'> {
  /** What is put around the driver for a configuration, such as what measures it. */
  around?: (driver: StorageDriver, config: Config) => StorageDriver | Promise<StorageDriver>
}

export interface Opened {
  allot: Allot
  config: Config
  /** The data folder. */
  data: string
  /** Where the repositories lie. */
  repositories: Config['repositories']
}

export const open = async (flags: StoreFlags, { around, ...parts }: Parts = {}): Promise<Opened> => {
  const config = readConfig(flags.config)
  const data = flags.data ?? config.server.data
  const { api, quota, git, attachments, lfs, packages, markdown, cors, login, page } = config
  const driver = await driverFor(flags.storage ?? config.server.storage, data, config.storage)
  const repositories = repositoriesIn(config, data)
  const allot = await createAllot({
    ...api,
    quota,
    git,
    attachments,
    lfs,
    packages,
    markdown,
    cors,
    login,
    page,
    repositories,
    files: filesIn(config, data),
    driver: around === undefined ? driver : await around(driver, config),
    ...parts,
  })
  return { allot, config, data, repositories }
}

/** The repositories lie beside the store, unless the file says where. */
const repositoriesIn = ({ repositories }: Config, data: string): Config['repositories'] => {
  if (repositories === false) return false
  const directory =
    repositories.directory === DEFAULT_DIRECTORY ? join(data, 'repositories') : repositories.directory
  return { ...repositories, directory }
}
const DEFAULT_DIRECTORY = 'data/repositories'

/** What an import goes into: the store and the folders of the repositories and files, none of them opened. */
export const unopened = async (
  flags: StoreFlags,
): Promise<{ driver: StorageDriver; data: string } & Pick<Config, 'repositories' | 'files'>> => {
  const { storage, data, options } = storeLocation(flags)
  const config = readConfig(flags.config)
  const lies = { repositories: repositoriesIn(config, data), files: filesIn(config, data) }
  return { driver: await driverFor(storage, data, options), ...lies, data }
}

/** Opens, works and closes: for commands that come and go. */
export const withStore = async (flags: StoreFlags, work: (allot: Allot) => Promise<void>): Promise<void> => {
  const { allot } = await open(flags)
  try {
    await work(allot)
  } finally {
    await allot.close()
  }
}
