import { folderOf } from './folders.ts'
import { type ExitResult, startProcess } from './process.ts'
import { configuration, ENVIRONMENT, runGit } from './run.ts'

interface RemoteOrigin {
  url: string
  /** An `Authorization` header. Passed in the environment, because every user of the machine can read command lines. */
  authorization: string
}

interface RemoteFetch {
  directory: string
  git: string
  /** Called before git may change anything. @param pid of the git that will */
  started(pid: number): Promise<void>
}

const DEADLINE_MS = 24 * 3600_000
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

/** Without the references of pull requests, which are not migrated. */
const REFS = 'refs/*:refs/*\n^refs/pull/*\n^refs/changes/*\n'

/**
 * Fetches every branch, tag and note into a repository: atomically into an empty one, else what is new or fast-forwards.
 * References that have diverged stay as they are, and git then ends with code 1.
 */
export const fetchFrom = async (
  id: number,
  { url, authorization }: RemoteOrigin,
  { directory, git, started, isEmpty }: RemoteFetch & { isEmpty: boolean },
): Promise<ExitResult> => {
  const fetch = ['fetch', '--quiet', '--no-write-fetch-head', '--update-head-ok', '--stdin']
  const atomic = isEmpty ? ['--atomic'] : []
  const args = [
    ...[...configuration(...CONFIGURATION), `--git-dir=${folderOf(directory, id)}`],
    ...[...fetch, ...atomic, url],
  ]
  const env = {
    ...ENVIRONMENT,
    GIT_ALLOW_PROTOCOL: 'http:https',
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: 'http.extraHeader',
    GIT_CONFIG_VALUE_0: `Authorization: ${authorization}`,
  }
  const timeouts = { idleMs: DEADLINE_MS, deadlineMs: DEADLINE_MS }
  const child = await startProcess(args, { git, env, timeouts, isDetached: true })
  child.stdout.resume()
  // git waits for the references on its standard input, and changes nothing before.
  await started(child.pid).catch(async (error) => {
    child.stop()
    await child.ended
    throw error
  })
  child.stdin.end(REFS)
  return child.ended
}

/** Whether the default branch stores files with LFS, which a fetch does not transfer. */
export const usesLfs = async (
  id: number,
  { directory, git }: Omit<RemoteFetch, 'started'>,
): Promise<boolean> => {
  const args = ['grep', '--quiet', 'filter=lfs', 'HEAD', '--', ':(glob)**/.gitattributes']
  return runGit(git, [`--git-dir=${folderOf(directory, id)}`, ...args]).then(
    () => true,
    () => false,
  )
}
