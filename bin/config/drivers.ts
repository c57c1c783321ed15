import type { LevelOptions } from '../../drivers/level/index.ts'
import type { PostgresOptions } from '../../drivers/postgres/settings.ts'
import type { StorageDriver } from '../../lib/storage/index.ts'

/**
 * A driver that `--storage` can name. Its modules are imported when it is used, since the help of every
 * command lists all drivers.
 */
export interface NamedDriver {
  readonly name: 'level' | 'postgres' | 'memory'
  /** Form of its URLs, as the help and errors show it. */
  readonly form: string
  readonly pattern: RegExp
  /** Names the driver in errors. */
  readonly title: string
  /** Whether several processes can use a store at the same time. */
  readonly isShared: boolean
  create(url: string, options: DriverOptions): Promise<StorageDriver>
  /** Names a store in messages. It must not show a password. */
  describe(url: string, options: DriverOptions): Promise<string>
  /** Folder of the records, when they are in one. */
  folder?(url: string): string
  /**
   * Makes the damaged files of the folder readable again.
   * @returns those that it has set aside
   */
  repair?(url: string): Promise<string[]>
}

/** Options of each driver, which takes its own. */
export interface DriverOptions {
  readonly level?: LevelOptions
  /** The section `[storage]` of the configuration file, and more. */
  readonly postgres?: PostgresOptions
}

const folderOfLevel = (url: string): string => url.slice('level:'.length)

/** The drivers that `--storage` can name. */
const DRIVERS: readonly NamedDriver[] = [
  {
    name: 'level',
    form: 'level:<folder>',
    pattern: /^level:./,
    title: 'LevelDB',
    isShared: false,
    create: async (url, options) =>
      (await import('../../drivers/level/index.ts')).level(folderOfLevel(url), options.level),
    describe: async (url) => url,
    folder: folderOfLevel,
    repair: async (url) => (await import('../../drivers/level/repair.ts')).repairLevel(folderOfLevel(url)),
  },
  {
    name: 'postgres',
    form: 'postgres://…',
    pattern: /^postgres(ql)?:/,
    title: 'PostgreSQL',
    isShared: true,
    create: async (url, options) =>
      (await import('../../drivers/postgres/index.ts')).postgres(url, options.postgres),
    describe: async (url, options) =>
      (await import('../../drivers/postgres/settings.ts')).parseSettings(url, options.postgres ?? {}).where,
  },
  {
    name: 'memory',
    form: 'memory:',
    pattern: /^memory:$/,
    title: 'a store in memory',
    isShared: false,
    create: async () => (await import('../../drivers/memory/index.ts')).memory(),
    describe: async (url) => url,
  },
]

/** The driver for a URL of `--storage`; undefined when there is none. */
export const findDriver = (url: string): NamedDriver | undefined =>
  DRIVERS.find(({ pattern }) => pattern.test(url))

/**
 * The forms of `--storage`, as in `a, b or c`.
 * @param quote character around each
 */
export const storageForms = (quote = ''): string => listForms(DRIVERS, quote)

/** The forms of those that several processes can use. */
export const sharedForms = (): string => listForms(DRIVERS.filter(({ isShared }) => isShared))

const listForms = (drivers: readonly NamedDriver[], quote = ''): string => {
  const forms = drivers.map(({ form }) => quote + form + quote)
  const last = forms.pop()
  return forms.length === 0 ? `${last}` : `${forms.join(', ')} or ${last}`
}
