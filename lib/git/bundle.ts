import { open, readdir, readFile, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ifMissing, MAX_WORK_MS, makeFolder } from '../disk.ts'
import { placeFolder, removeFolder, UNFINISHED } from './folders.ts'
import { initialize } from './initialize.ts'
import { configuration, ENVIRONMENT, startProcess } from './process.ts'
import { runGit } from './run.ts'

/** A repository as an export writes it. */
export interface Bundle {
  /** A reference such as `refs/heads/main`, or the id of a commit. */
  head: string
  /** A `git bundle` of everything that references reach; undefined when there are no references. */
  parts: AsyncIterable<Uint8Array> | undefined
}

/**
 * @param id of the repository, for messages
 * @returns undefined when the folder has no repository
 */
export const createBundle = async (git: string, folder: string, id: number): Promise<Bundle | undefined> => {
  const head = await readFile(join(folder, 'HEAD'), 'utf8').catch(ifMissing(undefined))
  if (head === undefined) return undefined
  const parts = (await isEmpty(folder)) ? undefined : bundleParts(git, folder, id)
  return { head: head.trim().replace(/^ref: /, ''), parts }
}

/** Whether it has no references. A process for each of a million empty repositories would take an hour. */
const isEmpty = async (folder: string): Promise<boolean> => {
  const entries = await readdir(join(folder, 'refs'), { withFileTypes: true, recursive: true })
  if (entries.some((entry) => !entry.isDirectory())) return false
  return !/^[0-9a-f]/m.test(await readFile(join(folder, 'packed-refs'), 'latin1').catch(ifMissing('')))
}

/** The bytes of a bundle. There is no deadline, since the reader sets the pace. */
async function* bundleParts(git: string, folder: string, id: number): AsyncGenerator<Uint8Array> {
  const args = [...configuration(), `--git-dir=${folder}`, 'bundle', 'create', '--quiet', '-', '--all']
  const child = await startProcess(args, { git, env: ENVIRONMENT, isDetached: false })
  child.stdin.end()
  try {
    yield* child.stdout as AsyncIterable<Buffer>
    const { code, stderr } = await child.ended
    if (code === 0) return
    const isRemoved = (await stat(folder).catch(ifMissing(undefined))) === undefined
    const reason = isRemoved
      ? 'another process deleted it meanwhile; start the export again'
      : `git bundle of ${folder} failed with ${code}: ${stderr}`
    throw new Error(`repository ${id} cannot be exported: ${reason}`)
  } finally {
    // Stops git when the caller stops reading.
    child.stop()
  }
}

/** Receives a repository: the parts of its bundle, if it has one, then its HEAD. */
export interface BundleImport {
  write(part: Uint8Array): Promise<void>
  /**
   * Creates the repository.
   * @throws Error when the bundle is damaged or incomplete
   */
  finish(head: string): Promise<void>
  /** Removes everything that was received. */
  abandon(): Promise<void>
}

export const startBundleImport = async (git: string, folder: string): Promise<BundleImport> => {
  const bundle = `${folder}.bundle${UNFINISHED}`
  const unfinished = `${folder}${UNFINISHED}`
  await makeFolder(dirname(folder))
  const file = await open(bundle, 'w', 0o600)
  let size = 0

  const clean = async () => {
    await rm(bundle, { force: true })
    await rm(unfinished, { recursive: true, force: true })
  }
  return {
    async write(part) {
      size += part.length
      await file.appendFile(part)
    },
    async finish(head) {
      await file.close()
      await rm(unfinished, { recursive: true, force: true })
      await initialize(git, unfinished, 'main')
      if (size > 0) await fetchBundle(git, unfinished, bundle)
      await setHead(git, unfinished, head)
      await removeFolder(folder)
      await placeFolder(unfinished, folder)
      await clean()
    },
    async abandon() {
      await file.close()
      await clean()
    },
  }
}

/** A fetch also checks the objects, and that none is missing. */
const fetchBundle = (git: string, folder: string, bundle: string): Promise<string> => {
  const args = ['fetch', '--quiet', '--update-head-ok', '--no-write-fetch-head', bundle, '+refs/*:refs/*']
  return runGit(git, [`--git-dir=${folder}`, ...args], { timeoutMs: MAX_WORK_MS })
}

/** @param head a reference such as `refs/heads/main`, or the id of a commit */
export const setHead = async (git: string, folder: string, head: string): Promise<void> => {
  const args = head.startsWith('refs/')
    ? ['symbolic-ref', 'HEAD', head]
    : ['update-ref', '--no-deref', 'HEAD', head]
  await runGit(git, [`--git-dir=${folder}`, ...args])
}
