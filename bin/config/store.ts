import { join } from 'node:path'
import { level } from '../../drivers/level/index.ts'
import type { StorageDriver } from '../../lib/storage/index.ts'
import { UsageError } from '../usage-error.ts'
import { type Config, readConfig } from './config.ts'

/** What every command that needs the store takes; what is said here wins over the file. */
export interface StoreFlags {
  data?: string
  config?: string
  storage?: string
}

/** Where the records lie, for commands that need nothing else. */
export interface StoreLocation {
  storage: string | undefined
  data: string
  options: Config['storage']
}

export const storeLocation = (flags: StoreFlags): StoreLocation => {
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
  if (storage === 'memory:') return (await import('../../drivers/memory/index.ts')).memory()
  if (storage !== undefined && /^postgres(ql)?:/.test(storage))
    return (await import('../../drivers/postgres/index.ts')).postgres(storage, options)
  const folder = folderOf(storage, data)
  if (folder === undefined)
    throw new UsageError(
      `--storage ${withoutPassword(storage ?? '')}: expected level:<folder>, postgres://… or memory:`,
    )
  return level(folder)
}

const withoutPassword = (storage: string): string => storage.replace(/:[^:@/]*@/, ':…@')

/** The files lie beside the store, unless the file says where. */
export const filesIn = ({ files }: Config, data: string): Config['files'] =>
  files.directory === DEFAULT_FILES ? { ...files, directory: join(data, 'files') } : files
const DEFAULT_FILES = 'data/files'
