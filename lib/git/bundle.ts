import { mkdir, open, readdir, readFile, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ifMissing, MAX_WORK_MS } from '../disk.ts'
import { folderOf, placeFolder, removeFolder, UNFINISHED } from './folders.ts'
import { initialize } from './initialize.ts'
import {
  announce,
  configuration,
  ENVIRONMENT,
  type ExitResult,
  startProcess,
  type WriteListener,
} from './process.ts'
import { runGit } from './run.ts'

/** A repository as an export writes it. */
export interface Bundle {
  /** A reference such as `refs/heads/main`, or the id of a commit. */
  head: string
  /** A `git bundle` of everything that references reach; undefined when there are no references. */
  parts: AsyncIterable<Uint8Array> | undefined
}

/** Undefined when the folder has no repository. */
export const createBundle = async (git: string, folder: string): Promise<Bundle | undefined> => {
  const head = await readFile(join(folder, 'HEAD'), 'utf8').catch(ifMissing(undefined))
  if (head === undefined) return undefined
  const parts = (await hasReferences(folder)) ? bundleParts(git, folder) : undefined
  return { head: head.trim().replace(/^ref: /, ''), parts }
}

/** Reads the files: a process for each of a million empty repositories would take an hour. */
const hasReferences = async (folder: string): Promise<boolean> => {
  const packed = await readFile(join(folder, 'packed-refs'), 'utf8').catch(ifMissing(''))
  if (/^[0-9a-f]{40,64} /m.test(packed)) return true
  const refs = join(folder, 'refs')
  const loose = await readdir(refs, { withFileTypes: true, recursive: true }).catch(ifMissing([]))
  return loose.some((entry) => entry.isFile())
}

/** The bytes of a bundle. There is no deadline, since the reader sets the pace. */
async function* bundleParts(git: string, folder: string): AsyncGenerator<Uint8Array> {
  const args = [...configuration(), `--git-dir=${folder}`, 'bundle', 'create', '--quiet', '-', '--all']
  const child = await startProcess(args, { git, env: ENVIRONMENT, isDetached: false })
  child.stdin.end()
  try {
    yield* child.stdout as AsyncIterable<Buffer>
    const { code, stderr } = await child.ended
    if (code !== 0) throw new Error(`git bundle of ${folder} failed with ${code}: ${stderr}`)
  } finally {
    // Stops git when the caller stops reading.
    child.stop()
  }
}

/** Receives a repository: the parts of its bundle, if it has one, then its HEAD. */
export interface BundleImport {
  write(part: Uint8Array): Promise<void>
  /** Creates the repository. @throws Error when the bundle is damaged or incomplete */
  finish(head: string): Promise<void>
  /** Removes everything that was received. */
  abandon(): Promise<void>
}

export const startBundleImport = async (git: string, folder: string): Promise<BundleImport> => {
  const bundle = `${folder}.bundle${UNFINISHED}`
  const unfinished = `${folder}${UNFINISHED}`
  await mkdir(dirname(folder), { recursive: true })
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

export interface RemoteOrigin {
  url: string
  /** An `Authorization` header. Passed in the environment, because every user of the machine can read command lines. */
  authorization: string
}

interface RemoteFetch extends WriteListener {
  directory: string
  git: string
}

/** A connection that transfers less than a byte per second for so long is closed. */
const SILENCE_SECONDS = 300

const CONFIGURATION = [
  'fetch.fsckObjects=true',
  // The same errors are allowed as in a push.
  'fetch.fsck.zeroPaddedFilemode=warn',
  'fetch.fsck.badTimezone=warn',
  'fetch.unpackLimit=1',
  // The credentials are meant for this server only.
  'http.followRedirects=false',
  'http.lowSpeedLimit=1',
  `http.lowSpeedTime=${SILENCE_SECONDS}`,
]

/** The references to fetch: all but those of pull requests, which are not migrated. */
const REFS = 'refs/*:refs/*\n^refs/pull/*\n^refs/changes/*\n'

/**
 * Fetches every branch, tag and note into a repository: atomically into an empty one, else what is new or fast-forwards.
 * References that have diverged stay as they are, and git then ends with code 1.
 */
export const fetchFrom = async (
  id: number,
  { url, authorization }: RemoteOrigin,
  { directory, git, isEmpty, ...listener }: RemoteFetch & { isEmpty: boolean },
): Promise<ExitResult> => {
  const fetch = ['fetch', '--quiet', '--no-write-fetch-head', '--update-head-ok', '--stdin']
  const atomic = isEmpty ? ['--atomic'] : []
  const args = [
    ...[...configuration(...CONFIGURATION), `--git-dir=${folderOf(directory, id)}`],
    ...[...fetch, ...atomic, url],
  ]
  const env = remoteEnvironment(authorization)
  const child = await startProcess(args, { git, env, timeout: MAX_WORK_MS, isDetached: true })
  child.stdout.resume()
  // git waits for the references on its standard input, and changes nothing before.
  await announce(child, listener)
  child.stdin.end(REFS)
  return child.ended
}

/** Environment of a git that reads from another server. Arguments would show the credentials to other users of the machine. */
export const remoteEnvironment = (authorization: string): Record<string, string | undefined> => ({
  ...ENVIRONMENT,
  GIT_ALLOW_PROTOCOL: 'http:https',
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'http.extraHeader',
  GIT_CONFIG_VALUE_0: `Authorization: ${authorization}`,
})
