import { mkdir, readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { createDeletionHold, ifMissing } from '../disk.ts'
import { checkTemplates, type FirstCommit, firstCommitStream, type TemplateNames } from './first-commit.ts'
import {
  folderOf,
  markDue,
  placeFolder,
  recover,
  removeRepository,
  removeTree,
  sizeOf,
  sweepFolders,
  UNFINISHED,
} from './folders.ts'
import { runGit } from './process.ts'
import {
  type Bundle,
  type BundleImport,
  createBundle,
  initialise,
  setHead,
  startBundleImport,
} from './transfer.ts'

/** Bare repositories on disk, by id, created and read with the system's git. The store knows no records. */
export interface GitStore {
  /** @throws AllotError invalid with the name of a template that does not exist */
  checkTemplates(names: TemplateNames): void
  /**
   * Creates a repository, empty or with one commit. A failure leaves nothing.
   * @returns bytes on disk
   * @throws AllotError unavailable when git is not installed
   */
  create(
    id: number,
    options: { defaultBranch: string; first?: FirstCommit | undefined },
  ): Promise<{ size: number }>
  /** Bytes of all files of the repository; 0 when it does not exist. */
  size(id: number): Promise<number>
  /** The branch `wanted` if it exists, else the first by name; undefined when there are no branches. */
  firstBranch(id: number, wanted: string): Promise<string | undefined>
  /** Makes a branch the one that clones check out. Does nothing when the repository does not exist. */
  setBranch(id: number, branch: string): Promise<void>
  /** Removes what a killed git left. @param pid of that git, which is ended first if it still runs */
  recover(id: number, pid: number | null): Promise<void>
  /** Removes the repository if it exists, after the last hold on deletions has ended. */
  remove(id: number): Promise<void>
  /** Defers removals until the returned function is called. */
  holdDeletions(): () => Promise<void>
  /** Everything that references reach; undefined when the repository does not exist. */
  bundle(id: number): Promise<Bundle | undefined>
  /** Creates a repository from a bundle, and replaces the present one. */
  receive(id: number): Promise<BundleImport>
  /** Deletes what a process that was killed during `create` or `remove` left, unless it changed within `age` seconds. */
  removeStale(age?: number): Promise<void>
}

export const createGitStore = (options: { directory: string; git: string }): GitStore => {
  const { git } = options
  const directory = resolve(options.directory)
  const deletions = createDeletionHold()
  const folderFor = (id: number) => folderOf(directory, id)
  return {
    checkTemplates,
    create: (id, { defaultBranch, first }) => createRepository(git, folderFor(id), defaultBranch, first),
    size: (id) => sizeOf(folderFor(id)),
    firstBranch: (id, wanted) => firstBranch(git, folderFor(id), wanted),
    setBranch: (id, branch) => setBranch(git, folderFor(id), branch),
    recover: (id, pid) => recover(folderFor(id), pid),
    async remove(id) {
      const folder = folderFor(id)
      const isDeferred = await deletions.remove(() => removeRepository(folder))
      if (isDeferred) await markDue(folder)
    },
    holdDeletions: deletions.hold,
    bundle: (id) => createBundle(git, folderFor(id)),
    receive: (id) => startBundleImport(git, folderFor(id)),
    removeStale: (age = 0) => sweepFolders(directory, age),
  }
}

const createRepository = async (
  git: string,
  folder: string,
  defaultBranch: string,
  first: FirstCommit | undefined,
): Promise<{ size: number }> => {
  const unfinished = `${folder}${UNFINISHED}`
  await mkdir(dirname(folder), { recursive: true })
  await removeTree(unfinished)
  await initialise(git, unfinished, defaultBranch)
  if (first !== undefined) {
    const args = [`--git-dir=${unfinished}`, 'fast-import', '--quiet', '--done', '--date-format=raw']
    await runGit(git, args, { input: firstCommitStream(defaultBranch, first) })
  }
  await placeFolder(unfinished, folder)
  return { size: await sizeOf(folder) }
}

const BRANCHES = 'refs/heads/'

const setBranch = async (git: string, folder: string, branch: string): Promise<void> => {
  const head = `${BRANCHES}${branch}`
  const current = await readFile(join(folder, 'HEAD'), 'utf8').catch(ifMissing(undefined))
  if (current !== undefined && current !== `ref: ${head}\n`) await setHead(git, folder, head)
}

const firstBranch = async (git: string, folder: string, wanted: string): Promise<string | undefined> => {
  const first = (pattern: string) =>
    runGit(git, [`--git-dir=${folder}`, 'for-each-ref', '--count=1', '--format=%(refname)', pattern])
  const ref = (await first(BRANCHES + wanted)) || (await first(BRANCHES))
  return ref === '' ? undefined : ref.trimEnd().slice(BRANCHES.length)
}
