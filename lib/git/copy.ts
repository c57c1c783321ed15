import { MAX_WORK_MS } from '../disk.ts'
import { AllotError } from '../errors.ts'
import { initialize } from './initialize.ts'
import { personText } from './objects/pack.ts'
import { runGit } from './run.ts'

/** The parts that a copy of a repository takes over. */
export interface CopyOptions {
  /** Branch that HEAD of the copy names. */
  readonly branch: string
  /** Copies this branch alone; every branch and tag when absent. */
  readonly only?: string | undefined
  /** Begins the copy with one commit of the files of `branch`, in the place of its history. */
  readonly first?: { readonly author: { readonly name: string; readonly email: string }; readonly when: Date }
}

/**
 * Copies the branches and tags of a repository into a new folder, which shares no file with it. Ends after
 * {@link MAX_WORK_MS}.
 */
export const copyRepository = async (
  git: string,
  source: string,
  folder: string,
  { branch, only, first }: CopyOptions,
): Promise<void> => {
  await initialize(git, folder, branch)
  const refs =
    only === undefined
      ? ['+refs/heads/*:refs/heads/*', '+refs/tags/*:refs/tags/*']
      : [`+refs/heads/${only}:refs/heads/${only}`]
  const deadline = performance.now() + MAX_WORK_MS
  const run = (args: readonly string[], input = '') => {
    const timeoutMs = Math.max(1, Math.ceil(deadline - performance.now()))
    return runGit(git, [`--git-dir=${folder}`, ...args], { timeoutMs, input }).catch((cause) => {
      throw performance.now() < deadline ? cause : tookTooLong(cause)
    })
  }
  await run(['fetch', '--quiet', '--no-tags', '--no-write-fetch-head', '--update-head-ok', source, ...refs])
  if (first === undefined) return
  const tree = (await run(['rev-parse', '--verify', '--quiet', `refs/heads/${branch}^{tree}`])).trim()
  await run(['update-ref', '-d', `refs/heads/${branch}`])
  await run(['fast-import', '--quiet', '--done', '--date-format=raw'], firstCommit(branch, tree, first))
  // Objects of the history that only the source needs are not kept and not counted.
  await run(['repack', '-a', '-d', '-q'])
  // A small fetch is unpacked, and `repack` leaves loose objects that nothing refers to.
  await run(['prune', '--expire=now'])
}

const tookTooLong = (cause: unknown) =>
  new AllotError('unavailable', `git has not copied the repository in ${MAX_WORK_MS / 3600_000} hours`, {
    cause,
  })

const MESSAGE = 'Initial commit\n'

/** Input of `git fast-import` for a commit with an existing tree. */
const firstCommit = (
  branch: string,
  tree: string,
  { author, when }: NonNullable<CopyOptions['first']>,
): string => {
  return [
    `commit refs/heads/${branch}`,
    `committer ${personText({ ...author, time: Math.floor(when.getTime() / 1000), offset: 0 })}`,
    `data ${MESSAGE.length}`,
    MESSAGE,
    `M 040000 ${tree} `,
    '',
    'done',
    '',
  ].join('\n')
}
