import { noreplyAddress } from '../accounts/names.ts'
import { ClientBudget, clientOfAccount } from '../clients.ts'
import { now } from '../clock.ts'
import type { OnDeletionError } from '../disk.ts'
import type { CopyOptions } from '../git/copy.ts'
import { checkTemplates, type FirstCommit, type TemplateNames } from '../git/first-commit.ts'
import type { GitStorage } from '../git/index.ts'
import type { GitReader } from '../git/objects/index.ts'
import type { Transport } from '../git/transport.ts'
import { type Account, pendingFolders } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import { StorageError } from '../storage/index.ts'

/** A repository to create. */
export interface NewRepository extends TemplateNames {
  /** Name, unique among the repositories of the owner without regard to case. */
  name: string
  /** Description of the repository. */
  description?: string | undefined
  /** Whether only accounts with a right on it and administrators can see it; false when absent. */
  private?: boolean | undefined
  /** Whether others can generate repositories from it. */
  template?: boolean | undefined
  /** Whether it begins with a commit; otherwise it is empty, unless a template adds files. */
  autoInit?: boolean | undefined
  /** Branch that HEAD names; `main` when absent. */
  defaultBranch?: string | undefined
  /** Host name for the author's no-reply address in the first commit; absent: that of `baseUrl`, or `localhost`. */
  host?: string | undefined
}

interface GitDataOptions {
  readonly store: Store
  /** Undefined when the host keeps repositories itself: git data is then neither created nor deleted. */
  readonly gitStorage: GitStorage | undefined
  /** Stops the processes that work on a repository before it is deleted. */
  readonly transport: Pick<Transport, 'stop'> | undefined
  /** Likewise. */
  readonly gitReader: Pick<GitReader, 'stop'> | undefined
  /** Host name of no-reply addresses, where {@link NewRepository.host} is absent. */
  readonly hostName: string
  readonly onDeletionError: OnDeletionError
}

/**
 * Creates and deletes the git data of repositories. A folder and its record cannot be written in one transaction, so a
 * folder is recorded as pending while it can exist without a record; the next start deletes pending folders that a crash
 * left.
 */
export class GitData {
  readonly #options: GitDataOptions
  /**
   * Shares repository creation fairly among users, since each creation runs several git processes. The queue is long, so
   * that a bulk creation waits and is not refused.
   */
  readonly #creations = new ClientBudget({
    slots: 4,
    slotsPerClient: 3,
    queue: 10_000,
    queuePerClient: 5000,
    maxWaitMs: 60_000,
    message: 'too many repositories are being created: try again',
  })
  #deletions: Promise<void> = Promise.resolve()

  constructor(options: GitDataOptions) {
    this.#options = options
  }

  /** Checks the templates before anything is created. @throws AllotError invalid for an unknown template */
  check(repository: NewRepository): void {
    if (this.#options.gitStorage !== undefined && repository.autoInit === true) checkTemplates(repository)
  }

  /**
   * Records the folder as pending and creates it.
   * @param save saves the repository's record, in a write that calls {@link confirmFolder}; gets the bytes on disk
   */
  async create<T>(
    id: number,
    repository: NewRepository,
    author: Account,
    save: (size: number) => Promise<T>,
  ): Promise<T> {
    const { autoInit, defaultBranch = 'main' } = repository
    const first = autoInit === true ? firstCommit(repository, author, this.#options.hostName) : undefined
    return this.#make(id, author, (gitStorage) => gitStorage.create(id, defaultBranch, first), save)
  }

  /**
   * Creates git data as a copy of that of another repository.
   * @param from the repository to copy; undefined for an empty one
   * @throws AllotError not_found when it was deleted meanwhile
   */
  copy<T>(
    from: number | undefined,
    id: number,
    copy: CopyOptions,
    creator: Account,
    save: (size: number) => Promise<T>,
  ): Promise<T> {
    const build = (gitStorage: GitStorage) =>
      from === undefined ? gitStorage.create(id, copy.branch) : gitStorage.copy(from, id, copy)
    return this.#make(id, creator, build, save)
  }

  async #make<T>(
    id: number,
    creator: Account,
    build: (gitStorage: GitStorage) => Promise<number>,
    save: (size: number) => Promise<T>,
  ): Promise<T> {
    const { store, gitStorage } = this.#options
    if (gitStorage === undefined) return save(0)
    await store.write((tx) => markPending(tx, id))
    try {
      const size = await this.#creations.run(clientOfAccount(creator.id), () => build(gitStorage))
      return await save(size)
    } catch (error) {
      // After a storage error the write may be durable all the same; the next start decides.
      if (!(error instanceof StorageError)) await this.#deleteIfPending(id).catch(() => undefined)
      throw error
    }
  }

  /** Deletes the folder after the commit of the write that removes the repository's record. */
  async deleteAfterCommit(tx: WriteContext, id: number): Promise<void> {
    if (this.#options.gitStorage === undefined) return
    await markPending(tx, id)
    // With an unknown outcome the record may still exist, so the folder stays; the next start decides.
    tx.afterCommit((isKnown) => isKnown && this.#deleteNext(id))
  }

  /** Resolves when every folder of a deleted record is deleted, its deletion is deferred by a hold, or has failed. */
  idle(): Promise<void> {
    return this.#deletions
  }

  /** Deletes the folders that a crash left. Called at the start, before any repository is created. */
  async recover(): Promise<void> {
    const { store, gitStorage } = this.#options
    // In a shared store, young folders can belong to another process that is still at work.
    const age = store.driver.shared ? MIN_AGE_SHARED : 0
    await gitStorage?.recover(age)
    for (const id of await pendingIds(store, age)) this.#deleteNext(id)
    await this.idle()
  }

  async #delete(id: number): Promise<void> {
    const { store, transport, gitReader, gitStorage } = this.#options
    await transport?.stop(id)
    await gitReader?.stop(id)
    await gitStorage?.remove(id)
    await store.write((tx) => confirmFolder(tx, id))
  }

  /** A pending folder has no record. */
  async #deleteIfPending(id: number): Promise<void> {
    const pending = await this.#options.store.read((tx) => pendingFolders.get(tx, [id]))
    if (pending !== undefined) await this.#delete(id)
  }

  /** One deletion at a time. A folder whose deletion fails stays pending for the next start. */
  #deleteNext(id: number): void {
    const onError = (error: unknown) => this.#options.onDeletionError(error, { repository: id })
    this.#deletions = this.#deletions.then(() => this.#delete(id)).catch(onError)
  }
}

const firstCommit = (
  { name, description = '', readme, gitignores, license, host }: NewRepository,
  author: Account,
  hostName: string,
): FirstCommit => ({
  name,
  description,
  readme,
  gitignores,
  license,
  author: {
    name: author.fullName || author.name,
    // Commits are readable by everyone who can clone, so the account's own address stays out of them.
    email: noreplyAddress(author.name, host ?? hostName),
  },
  when: new Date(now() * 1000),
})

/** Ends the pending state: the repository's record is saved in the same transaction. */
export const confirmFolder = async (tx: WriteContext, id: number): Promise<void> =>
  void (await pendingFolders.remove(tx, [id]))

/** Records that the folder has no repository record, not yet or not any more. */
const markPending = async (tx: WriteContext, id: number): Promise<void> =>
  void (await pendingFolders.save(tx, { id, since: now() }))

const pendingIds = (store: Store, age: number): Promise<number[]> =>
  store.read(async (tx) => {
    const last = now() - age
    const ids: number[] = []
    for await (const { id, since } of pendingFolders.all(tx)) if (since <= last) ids.push(id)
    return ids
  })
/** Seconds after which a pending folder in a shared store cannot belong to a request under way any more. */
const MIN_AGE_SHARED = 3600
