import { mkdir } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { type Bundle, createBundle } from './bundle.ts'
import { type BundleImport, initialise, startBundleImport } from './bundle-import.ts'
import { createDeletionHold } from './deletion-hold.ts'
import { folderOf, place, removeAll, sizeOf, sweepFolders, UNFINISHED } from './disk.ts'
import { type FirstCommit, firstCommit } from './first-commit.ts'
import { firstBranch, setBranch } from './head.ts'
import { recover } from './recover.ts'
import { runGit } from './run.ts'
import { checkTemplates, type TemplateNames } from './templates.ts'

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
