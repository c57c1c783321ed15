import { mkdir, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { folderOf, removeAll, removeFolder, sizeOf, sweepFolders, UNFINISHED } from './disk.ts'
import { type FirstCommit, firstCommit } from './first-commit.ts'
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
  /** With what was left of making it. Fine when there is none. */
  remove(id: number): Promise<void>
  /** Deletes what a kill in the middle of `create` or `remove` has left behind. */
  sweep(): Promise<void>
}

export const createGitStore = ({ directory, git }: { directory: string; git: string }): GitStore => ({
  checkTemplates,
  async create(id, { defaultBranch, first }) {
    const folder = folderOf(directory, id)
    const unfinished = `${folder}${UNFINISHED}`
    await mkdir(dirname(folder), { recursive: true })
    await removeAll(unfinished)
    await runGit(git, [
      'init',
      '--quiet',
      '--bare',
      '--template=',
      `--initial-branch=${defaultBranch}`,
      unfinished,
    ])
    if (first !== undefined) {
      const stream = firstCommit(defaultBranch, first)
      await runGit(
        git,
        [`--git-dir=${unfinished}`, 'fast-import', '--quiet', '--done', '--date-format=raw'],
        stream,
      )
    }
    await rename(unfinished, folder)
    return { size: await sizeOf(folder) }
  },
  size: (id) => sizeOf(folderOf(directory, id)),
  async remove(id) {
    const folder = folderOf(directory, id)
    await removeFolder(folder)
    await removeAll(`${folder}${UNFINISHED}`)
  },
  sweep: () => sweepFolders(directory),
})
