import { canRead, type RepositoryPart, type Viewer } from '../accounts/access.ts'
import type { Authorizer, Target } from '../accounts/authorize.ts'
import { readableRepository, repositoryById } from '../accounts/find.ts'
import { isWiderThanParent, saveWithVisibility } from '../accounts/visibility.ts'
import { now } from '../clock.ts'
import { existing, invalidMember } from '../errors.ts'
import { checkBranchName } from '../git/ref-names.ts'
import type { BeforeStore } from '../quota/before-store.ts'
import type { QuotaEngine } from '../quota/index.ts'
import { withEdit } from '../records/edits.ts'
import type { Jobs } from '../records/jobs.ts'
import type { Page, Slice } from '../records/pages.ts'
import { removeBelongings } from '../records/schema/belongings.ts'
import {
  type Account,
  accounts,
  collaborators,
  type Repository,
  repositories,
  teamRepositories,
  transfers,
} from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import { checkTexts } from '../records/text-limits.ts'
import type { ReadTransaction } from '../storage/index.ts'
import type { Outbox } from '../webhooks/outbox.ts'
import { askBeforeChange, gitUsage, resolve } from './asked-changes.ts'
import type { DiskJournal } from './disk-journal.ts'
import type { GitData, NewRepository } from './git-data.ts'
import { type RepositoryOrder, repositoriesOf } from './lists.ts'
import { checkRepositoryName, type RepositoryName } from './names.ts'
import {
  authorFor,
  checkNew,
  countFork,
  holderOfName,
  insertRepository,
  recordOf,
  refuseTaken,
  taken,
} from './new-repository.ts'
import type { PushJournal } from './push-journal.ts'
import { addRedirect, presentName } from './redirects.ts'
import { actionsOf, editOf, type RepositoryEdit, rename } from './repository-edit.ts'
import type { StoredFiles } from './stored-files.ts'

/** The services that change repositories use. */
export interface RepositoryServices {
  readonly store: Store
  readonly quota: QuotaEngine
  readonly beforeStore: BeforeStore
  readonly jobs: Jobs
  readonly disk: DiskJournal
  readonly gitData: GitData
  readonly files: StoredFiles
  readonly outbox: Outbox
  /** Visibility of a new repository whose creator does not say it. */
  readonly newRepositories: 'public' | 'private'
  /** Bytes of texts of issues, comments, releases and commit statuses that a user can write in a day. */
  readonly maxTextPerDay: number
}

/** Repositories of users and organizations. */
export class Repositories {
  readonly #services: RepositoryServices
  readonly #store: Store
  /** Undefined when the host keeps repositories itself. */
  readonly #pushJournal: PushJournal | undefined

  constructor(services: RepositoryServices, pushJournal: PushJournal | undefined) {
    this.#services = services
    this.#store = services.store
    this.#pushJournal = pushJournal
  }

  /**
   * Checks, creates the git data, then saves the record in a write that authorizes the owner again.
   * @param into the new owner, or how to find and authorize it within the write
   * @throws AllotError conflict when the owner has a repository of that name; invalid for a bad name or
   * template; not_found when the owner was deleted
   */
  async create(
    into: Account | Authorizer<Account>,
    creator: Account,
    repository: NewRepository,
  ): Promise<Repository> {
    checkNew(into, creator, repository)
    const { gitData, beforeStore, outbox, newRepositories } = this.#services
    const find = typeof into === 'function' ? into : (tx: ReadTransaction) => accounts.get(tx, [into.id])
    const { owner, holder } = await this.#store.read(async (tx) => {
      const owner = await existingOwner(tx, find)
      checkRepositoryName(repository.name)
      checkTexts('repository', repository)
      if (repository.defaultBranch !== undefined) checkBranchName(repository.defaultBranch)
      return { owner, holder: await holderOfName(tx, owner.id, repository.name) }
    })
    const first = gitData.firstCommit(repository, authorFor(owner, creator))
    if (holder !== undefined) throw taken(holder)
    const content = { branch: repository.defaultBranch ?? 'main', first }
    const isPrivate = repository.private ?? newRepositories === 'private'
    const asked = { owner: owner.id, by: creator.id, kind: 'repository' } as const
    return gitData.create(content, creator, async (size, idIn) => {
      const checkAgain = await beforeStore.ask({ ...asked, change: gitUsage(isPrivate, size) })
      return this.#store.write(async (tx) => {
        const current = await existingOwner(tx, find)
        const id = await idIn(tx)
        const record = recordOf(id, current, { ...repository, private: isPrivate }, size)
        const made = await insertRepository(tx, this.#services, creator, record)
        await checkAgain?.(tx, { repository: id })
        await outbox.record(tx, { event: 'repository', action: 'created', repository: made, by: asked.by })
        return made
      })
    })
  }

  /** The repository with the id; undefined when there is none. */
  byId(id: number): Promise<Repository | undefined> {
    return this.#store.read((tx) => repositoryById(tx, id))
  }

  /** The repository with the name, if the viewer can see it. */
  find(viewer: Viewer, owner: string, name: string, part?: RepositoryPart): Promise<Repository | undefined> {
    return this.#store.read((tx) => readableRepository(tx, viewer, owner, name, part))
  }

  /** The repository with the id, if the viewer can see it. */
  findById(viewer: Viewer, id: number): Promise<Repository | undefined> {
    return this.#store.read(async (tx) => {
      const repository = await repositoryById(tx, id)
      return repository !== undefined && (await canRead(tx, viewer, repository)) ? repository : undefined
    })
  }

  /**
   * Present name of the repository with the former name, or of a former owner; undefined unless the viewer
   * can read it, and see a former owner.
   */
  presentName(viewer: Viewer, owner: string, name: string): Promise<RepositoryName | undefined> {
    return this.#store.read((tx) => presentName(tx, viewer, owner, name))
  }

  /** An owner's repositories that the viewer can see. */
  list(viewer: Viewer, owner: number, order: RepositoryOrder, slice: Slice): Promise<Page<Repository>> {
    return this.#store.read((tx) => repositoriesOf(tx, viewer, owner, order, slice))
  }

  /**
   * Changes a repository.
   * @param by id of the account that does it, for webhooks; the owner when absent
   * @returns undefined when there is no such repository
   * @throws AllotError invalid for a bad name or topic, and for a fork that more people could see than its
   * parent; conflict for a taken name; over_quota when the host refuses its visibility
   */
  async edit(which: Target<Repository>, edit: RepositoryEdit, by?: number): Promise<Repository | undefined> {
    const { outbox } = this.#services
    const journal = edit.defaultBranch === undefined ? undefined : this.#pushJournal
    let entry: number | undefined
    const checkAgain =
      edit.private === undefined
        ? undefined
        : await askBeforeChange(this.#services, which, async () => ({ private: edit.private }), by)
    const edited = await this.#change(which, async (tx, before) => {
      // Also without a change: git may have written beside the server.
      entry = await journal?.save(tx, { repository: before.id, pid: null })
      const members = editOf(before, edit)
      const after = withEdit(before, members)
      if (after === before) return before
      checkTexts('repository', members)
      if (after.defaultBranch !== before.defaultBranch) checkBranchName(after.defaultBranch)
      if (after.name !== before.name) await rename(tx, before, after)
      if (before.private && (await isWiderThanParent(tx, after)))
        throw invalidMember('private', 'a fork is never visible to more people than its parent')
      const saved = await saveWithVisibility(tx, this.#services, before, after)
      for (const action of actionsOf(before, members))
        await outbox.record(tx, { event: 'repository', action, repository: saved, by })
      await checkAgain?.(tx)
      return saved
    })
    return edited === undefined || entry === undefined ? edited : journal?.settle(entry, edited.id)
  }

  /**
   * Moves the repository and its usage to another owner in one transaction.
   * @param by id of the account that does it, for webhooks; the new owner when absent
   */
  async transfer(
    which: Target<Repository>,
    to: Target<Account>,
    by?: number,
  ): Promise<Repository | undefined> {
    const { quota, outbox } = this.#services
    const newOwner = async (tx: ReadTransaction) =>
      (await existingOwner(tx, typeof to === 'number' ? (tx) => accounts.get(tx, [to]) : to)).id
    const asked = async (tx: ReadTransaction) => ({ owner: await newOwner(tx) })
    const checkAgain = await askBeforeChange(this.#services, which, asked, by)
    return this.#change(which, async (tx, before) => {
      const owner = await newOwner(tx)
      if (owner === before.owner) return before
      const after = { ...before, owner, updatedAt: now() }
      await refuseTaken(tx, owner, before.name)
      await endSharing(tx, after)
      await addRedirect(tx, before, after)
      await quota.repositories.move(tx, before.id, owner)
      const saved = await saveWithVisibility(tx, this.#services, before, after)
      await outbox.record(tx, { event: 'repository', action: 'transferred', repository: saved, by })
      await checkAgain?.(tx)
      return saved
    })
  }

  /** Sets when the repository was created and last changed: copies keep the dates of their originals. */
  setDates(id: number, dates: Pick<Repository, 'createdAt' | 'updatedAt'>): Promise<Repository | undefined> {
    return this.#change(id, async (tx, before) => {
      if (before.createdAt === dates.createdAt && before.updatedAt === dates.updatedAt) return before
      const after = { ...before, ...dates }
      await repositories.save(tx, after)
      return after
    })
  }

  /** Sets the bytes of git data, for hosts that keep repositories themselves. */
  resize(id: number, size: number): Promise<Repository | undefined> {
    return this.#change(id, async (tx, before) => {
      const after = { ...before, size, empty: size === 0, updatedAt: now() }
      await this.#services.quota.repositories.resize(tx, id, size)
      await repositories.save(tx, after)
      return after
    })
  }

  /**
   * Deletes a repository with everything in it.
   * @param by id of the account that does it, for webhooks; the owner when absent
   * @returns whether it existed
   */
  async remove(which: Target<Repository>, by?: number): Promise<boolean> {
    const { jobs, disk, outbox } = this.#services
    return disk.write(async (tx) => {
      const repository = await resolve(tx, which)
      if (repository === undefined) return false
      await outbox.record(tx, { event: 'repository', action: 'deleted', repository, by })
      await removeRepository(tx, this.#services, repository.id, jobs.limits.maxPerTransaction)
      return true
    })
  }

  #change(
    which: Target<Repository>,
    edit: (tx: WriteContext, before: Repository) => Promise<Repository>,
  ): Promise<Repository | undefined> {
    return this.#store.write(async (tx) => {
      const before = await resolve(tx, which)
      return before && edit(tx, before)
    })
  }
}

/**
 * Ends an offer, the rights of teams and of other members of the former owner, and that of the new owner as a
 * collaborator. Collaborators whom somebody added stay.
 */
const endSharing = async (tx: WriteContext, { id, owner }: Repository): Promise<void> => {
  for (const assigned of await teamRepositories.list(tx, 'repository', { prefix: [id] }))
    await teamRepositories.removeLoaded(tx, assigned)
  await transfers.remove(tx, [id])
  for (const { account, byMembership } of await collaborators.list(tx, 'repository', { prefix: [id] }))
    if (byMembership || account === owner) await collaborators.remove(tx, [id, account])
}

/** Records that a repository without contents counts as: it has many indexes, and much is looked for. */
const REMOVAL_COST = 10

/**
 * Removes a repository; jobs remove the rest of what belongs to it.
 * @param limit records to remove in this transaction at most
 * @returns how many were removed, where the repository counts as {@link REMOVAL_COST}
 */
export const removeRepository = async (
  tx: WriteContext,
  { quota, jobs, gitData }: RepositoryServices,
  id: number,
  limit: number,
): Promise<number> => {
  const removed = await repositories.remove(tx, [id])
  if (removed !== undefined && removed.parent !== null) await countFork(tx, removed.parent, -1)
  await removeBelongings(tx, 'repository', id, 'now')
  // First, since webhooks are among it, which send nothing more.
  const contents = await jobs.runNow(tx, 'removeRepositoryContents', id, limit)
  const entries = await quota.repositories.remove(tx, id, limit - contents)
  await gitData.deleteAfterCommit(tx, id)
  return REMOVAL_COST + contents + entries
}

const existingOwner = async (tx: ReadTransaction, find: Authorizer<Account>): Promise<Account> =>
  existing(await find(tx), 'there is no such owner')
