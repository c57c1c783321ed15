import { folderOf } from './disk.ts'
import { type ExitResult, startProcess } from './process.ts'
import { configured, ENVIRONMENT, runGit } from './run.ts'

/** Where git data comes from. */
export interface RemoteOrigin {
  url: string
  /** An `Authorization` header. Only the environment of git has it: every user of the machine sees a command line. */
  authorization: string
}

export interface RemoteFetch {
  directory: string
  git: string
  /** Before git may change anything. @param pid of the git that will */
  begun(pid: number): Promise<void>
}

/** Milliseconds, and seconds without a byte a second. */
const [DEADLINE, SILENCE] = [24 * 3600_000, 300]

const CONFIG = [
  'fetch.fsckObjects=true',
  // What a push may bring, a fetch may, too.
  'fetch.fsck.zeroPaddedFilemode=warn',
  'fetch.fsck.badTimezone=warn',
  'fetch.unpackLimit=1',
  // A token is for the server that it was given for.
  'http.followRedirects=false',
  'http.lowSpeedLimit=1',
  `http.lowSpeedTime=${SILENCE}`,
]

/** What pull requests leave is of no use without them. */
const REFS = 'refs/*:refs/*\n^refs/pull/*\n^refs/changes/*\n'

/**
 * Brings every branch, tag and note into a repository that is there: all at once into an empty one, and else what is new
 * or further on. What has gone another way here stays as it is, which git then says with its code 1.
 */
export const fetchFrom = async (
  id: number,
  { url, authorization }: RemoteOrigin,
  { directory, git, begun, isEmpty }: RemoteFetch & { isEmpty: boolean },
): Promise<ExitResult> => {
  const words = ['fetch', '--quiet', '--no-write-fetch-head', '--update-head-ok', '--stdin']
  const args = [...configured(...CONFIG), `--git-dir=${folderOf(directory, id)}`, ...words]
  const env = {
    ...ENVIRONMENT,
    GIT_ALLOW_PROTOCOL: 'http:https',
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: 'http.extraHeader',
    GIT_CONFIG_VALUE_0: `Authorization: ${authorization}`,
  }
  const timeouts = { idle: DEADLINE, deadline: DEADLINE }
  const session = await startProcess([...args, ...(isEmpty ? ['--atomic'] : []), url], {
    ...{ git, env, timeouts, isDetached: true },
  })
  session.stdout.resume()
  // It waits for these, and has changed nothing until they come.
  await begun(session.pid).catch(async (error) => {
    session.stop()
    await session.ended
    throw error
  })
  session.stdin.end(REFS)
  return session.ended
}

/** Whether files of the branch that is checked out are kept with LFS, which no fetch brings. */
export const usesLfs = async (
  id: number,
  { directory, git }: Omit<RemoteFetch, 'begun'>,
): Promise<boolean> => {
  const words = ['grep', '--quiet', 'filter=lfs', 'HEAD', '--', ':(glob)**/.gitattributes']
  return runGit(git, [`--git-dir=${folderOf(directory, id)}`, ...words]).then(
    () => true,
    () => false,
  )
}
