import { mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { STAGING_FOLDER, toStorageFull } from './staging.ts'

/** What keeps files: each area names its files as it likes, and knows what their keeper is a number of. */
export type FileArea = 'lfs' | 'packages' | 'attachments'

/** Where a file lies. */
export interface FilePlace {
  readonly area: FileArea
  /** The repository, or the account, that the file goes with. */
  readonly keeper: number
  /** Of the server's own choosing, never a client's: hexadecimal digits and dashes. */
  readonly name: string
}

const NAME = /^[0-9a-f][0-9a-f-]{3,99}$/

export const isStoredName = (name: string): boolean => NAME.test(name)

/** @throws Error for what no place may be called */
export const checkPlace = ({ keeper, name }: FilePlace): void => {
  if (!isStoredName(name) || !Number.isSafeInteger(keeper)) throw new Error(`no name for a file: ${name}`)
}

/** The folders down to the file, below the directory of all: those of one keeper are in one, and none holds too many. */
export const foldersOf = (place: FilePlace): [string, string, string, string] => {
  checkPlace(place)
  const { area, keeper, name } = place
  return [area, (keeper % 256).toString(16).padStart(2, '0'), String(keeper), name.slice(0, 2)]
}

export const pathOf = (directory: string, place: FilePlace): string =>
  join(directory, ...foldersOf(place), place.name)

/** The place that a path below the directory stands for; undefined when it is none. */
export const placeOf = (path: readonly string[]): FilePlace | undefined => {
  const [area, , keeper, , name] = path as [FileArea, string, string, string, string]
  if (!['lfs', 'packages', 'attachments'].includes(area) || !NAME.test(name)) return undefined
  const place = { area, keeper: Number(keeper), name }
  return foldersOf(place).every((folder, at) => folder === path[at]) ? place : undefined
}

/** Gives a content its name. Both are on the disk when this resolves, for their record will be. */
export const putFile = async (directory: string, path: string, place: FilePlace): Promise<void> => {
  const folders = foldersOf(place).map((_, at, all) => join(directory, ...all.slice(0, at + 1)))
  await moved(path, folders.at(-1)!, pathOf(directory, place)).catch((error) => {
    throw toStorageFull(error)
  })
  for (const folder of [...folders.reverse(), directory]) await sync(folder)
}

/** An empty folder may be taken away between its making and its use, by {@link removeFile}; also while it is made. */
const moved = async (path: string, folder: string, to: string, attempts = 100): Promise<void> => {
  try {
    await mkdir(folder, { recursive: true })
    await rename(path, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || attempts === 0) throw error
    await moved(path, folder, to, attempts - 1)
  }
}

/** Windows knows no syncing of folders. */
const sync = async (folder: string): Promise<void> => {
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r').catch(absentAs(undefined))
  await handle?.sync().finally(() => handle.close())
}

/** Removes a file, and the folders that were for nothing else. Fine when there is none. */
export const removeFile = async (directory: string, place: FilePlace): Promise<void> => {
  await rm(pathOf(directory, place), { force: true })
  const [area, shard, keeper, first] = foldersOf(place)
  for (const folder of [join(area, shard, keeper, first), join(area, shard, keeper)])
    await rmdir(join(directory, folder)).catch(notEmpty)
}

const notEmpty = (error: NodeJS.ErrnoException): void => {
  if (!['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes(error.code ?? '')) throw error
}

/** Removes contents that never were given a name, as far as nobody has touched them for `age` seconds. */
export const removeStale = async (directory: string, age: number): Promise<void> => {
  const folder = join(directory, STAGING_FOLDER)
  for (const name of await readdir(folder).catch(absentAs([]))) {
    const { mtimeMs } = await stat(join(folder, name)).catch(absentAs({ mtimeMs: Number.POSITIVE_INFINITY }))
    if (mtimeMs <= Date.now() - age * 1000) await rm(join(folder, name), { force: true })
  }
}

/** Every file that has a name, a folder at a time. */
export async function* filesIn(
  directory: string,
  path: readonly string[] = [],
): AsyncGenerator<FilePlace & { size: number }> {
  const entries = await readdir(join(directory, ...path), { withFileTypes: true }).catch(absentAs([]))
  for (const entry of entries) {
    const below = [...path, entry.name]
    if (entry.isDirectory() && path.length < 4) yield* filesIn(directory, below)
    const place = entry.isFile() && path.length === 4 ? placeOf(below) : undefined
    const found = place && (await stat(join(directory, ...below)).catch(absentAs(undefined)))
    if (place && found) yield { ...place, size: found.size }
  }
}

export const absentAs =
  <T>(value: T) =>
  (error: NodeJS.ErrnoException): T => {
    if (error.code === 'ENOENT') return value
    throw error
  }
