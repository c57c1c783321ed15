import { mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type FilePlace, foldersOf, pathOf, placeOf } from './path.ts'
import { STAGING_FOLDER, toStorageFull } from './staging.ts'

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
