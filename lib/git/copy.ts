import { MAX_WORK_MS } from '../disk.ts'
import { AllotError } from '../errors.ts'
import { initialize } from './initialize.ts'
import { runGit } from './run.ts'

const REFS = ['+refs/heads/*:refs/heads/*', '+refs/tags/*:refs/tags/*']

/**
 * Copies the branches and tags of a repository into a new folder, which shares no file with it. Ends after
 * {@link MAX_WORK_MS}.
 * @param branch the branch that HEAD of the copy names
 */
export const copyRepository = async (
  git: string,
  source: string,
  folder: string,
  branch: string,
): Promise<void> => {
  await initialize(git, folder, branch)
  const deadline = performance.now() + MAX_WORK_MS
  const fetch = [
    'fetch',
    '--quiet',
    '--no-tags',
    '--no-write-fetch-head',
    '--update-head-ok',
    source,
    ...REFS,
  ]
  await runGit(git, [`--git-dir=${folder}`, ...fetch], { timeoutMs: MAX_WORK_MS }).catch((cause) => {
    throw performance.now() < deadline ? cause : tookTooLong(cause)
  })
}

const tookTooLong = (cause: unknown) =>
  new AllotError('unavailable', `git has not copied the repository in ${MAX_WORK_MS / 3600_000} hours`, {
    cause,
  })
