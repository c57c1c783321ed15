import { spawn } from 'node:child_process'
import { mkdir, open, readdir, readFile, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { absentAs, place, removeFolder, UNFINISHED } from './disk.ts'
import { setHead } from './index.ts'
import { absent, configured, ENVIRONMENT, runGit } from './run.ts'

/** A repository on its way out. */
export interface Bundle {
  /** What HEAD is: a branch such as `refs/heads/main`, or else a commit. */
  head: string
  /** A `git bundle` of everything that its references lead to; undefined when it has none. */
  parts: AsyncIterable<Uint8Array> | undefined
}

/** Undefined when there is no repository in the folder. */
export const createBundle = async (git: string, folder: string): Promise<Bundle | undefined> => {
  const head = await readFile(join(folder, 'HEAD'), 'utf8').catch(absentAs(undefined))
  if (head === undefined) return undefined
  const parts = (await hasReferences(folder)) ? bundle(git, folder) : undefined
  return { head: head.trim().replace(/^ref: /, ''), parts }
}

/** Looked up in the files: a process for each of a million empty repositories would take an hour. */
const hasReferences = async (folder: string): Promise<boolean> => {
  const packed = await readFile(join(folder, 'packed-refs'), 'utf8').catch(absentAs(''))
  if (/^[0-9a-f]{40,64} /m.test(packed)) return true
  const loose = await readdir(join(folder, 'refs'), { withFileTypes: true, recursive: true }).catch(
    absentAs([]),
  )
  return loose.some((entry) => entry.isFile())
}

/** No deadline: it takes as long as whoever reads it. */
async function* bundle(git: string, folder: string): AsyncGenerator<Uint8Array> {
  const args = [...configured(), `--git-dir=${folder}`, 'bundle', 'create', '--quiet', '-', '--all']
  const child = spawn(git, args, { env: ENVIRONMENT, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString('utf8')
  })
  const ended = new Promise<Error | undefined>((resolve) => {
    child.on('error', (cause) => resolve(absent(git, cause)))
    child.on('close', (code) =>
      resolve(
        code === 0 ? undefined : new Error(`git bundle of ${folder} failed with ${code}: ${said.trim()}`),
      ),
    )
  })
  try {
    yield* child.stdout as AsyncIterable<Buffer>
    const failure = await ended
    if (failure !== undefined) throw failure
  } finally {
    // Whoever reads no further leaves git nothing to write for.
    child.kill()
  }
}

/** A repository on its way in: the parts of its bundle, if there are any, and at last what HEAD is. */
export interface BundleImport {
  write(part: Uint8Array): Promise<void>
  /** The repository is there, whole, when this resolves. @throws Error when the bundle is none. */
  finish(head: string): Promise<void>
  /** Leaves nothing behind. */
  abandon(): Promise<void>
}

export const startBundleImport = async (git: string, folder: string): Promise<BundleImport> => {
  const path = `${folder}.bundle${UNFINISHED}`
  const unfinished = `${folder}${UNFINISHED}`
  await mkdir(dirname(folder), { recursive: true })
  const file = await open(path, 'w', 0o600)
  let size = 0

  const clean = async () => {
    await rm(path, { force: true })
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
      await initialise(git, unfinished, 'main')
      if (size > 0) await fetchAll(git, unfinished, path)
      await setHead(git, unfinished, head)
      await removeFolder(folder)
      await place(unfinished, folder)
      await clean()
    },
    async abandon() {
      await file.close()
      await clean()
    },
  }
}

/** Nothing of the user's own: no templates, no hooks. */
export const initialise = async (git: string, folder: string, branch: string): Promise<void> => {
  await runGit(git, ['init', '--quiet', '--bare', '--template=', `--initial-branch=${branch}`, folder])
}

/** Every reference of the bundle, synced; fetching checks the objects and that none is missing. */
const fetchAll = (git: string, folder: string, bundle: string): Promise<string> => {
  const words = ['fetch', '--quiet', '--update-head-ok', '--no-write-fetch-head', bundle, '+refs/*:refs/*']
  return runGit(git, [`--git-dir=${folder}`, ...words], '', 0)
}
