import { MAX_WORK_MS } from '../disk.ts'
import { folderOf } from './folders.ts'
import { checkedObjects } from './fsck.ts'
import {
  announce,
  configuration,
  ENVIRONMENT,
  type ExitResult,
  startProcess,
  type WriteListener,
} from './process.ts'
import { runGit } from './run.ts'

/** A repository on another server. */
export interface RemoteOrigin {
  url: string
  /**
   * An `Authorization` header. Passed in the environment, because every user of the machine can read command
   * lines.
   */
  authorization: string
}

interface RemoteFetch extends WriteListener {
  directory: string
  git: string
  isEmpty: boolean
  /** References that are overwritten, although they have diverged. */
  overwritten?: readonly string[]
  /** References that are removed, with the ids that they have. */
  removed?: ReadonlyMap<string, string>
}

/** A connection that transfers less than a byte per second for so long is closed. */
const SILENCE_SECONDS = 300

const CONFIGURATION = [
  ...checkedObjects('fetch'),
  'fetch.unpackLimit=1',
  // The credentials are meant for this server only.
  'http.followRedirects=false',
  'http.lowSpeedLimit=1',
  `http.lowSpeedTime=${SILENCE_SECONDS}`,
]

/** The references to fetch: all but those of pull requests, which are not migrated. */
const REFS = 'refs/*:refs/*\n^refs/pull/*\n^refs/changes/*\n'

/**
 * Fetches every branch, tag and note into a repository: atomically into an empty one, else what is new or
 * fast-forwards. Other references that have diverged stay as they are, and git then ends with code 1.
 */
export const fetchFrom = async (
  id: number,
  { url, authorization }: RemoteOrigin,
  { directory, git, isEmpty, overwritten = [], removed = new Map(), started }: RemoteFetch,
): Promise<ExitResult> => {
  const fetch = ['fetch', '--quiet', '--no-write-fetch-head', '--update-head-ok', '--stdin']
  const atomic = isEmpty ? ['--atomic'] : []
  const folder = `--git-dir=${folderOf(directory, id)}`
  const args = [...[...configuration(...CONFIGURATION), folder], ...[...fetch, ...atomic, url]]
  const env = remoteEnvironment(authorization)
  const child = await startProcess(args, { git, env, timeout: MAX_WORK_MS, isDetached: true })
  child.stdout.resume()
  // git waits for the references on its standard input, and changes nothing before.
  await announce(child, {
    async started(pid) {
      await started(pid)
      // Before the fetch, which may bring `a/b` in the place of `a`.
      for (const [name, target] of removed) await runGit(git, [folder, 'update-ref', '-d', name, target])
    },
  })
  // Of two lines for one reference, git follows the first.
  child.stdin.end(overwritten.map((name) => `+${name}:${name}\n`).join('') + REFS)
  return child.ended
}

/**
 * Environment of a git that reads from another server. Arguments would show the credentials to other users of
 * the machine.
 */
export const remoteEnvironment = (authorization: string): Record<string, string | undefined> => ({
  ...ENVIRONMENT,
  GIT_ALLOW_PROTOCOL: 'http:https',
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'http.extraHeader',
  GIT_CONFIG_VALUE_0: `Authorization: ${authorization}`,
})
