import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { absentAs } from './disk.ts'
import { runGit } from './run.ts'

const BRANCHES = 'refs/heads/'

/** @param head a branch such as `refs/heads/main`, or else a commit */
export const setHead = async (git: string, folder: string, head: string): Promise<void> => {
  const words = head.startsWith('refs/')
    ? ['symbolic-ref', 'HEAD', head]
    : ['update-ref', '--no-deref', 'HEAD', head]
  await runGit(git, [`--git-dir=${folder}`, ...words])
}

/** Makes the branch the one that is checked out by whoever clones, where there is a repository and it is another one. */
export const setBranch = async (git: string, folder: string, branch: string): Promise<void> => {
  const head = `${BRANCHES}${branch}`
  const held = await readFile(join(folder, 'HEAD'), 'utf8').catch(absentAs(undefined))
  if (held !== undefined && held !== `ref: ${head}\n`) await setHead(git, folder, head)
}

/** Undefined when there is no branch; the wanted one when there is, else the first by name. */
export const firstBranch = async (
  git: string,
  folder: string,
  wanted: string,
): Promise<string | undefined> => {
  const list = (pattern: string) =>
    runGit(git, [`--git-dir=${folder}`, 'for-each-ref', '--count=1', '--format=%(refname)', pattern])
  const found = (await list(BRANCHES + wanted)) || (await list(BRANCHES))
  return found === '' ? undefined : found.trimEnd().slice(BRANCHES.length)
}
