import { noreplyAddress } from '../accounts/names.ts'
import { ClientBudget } from '../client-budget.ts'
import { clientOfAccount } from '../clients.ts'
import { now } from '../clock.ts'
import { invalidMember } from '../errors.ts'
import { checkTemplates, type FirstCommit, type TemplateNames } from '../git/first-commit.ts'
import type { GitStorage } from '../git/index.ts'
import type { GitReader } from '../git/objects/reader.ts'
import { checkBranchName } from '../git/ref-names.ts'
import type { Transport } from '../git/transport.ts'
import type { Account, Repository } from '../records/schema/index.ts'
import { type Store, takeNumber, type WriteContext } from '../records/store.ts'
import { StorageError } from '../storage/index.ts'
import type { DiskJournal } from './disk-journal.ts'

/** A repository to create. */
export interface NewRepository extends TemplateNames {
  /** Name, unique among the repositories of the owner without regard to case. */
  name: string
  /** Description of the repository. */
  description?: string | undefined
  /**
   * Whether only accounts with a right on it and administrators can see it; as the option `newRepositories`
   * says when absent.
   */
  private?: boolean | undefined
  /** Whether it is read-only; false when absent. */
  archived?: boolean | undefined
  /**
   * Whether it begins with a commit. Without one it is empty, and `readme`, `gitignores` and `license`
   * are checked only.
   */
  autoInit?: boolean | undefined
  /** Branch that HEAD names; `main` when absent. */
  defaultBranch?: string | undefined
  /**
   * Host name for the author's no-reply address in the first commit; absent: that of `baseUrl`, or
   * `localhost`.
   */
  host?: string | undefined
}

/**
 * What git data begins with: a branch that is empty or has one commit, or a copy of the repository with the
 * id `from`.
 */
type GitContent =
  | { readonly branch: string; readonly first?: FirstCommit | undefined }
  | { readonly branch: string; readonly from: number }

/**
 * Shares repository creation fairly among users, since each creation writes and syncs some twenty files. The
 * queue is long, so that a bulk creation waits and is not refused.
 */
const BUDGET = {
  slots: 4,
  slotsPerClient: 3,
  queue: 10_000,
  queuePerClient: 5000,
  maxWaitMs: 60_000,
  message: 'too many repositories are being created: try again',
}

interface GitDataOptions {
  readonly store: Store
  readonly disk: DiskJournal
  /** Undefined when the host keeps repositories itself: git data is then neither created nor deleted. */
  readonly gitStorage: GitStorage | undefined
  /** Stops the processes that work on a repository before it is deleted. */
  readonly transport: Pick<Transport, 'stop'> | undefined
  /** Stops the reads of a repository before it is deleted. */
  readonly gitReader: Pick<GitReader, 'stop'> | undefined
  /** Host name of no-reply addresses, where {@link NewRepository.host} is absent. */
  readonly hostName: string
}

/** Creates and deletes the git data of repositories, which {@link DiskJournal} keeps as their records are. */
export class GitData {
  readonly #options: GitDataOptions
  readonly #creations = new ClientBudget(BUDGET)
  /** Copies take time in proportion to size, so they have a budget of their own. */
  readonly #copies = new ClientBudget(BUDGET)

  constructor(options: GitDataOptions) {
    this.#options = options
    const { disk, gitStorage, transport, gitReader } = options
    if (gitStorage === undefined) return
    disk.handlers.folder = async ({ repository }, forget) => {
      await transport?.stop(repository)
      await gitReader?.stop(repository)
      await gitStorage.remove(repository, forget)
    }
  }

  /**
   * Undefined when the repository begins empty.
   * @throws AllotError invalid for an unknown template
   */
  firstCommit(repository: NewRepository, author: Account): FirstCommit | undefined {
    const { gitStorage, hostName } = this.#options
    checkTemplates(repository)
    if (gitStorage === undefined || repository.autoInit !== true) return undefined
    const { name, description = '', readme, gitignores, license, host = hostName } = repository
    return {
      name,
      description,
      readme,
      gitignores,
      license,
      // Commits are readable by everyone who can clone, so the account's own address stays out of them.
      author: { name: author.fullName || author.name, email: noreplyAddress(author.name, host) },
      when: new Date(now() * 1000),
    }
  }

  /**
   * Creates the folder.
   * @param save saves the repository's record, in a write that calls `idIn` and {@link confirm}; gets the
   * bytes on disk
   * @throws AllotError not_found when the repository to copy was deleted meanwhile
   */
  async create<T>(
    content: GitContent,
    creator: Account,
    save: (size: number, idIn: (tx: WriteContext) => Promise<number>) => Promise<T>,
  ): Promise<T> {
    const { store, disk, gitStorage } = this.#options
    if (gitStorage === undefined) return save(0, (tx) => takeNumber(tx, 'repository'))
    const id = await store.write(async (tx) => {
      const taken = await takeNumber(tx, 'repository')
      await disk.begin(tx, folderOf(taken))
      return taken
    })
    const budget = 'from' in content ? this.#copies : this.#creations
    const build = () =>
      'from' in content
        ? gitStorage.copy(content.from, id, content.branch)
        : gitStorage.create(id, content.branch, content.first)
    try {
      return await save(await budget.run(clientOfAccount(creator.id), build), async () => id)
    } catch (error) {
      // After a storage error the write may be durable anyway; a later start decides.
      if (error instanceof StorageError) throw error
      await disk.giveUp(folderOf(id)).catch(() => undefined)
      throw error
    }
  }

  /**
   * Called in the write that saves the record.
   * @throws AllotError unavailable when the folder was given up meanwhile
   */
  async confirm(tx: WriteContext, id: number): Promise<void> {
    const { disk, gitStorage } = this.#options
    if (gitStorage !== undefined) await disk.end(tx, folderOf(id))
  }

  /** Deletes the folder after the commit of the write that removes the repository's record. */
  async deleteAfterCommit(tx: WriteContext, id: number): Promise<void> {
    const { disk, gitStorage } = this.#options
    if (gitStorage !== undefined) await disk.leave(tx, folderOf(id))
  }

  /**
   * Checks a branch that clones are to check out. Without any branch, every name can be that of the first
   * push.
   * @throws AllotError invalid when there are branches, and not this one
   */
  async checkDefaultBranch({ id, defaultBranch }: Repository, name: string): Promise<void> {
    if (name === defaultBranch) return
    checkBranchName(name)
    const first = await this.#options.gitStorage?.firstBranch(id, name)
    if (first !== undefined && first !== name)
      throw invalidMember('default_branch', `there is no branch named ${name}: push it first`)
  }
}

const folderOf = (repository: number) => ({ what: 'folder', repository }) as const
