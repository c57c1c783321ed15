import { mkdir, readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { type Bundle, type BundleImport, createBundle, initialise, startBundleImport } from './bundle.ts'
import { createDeletionHold } from './deletion-hold.ts'
import { absentAs, folderOf, place, removeAll, sizeOf, sweepFolders, UNFINISHED } from './disk.ts'
import { checkTemplates, type FirstCommit, firstCommit, type TemplateNames } from './first-commit.ts'
import { recover } from './processes.ts'
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

/** Bare repositories on disk, made with the system's git. */
export interface GitStore {
  /** @throws AllotError invalid that names a template that does not exist. */
  checkTemplates(names: TemplateNames): void
  /**
   * Makes the repository, empty or with one commit; whole, or not at all.
   * @returns bytes on disk. @throws AllotError unavailable when there is no git.
   */
  create(
    id: number,
    options: { defaultBranch: string; first?: FirstCommit | undefined },
  ): Promise<{ size: number }>
  /** Bytes of all files of the repository; 0 when there is none. */
  size(id: number): Promise<number>
  /** Undefined when there is no branch; the wanted one when there is, else the first by name. */
  firstBranch(id: number, wanted: string): Promise<string | undefined>
  /** Makes the branch the one that is checked out by whoever clones. */
  setBranch(id: number, branch: string): Promise<void>
  /** Removes what a killed git has left. @param pid of the git, which is ended first if it is still there */
  recover(id: number, pid: number | null): Promise<void>
  /** With what was left of making it. Fine when there is none; while `keep` holds it is done afterwards. */
  remove(id: number): Promise<void>
  /** From now on until the answer is called every repository stays where it is. */
  keep(): () => Promise<void>
  /** Everything that the references of a repository lead to; undefined when there is none. */
  bundle(id: number): Promise<Bundle | undefined>
  /** Takes a repository that was bundled, in the place of one that may be there. */
  receive(id: number): Promise<BundleImport>
  /** Deletes what a kill in the middle of `create` or `remove` has left behind, and is older than `age` seconds. */
  removeStale(age?: number): Promise<void>
}

export const createGitStore = ({ directory, git }: { directory: string; git: string }): GitStore =>
  storeIn(resolve(directory), git)

const storeIn = (directory: string, git: string): GitStore => ({
  ...keptIn(directory),
  checkTemplates,
  async create(id, { defaultBranch, first }) {
    const folder = folderOf(directory, id)
    const unfinished = `${folder}${UNFINISHED}`
    await mkdir(dirname(folder), { recursive: true })
    await removeAll(unfinished)
    await initialise(git, unfinished, defaultBranch)
    if (first !== undefined) {
      const stream = firstCommit(defaultBranch, first)
      await runGit(
        git,
        [`--git-dir=${unfinished}`, 'fast-import', '--quiet', '--done', '--date-format=raw'],
        stream,
      )
    }
    await place(unfinished, folder)
    return { size: await sizeOf(folder) }
  },
  size: (id) => sizeOf(folderOf(directory, id)),
  firstBranch: (id, wanted) => firstBranch(git, folderOf(directory, id), wanted),
  setBranch: (id, branch) => setBranch(git, folderOf(directory, id), branch),
  recover: (id, pid) => recover(folderOf(directory, id), pid),
  bundle: (id) => createBundle(git, folderOf(directory, id)),
  receive: (id) => startBundleImport(git, folderOf(directory, id)),
  removeStale: (age = 0) => sweepFolders(directory, age),
})

const keptIn = (directory: string): Pick<GitStore, 'keep' | 'remove'> => {
  const { hold, remove } = createDeletionHold()
  return { keep: hold, remove: (id) => remove(folderOf(directory, id)) }
}
