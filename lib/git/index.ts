import { readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { DeletionHold, diskFault, ifMissing, MAX_WORK_MS, makeFolder, type OnDeletionError } from '../disk.ts'
import { AllotError } from '../errors.ts'
import { type Bundle, type BundleImport, createBundle, setHead, startBundleImport } from './bundle.ts'
import { type FirstCommit, writeFirstCommit } from './first-commit.ts'
import {
  folderOf,
  placeFolder,
  recoverRepository,
  removeRepository,
  removeTree,
  sizeOf,
  UNFINISHED,
} from './folders.ts'
import { initialize } from './initialize.ts'
import type { RefUpdate } from './push.ts'
import { checkOnDisk } from './repository-processes.ts'
import { runGit } from './run.ts'

const BRANCHES = 'refs/heads/'
const COPY = ['fetch', '--quiet', '--no-tags', '--no-write-fetch-head', '--update-head-ok']
const COPIED_REFS = ['+refs/heads/*:refs/heads/*', '+refs/tags/*:refs/tags/*']

interface GitStorageOptions {
  readonly directory: string
  /** Path of the program. */
  readonly git: string
  readonly onDeletionError?: OnDeletionError
}

/** Bare repositories on disk, by id, created and read with the system's git. Knows no records. */
export class GitStorage {
  readonly #git: string
  readonly #directory: string
  readonly #deletions: DeletionHold

  constructor({ directory, git, onDeletionError = () => undefined }: GitStorageOptions) {
    this.#git = git
    this.#directory = resolve(directory)
    this.#deletions = new DeletionHold(onDeletionError)
  }

  #folderOf(id: number): string {
    return folderOf(this.#directory, id)
  }

  /**
   * Creates a repository, empty or with one commit. A failure leaves nothing that is mistaken for a
   * repository.
   * @returns bytes on disk
   * @throws AllotError unavailable when git is not installed or the disk cannot be used, storage_full
   */
  async create(id: number, defaultBranch: string, first?: FirstCommit): Promise<number> {
    const folder = this.#folderOf(id)
    const unfinished = `${folder}${UNFINISHED}`
    await makeFolder(dirname(folder))
    await removeTree(unfinished)
    await initialize(this.#git, unfinished, defaultBranch)
    if (first !== undefined)
      await writeFirstCommit(unfinished, defaultBranch, first).catch((cause) => {
        throw diskFault(cause) ?? cause
      })
    await placeFolder(unfinished, folder)
    return sizeOf(folder)
  }

  /**
   * Creates a full copy of a repository: its branches and tags. Both share no file.
   * @param branch the branch that HEAD of the copy names
   * @returns bytes on disk
   * @throws AllotError not_found when the source was deleted
   */
  async copy(from: number, id: number, branch: string): Promise<number> {
    const [source, folder] = [this.#folderOf(from), this.#folderOf(id)]
    const unfinished = `${folder}${UNFINISHED}`
    await makeFolder(dirname(folder))
    await removeTree(unfinished)
    try {
      await initialize(this.#git, unfinished, branch)
      const args = [`--git-dir=${unfinished}`, ...COPY, source, ...COPIED_REFS]
      await runGit(this.#git, args, { timeoutMs: MAX_WORK_MS })
    } catch (cause) {
      await removeTree(unfinished)
      if ((await sizeOf(source)) > 0) throw cause
      throw new AllotError('not_found', 'the repository was deleted', { cause })
    }
    await placeFolder(unfinished, folder)
    return sizeOf(folder)
  }

  /** @throws Error when the repository is not on the disk */
  checkOnDisk(id: number): Promise<void> {
    return checkOnDisk(this.#folderOf(id))
  }

  /** Bytes of all files of the repository; 0 when it does not exist. */
  size(id: number): Promise<number> {
    return sizeOf(this.#folderOf(id))
  }

  /** The branch `wanted` if it exists, else the first by name; undefined when there are no branches. */
  async firstBranch(id: number, wanted: string): Promise<string | undefined> {
    const first = async (pattern: string) => {
      const command = ['for-each-ref', '--count=1', '--format=%(refname)', pattern]
      return (await runGit(this.#git, [`--git-dir=${this.#folderOf(id)}`, ...command])).trimEnd()
    }
    // The pattern also matches branches below the name, such as `main/x`, which exist only when `main` does
    // not.
    if ((await first(BRANCHES + wanted)) === BRANCHES + wanted) return wanted
    const ref = await first(BRANCHES)
    return ref === '' ? undefined : ref.slice(BRANCHES.length)
  }

  /** Filters changes of references: returns those that have taken place. */
  async applied<T extends RefUpdate>(id: number, updates: readonly T[]): Promise<T[]> {
    const format = ['for-each-ref', '--format=%(objectname) %(refname)']
    const refs = updates.map(({ ref }) => ref)
    const output = await runGit(this.#git, [`--git-dir=${this.#folderOf(id)}`, ...format, ...refs])
    const lines = output.split('\n').map((line) => [line.slice(41), line.slice(0, 40)] as const)
    const present = new Map(lines)
    return updates.filter(({ ref, after }) => (present.get(ref) ?? null) === after)
  }

  /** Makes a branch the one that clones check out. Does nothing when the repository does not exist. */
  async setBranch(id: number, branch: string): Promise<void> {
    const folder = this.#folderOf(id)
    const head = `${BRANCHES}${branch}`
    const current = await readFile(join(folder, 'HEAD'), 'utf8').catch(ifMissing(undefined))
    if (current !== undefined && current !== `ref: ${head}\n`) await setHead(this.#git, folder, head)
  }

  /**
   * Removes what a killed git left, unless it changed within `age` seconds.
   * @param pid of that git, which is ended first if it still runs
   * @returns whether everything is removed, and nothing was too young
   */
  recoverRepository(id: number, pid: number | null, age = 0): Promise<boolean> {
    return recoverRepository(this.#folderOf(id), pid, age)
  }

  /**
   * Removes the repository if it exists, after the last hold on deletions has ended.
   * @param onRemoved called afterwards
   */
  async remove(id: number, onRemoved?: () => Promise<void>): Promise<void> {
    await this.#deletions.remove(async () => {
      await removeRepository(this.#folderOf(id))
      await onRemoved?.()
    })
  }

  /** Defers removals until the returned function is called. */
  holdDeletions(): () => Promise<void> {
    return this.#deletions.hold()
  }

  /** Everything that references reach; undefined when the repository does not exist. */
  bundle(id: number): Promise<Bundle | undefined> {
    return createBundle(this.#git, this.#folderOf(id), id)
  }

  /** Creates a repository from a bundle, and replaces the present one. */
  importBundle(id: number): Promise<BundleImport> {
    return startBundleImport(this.#git, this.#folderOf(id))
  }
}
