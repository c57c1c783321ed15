/** The layout of the files folder: `<area>/<shard>/<ownerId>/<first two characters of the name>/<name>`. */
import { mkdir, readdir, rename, rm, rmdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ifMissing, isUnchangedFor, syncToDisk } from '../disk.ts'
import { STAGING_FOLDER, toStorageFull } from './staging.ts'

const AREAS = ['lfs', 'packages', 'attachments'] as const

export type FileArea = (typeof AREAS)[number]

/** Identifies a file. */
export interface FilePlace {
  readonly area: FileArea
  /** Id of the repository (LFS objects, attachments) or the account (packages) that the file belongs to. */
  readonly ownerId: number
  /** Chosen by the server, never by a client: hexadecimal digits and dashes. */
  readonly name: string
}

const NAME = /^[0-9a-f][0-9a-f-]{3,99}$/

export const isStoredName = (name: string): boolean => NAME.test(name)

/** @throws Error when the place could lead outside its folder */
export const checkPlace = ({ ownerId, name }: FilePlace): void => {
  if (!isStoredName(name)) throw new Error(`not a name for a stored file: ${JSON.stringify(name)}`)
  if (!Number.isSafeInteger(ownerId)) throw new Error(`not the id of a repository or an account: ${ownerId}`)
}

type Folders = [area: string, shard: string, ownerId: string, prefix: string]

const foldersOf = (place: FilePlace): Folders => {
  checkPlace(place)
  const { area, ownerId, name } = place
  return [area, (ownerId % 256).toString(16).padStart(2, '0'), String(ownerId), name.slice(0, 2)]
}

export const pathOf = (directory: string, place: FilePlace): string =>
  join(directory, ...foldersOf(place), place.name)

/** Inverse of {@link pathOf}, without the directory. @returns undefined when no place has this path */
const placeOf = (path: readonly string[]): FilePlace | undefined => {
  const [area, , ownerId, , name] = path as [FileArea, string, string, string, string]
  if (!AREAS.includes(area) || !isStoredName(name)) return undefined
  const place = { area, ownerId: Number(ownerId), name }
  return foldersOf(place).every((folder, index) => folder === path[index]) ? place : undefined
}

/** Moves a staged file to its place. The file and its folders are durable when this resolves, before its record is saved. */
export const placeFile = async (directory: string, path: string, place: FilePlace): Promise<void> => {
  const folders = foldersOf(place).map((_, index, all) => join(directory, ...all.slice(0, index + 1)))
  await moveInto(path, folders.at(-1)!, place.name).catch((error) => {
    throw toStorageFull(error)
  })
  for (const folder of [...folders.reverse(), directory]) await syncToDisk(folder)
}

/** {@link removeFile} may remove the folder between its creation and the move, or during its creation: then tries again. */
const moveInto = async (path: string, folder: string, name: string, attempts = 100): Promise<void> => {
  try {
    await mkdir(folder, { recursive: true })
    await rename(path, join(folder, name))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || attempts === 0) throw error
    await moveInto(path, folder, name, attempts - 1)
  }
}

/** Removes a file if it exists, and the folders that it leaves empty. */
export const removeFile = async (directory: string, place: FilePlace): Promise<void> => {
  await rm(pathOf(directory, place), { force: true })
  const [area, shard, ownerId, prefix] = foldersOf(place)
  for (const folder of [join(area, shard, ownerId, prefix), join(area, shard, ownerId)])
    await rmdir(join(directory, folder)).catch((error: NodeJS.ErrnoException) => {
      if (!['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes(error.code ?? '')) throw error
    })
}

/** Removes staged files that have not changed for `age` seconds. */
export const removeStale = async (directory: string, age: number): Promise<void> => {
  const folder = join(directory, STAGING_FOLDER)
  for (const name of await readdir(folder).catch(ifMissing([]))) {
    const path = join(folder, name)
    if (await isUnchangedFor(path, age)) await rm(path, { force: true })
  }
}

/** Every file that has its place; reads one folder at a time. */
export async function* listFiles(
  directory: string,
  path: readonly string[] = [],
): AsyncGenerator<FilePlace & { size: number }> {
  const entries = await readdir(join(directory, ...path), { withFileTypes: true }).catch(ifMissing([]))
  for (const entry of entries) {
    const entryPath = [...path, entry.name]
    if (entry.isDirectory() && path.length < 4) yield* listFiles(directory, entryPath)
    const place = entry.isFile() && path.length === 4 ? placeOf(entryPath) : undefined
    const stats = place && (await stat(join(directory, ...entryPath)).catch(ifMissing(undefined)))
    if (place && stats) yield { ...place, size: stats.size }
  }
}
