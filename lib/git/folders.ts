/** The layout of the repositories folder: `<id mod 256, in hex>/<id>.git`. */
import { execFile } from 'node:child_process'
import { type Dirent, readdir, stat } from 'node:fs'
import { readdir as list, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { ifMissing, isUnchangedFor, syncToDisk } from '../disk.ts'

/** Path of a repository, made of its id, so that renaming or transferring it moves no files. */
export const folderOf = (directory: string, id: number): string =>
  join(directory, (id % 256).toString(16).padStart(2, '0'), `${id}.git`)

/** Suffixes of a repository that is being created, and of one that is being deleted. */
export const UNFINISHED = '.unfinished'
const DISCARDED = '.discarded'

/**
 * Bytes of all files in a folder, without those that git removes or renames before it ends. Calls back
 * instead of awaiting: each push measures hundreds of files, and a promise for each takes twice as long.
 */
export const sizeOf = (folder: string): Promise<number> =>
  new Promise((resolve, reject) => {
    let [size, pending] = [0, 0]
    const finish = (error: NodeJS.ErrnoException | null) => {
      if (error !== null && error.code !== 'ENOENT') return reject(error)
      if (--pending === 0) resolve(size)
    }
    const addFile = (path: string) => {
      pending++
      stat(path, (error, stats) => {
        if (error === null) size += stats.size
        finish(error)
      })
    }
    const addFolder = (path: string) => {
      pending++
      readdir(path, { withFileTypes: true }, (error, entries = []) => {
        for (const entry of entries) addEntry(join(path, entry.name), entry)
        finish(error)
      })
    }
    const addEntry = (path: string, entry: Dirent) => {
      if (isLeftover(folder, path)) return
      if (entry.isFile()) addFile(path)
      else if (entry.isDirectory()) addFolder(path)
    }
    addFolder(folder)
  })

/**
 * Whether a path is something that git removes or renames before it ends: the folder in which it keeps the
 * objects of a push until it has checked them (git-receive-pack, "Quarantine"), a temporary object, or a lock
 * file.
 */
const isLeftover = (folder: string, path: string): boolean => LEFTOVER.test(path.slice(folder.length + 1))

/** Gives a finished repository its name. Durable when this resolves, before its record is saved. */
export const placeFolder = async (unfinished: string, folder: string): Promise<void> => {
  const entries = await list(unfinished, { withFileTypes: true, recursive: true })
  const content = entries.filter((entry) => entry.isFile() || entry.isDirectory())
  const paths = content.map((entry) => join(entry.parentPath, entry.name))
  await Promise.all([unfinished, ...paths].map(syncToDisk))
  await rename(unfinished, folder)
  await Promise.all([dirname(folder), dirname(dirname(folder))].map(syncToDisk))
}

/**
 * Renames a repository, then deletes it: a process that is killed meanwhile leaves nothing that looks like a
 * repository, and one that is creating it cannot place what is left of it.
 */
export const removeFolder = async (folder: string): Promise<void> => {
  const discarded = `${folder}${DISCARDED}`
  await rename(folder, discarded).catch(ifMissing(undefined))
  await removeTree(discarded)
}

/** Retries, because a git that outlives a killed server may still write files. */
export const removeTree = (folder: string): Promise<void> =>
  rm(folder, { recursive: true, force: true, maxRetries: 5 })

/** Removes a repository with what an interrupted creation left. */
export const removeRepository = async (folder: string): Promise<void> => {
  await removeFolder(folder)
  await removeFolder(`${folder}${UNFINISHED}`)
}

/** Paths that only the git which made them would remove. */
const LEFTOVER =
  /^objects\/(?:(?:tmp_objdir-|incoming-)[^/]*|pack\/\.tmp-[^/]*|(?:pack|info\/commit-graphs|[0-9a-f]{2})\/tmp_[^/]*)$|\.lock$|^gc\.pid$/

/** The name of a pack, without its suffix, is captured. */
const PACK_FILE = /^(objects\/pack\/pack-[^./]+)\.[a-z]+$/

/**
 * Removes what a killed git left in a repository, including the files of packs without an index, which git
 * does not read: before version 2.42, `git gc` even fails on them. Without an age, nothing else may work on
 * the repository.
 * @param pid of that git, which is ended first if it has outlived its server
 * @param age seconds that it must have been unchanged
 * @returns whether everything is removed, and nothing was too young
 */
export const recoverRepository = async (folder: string, pid: number | null, age = 0): Promise<boolean> => {
  if (pid !== null) await endProcess(folder, pid)
  const entries = await list(folder, { recursive: true, withFileTypes: true }).catch(ifMissing([]))
  const paths = new Set(entries.map(({ parentPath, name }) => join(parentPath, name)))
  const isOfPackWithoutIndex = (path: string) => {
    const [, pack] = PACK_FILE.exec(path.slice(folder.length + 1)) ?? []
    return pack !== undefined && !paths.has(join(folder, `${pack}.idx`))
  }
  let isComplete = true
  for (const path of paths) {
    if (!isLeftover(folder, path) && !isOfPackWithoutIndex(path)) continue
    if (await isUnchangedFor(path, age)) await rm(path, { recursive: true, force: true })
    else isComplete = false
  }
  return isComplete
}

const [GRACE_MS, POLL_MS] = [10_000, 50]

/** Another process may have the pid by now: ends only one whose command line names the folder. */
const endProcess = async (folder: string, pid: number): Promise<void> => {
  const deadline = performance.now() + GRACE_MS
  while ((await commandLineOf(pid)).includes(folder)) {
    try {
      process.kill(-pid, performance.now() > deadline ? 'SIGKILL' : 'SIGTERM')
    } catch {
      return
    }
    await sleep(POLL_MS)
  }
}

/** Empty when there is no such process. */
const commandLineOf = async (pid: number): Promise<string> => {
  try {
    if (process.platform === 'linux')
      return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ')
    return (await promisify(execFile)('ps', ['-o', 'args=', '-p', String(pid)])).stdout
  } catch {
    return ''
  }
}
