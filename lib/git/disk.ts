import { open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** Repositories are found by their number alone, so that renaming and transferring one moves no file. */
export const folderOf = (directory: string, id: number): string =>
  join(directory, (id % 256).toString(16).padStart(2, '0'), `${id}.git`)

/**
 * The sum of the sizes of all files below a folder, in bytes: what they hold, not what the file system sets aside. What a
 * push has brought so far is not the repository's yet.
 */
export const sizeOf = async (folder: string): Promise<number> => {
  const entries = await readdir(folder, { withFileTypes: true }).catch(absentAs([]))
  const sizes = entries.map(async (entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return isQuarantine(path) ? 0 : sizeOf(path)
    return entry.isFile() ? (await stat(path).catch(absentAs({ size: 0 }))).size : 0
  })
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}

/** Where git keeps the objects of a push until it has looked at them all. */
const isQuarantine = (path: string): boolean => /\/objects\/(?:tmp_objdir-|incoming-)[^/]*$/.test(path)

/** Gives a finished folder its name; both are on the disk when this resolves, for its record will be. */
export const place = async (unfinished: string, folder: string): Promise<void> => {
  const entries = await readdir(unfinished, { withFileTypes: true, recursive: true })
  const within = entries.filter((entry) => entry.isFile() || entry.isDirectory())
  await Promise.all([unfinished, ...within.map((entry) => join(entry.parentPath, entry.name))].map(sync))
  await rename(unfinished, folder)
  await Promise.all([dirname(folder), dirname(dirname(folder))].map(sync))
}

/** Windows knows no syncing of folders, and there git's own must do. */
const sync = async (path: string): Promise<void> => {
  if (process.platform === 'win32') return
  const handle = await open(path, 'r')
  await handle.sync().finally(() => handle.close())
}

/** First out of the way, then deleted: a kill in between leaves nothing that looks like a repository. */
export const removeFolder = async (folder: string): Promise<void> => {
  const aside = `${folder}${DISCARDED}`
  await rename(folder, aside).catch(absentAs(undefined))
  await removeAll(aside)
}

/** With what was left of making it. */
export const removeWhole = async (folder: string): Promise<void> => {
  await removeFolder(folder)
  await removeAll(`${folder}${UNFINISHED}`)
}

/** Tried again while something still writes there: git outlives a server that is killed, for a moment. */
export const removeAll = (folder: string): Promise<void> =>
  rm(folder, { recursive: true, force: true, maxRetries: 5 })

/** Endings of what is no repository yet, or no longer; and of a word beside one that it is to be removed. */
export const UNFINISHED = '.unfinished'
const DISCARDED = '.discarded'
const DUE = '.due'

/** Says that a repository is to be removed later, a restart in between included. */
export const markDue = (folder: string): Promise<void> =>
  writeFile(`${folder}${DUE}`, '').catch(absentAs(undefined))

export const removeDue = async (folder: string): Promise<void> => {
  await removeWhole(folder)
  await rm(`${folder}${DUE}`, { force: true })
}

/** Deletes what a kill has left behind, as far as it is older than `age` seconds. */
export const sweepFolders = async (directory: string, age: number): Promise<void> => {
  const shards = await readdir(directory, { withFileTypes: true }).catch(absentAs([]))
  for (const shard of shards.filter((entry) => entry.isDirectory()))
    for (const name of await readdir(join(directory, shard.name))) {
      const path = join(directory, shard.name, name)
      if (![DUE, UNFINISHED, DISCARDED].some((ending) => name.endsWith(ending))) continue
      if (age > 0 && (await ageOf(path)) < age) continue
      if (name.endsWith(DUE)) await removeDue(path.slice(0, -DUE.length))
      else await removeAll(path)
    }
}

/** In seconds. What is gone meanwhile is as old as can be. */
const ageOf = async (path: string): Promise<number> => {
  const { mtimeMs } = await stat(path).catch(absentAs({ mtimeMs: 0 }))
  return (Date.now() - mtimeMs) / 1000
}

export const absentAs =
  <T>(value: T) =>
  (error: NodeJS.ErrnoException): T => {
    if (error.code === 'ENOENT') return value
    throw error
  }
