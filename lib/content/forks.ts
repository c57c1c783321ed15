import { readableAmong, type SignedIn, type Viewer } from '../accounts/access.ts'
import { authorizeCreateIn } from '../accounts/authorize.ts'
import { readableRepository } from '../accounts/find.ts'
import { isWiderThanParent } from '../accounts/visibility.ts'
import { AllotError } from '../errors.ts'
import type { Found, Slice } from '../records/pages.ts'
import { type Account, accounts, type Repository, repositories } from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import { checkTexts } from '../records/text-limits.ts'
import { gitUsage } from '../repositories/asked-changes.ts'
import type { NewRepository } from '../repositories/git-data.ts'
import type { RepositoryMaintenance } from '../repositories/maintenance.ts'
import { checkRepositoryName, type RepositoryName } from '../repositories/names.ts'
import { countFork, insertRepository, recordOf, refuseTaken } from '../repositories/new-repository.ts'
import type { RepositoryServices } from '../repositories/repositories.ts'
import { idsIn, slotFor, visiblePage, type WithReadBudget } from '../repositories/visible.ts'
import type { ReadTransaction } from '../storage/index.ts'
import type { LfsCopies } from './lfs.ts'

interface ForkOptions {
  /** Organization that gets the fork; the viewer when absent. */
  readonly organization?: string | undefined
  /** Name of the fork; that of its parent when absent. */
  readonly name?: string | undefined
}

/** The repository to fork, the new owner, and the fork as they make it, as of one transaction. */
interface PlannedFork {
  readonly source: Repository
  readonly into: Account
  readonly given: NewRepository
}

/**
 * Forks are full copies with the whole history, whose git data counts for their own owner before they are
 * visible. Their LFS objects are copied and counted afterwards, before the call returns; after a crash, a job
 * completes them.
 */
export class Forks {
  readonly #services: RepositoryServices & WithReadBudget
  readonly #lfsCopies: LfsCopies
  readonly #maintenance: RepositoryMaintenance | undefined

  /** @param maintenance undefined when this process takes no pushes */
  constructor(
    services: RepositoryServices & WithReadBudget,
    lfsCopies: LfsCopies,
    maintenance: RepositoryMaintenance | undefined,
  ) {
    this.#services = services
    this.#lfsCopies = lfsCopies
    this.#maintenance = maintenance
  }

  /**
   * @returns undefined when the repository or the organization does not exist or is hidden
   * @throws AllotError conflict when the new owner owns the parent, has a fork of it, or a repository of the
   * name; forbidden in an organization in which the viewer cannot create repositories; not_found when the
   * repository or the new owner is deleted meanwhile; over_quota when the host refuses it
   */
  async fork(viewer: SignedIn, from: RepositoryName, options: ForkOptions): Promise<Repository | undefined> {
    const { store, gitData, beforeStore } = this.#services
    const plan = plannedFork(viewer, from, options)
    const checked = await store.read(async (tx) => {
      const creator = await accounts.get(tx, [viewer.id])
      const planned = await plan(tx)
      if (creator === undefined || planned === undefined) return undefined
      const { source, into, given } = planned
      checkRepositoryName(given.name)
      checkTexts('repository', given)
      await refuseTaken(tx, into.id, given.name)
      return { creator, planned, content: { from: source.id, branch: source.defaultBranch } }
    })
    if (checked === undefined) return undefined
    const { creator, planned, content } = checked
    const lfs = { lfs: planned.source.lfs }
    // Asked before the copy is made, whose size is about that of the source.
    const checkAgain = await beforeStore.ask({
      owner: planned.into.id,
      change: { ...gitUsage(planned.given.private ?? false, planned.source.size), ...lfs },
      by: creator.id,
      repository: planned.source.id,
      kind: 'fork',
    })
    const fork = await gitData.create(content, creator, (size, idIn) =>
      store.write(async (tx) => {
        const planned = await plan(tx)
        if (planned?.source.id !== content.from)
          throw new AllotError('not_found', 'the repository or the new owner was deleted')
        const { source, into, given } = planned
        const id = await idIn(tx)
        const record = { ...recordOf(id, into, given, size), parent: source.id, empty: source.empty }
        await this.#lfsCopies.begin(tx, source.id, id)
        const repository = await insertRepository(tx, this.#services, creator, record)
        await this.#recordFork(tx, source.id, repository, creator.id)
        await checkAgain?.(tx, { repository: id, rest: lfs })
        return repository
      }),
    )
    await this.#lfsCopies.finish(fork.id)
    this.#maintenance?.begin(fork)
    return fork
  }

  /**
   * Makes a repository that exists the fork of another one, unless it is already a fork, or more people can
   * see it than the other one.
   * @returns whether it is a fork of that repository now
   */
  setParent(id: number, parent: number): Promise<boolean> {
    return this.#services.store.write(async (tx) => {
      const repository = await repositories.get(tx, [id])
      if (repository === undefined || id === parent) return false
      if (repository.parent !== null) return repository.parent === parent
      if ((await repositories.get(tx, [parent])) === undefined) return false
      if (await isWiderThanParent(tx, { ...repository, parent })) return false
      await repositories.save(tx, { ...repository, parent })
      await countFork(tx, parent, 1)
      return true
    })
  }

  /** Reports a fork to the webhooks of its parent, and to those of its owner. */
  async #recordFork(tx: WriteContext, parentId: number, fork: Repository, by: number): Promise<void> {
    const { outbox } = this.#services
    const parent = await repositories.get(tx, [parentId])
    if (parent !== undefined) await outbox.record(tx, { event: 'fork', repository: parent, fork, by })
    await outbox.record(tx, { event: 'repository', action: 'created', repository: fork, by })
  }

  /**
   * Forks of a repository that the viewer can read, by id.
   * @param client whose budget the read counts against once it has read some thousand records
   * @throws AllotError unavailable while too many such reads wait
   */
  list(
    viewer: Viewer,
    { owner, name }: RepositoryName,
    slice: Slice,
    client?: string,
  ): Promise<Found<Repository> | undefined> {
    const { store, readBudget } = this.#services
    return store.read(async (tx) => {
      const repository = await readableRepository(tx, viewer, owner, name)
      if (repository === undefined) return undefined
      const entries = repositories.entries(tx, 'parent', { prefix: [repository.id] })
      const forks = idsIn(entries, (entry) => repositories.numberOf(entry))
      const readable = (ids: readonly number[]) => readableAmong(tx, viewer, ids)
      return visiblePage(forks, readable, slice, slotFor(readBudget, client))
    })
  }
}

/**
 * Finds and authorizes everything, in the read that checks a fork and again in the write that saves it.
 * Undefined when the repository or the new owner does not exist, or is hidden from the viewer.
 */
const plannedFork =
  (viewer: SignedIn, { owner, name }: RepositoryName, { organization, name: forkName }: ForkOptions) =>
  async (tx: ReadTransaction): Promise<PlannedFork | undefined> => {
    const source = await readableRepository(tx, viewer, owner, name, 'code')
    if (source === undefined) return undefined
    const into = await (organization === undefined
      ? accounts.get(tx, [viewer.id])
      : authorizeCreateIn(viewer, organization)(tx))
    if (into === undefined) return undefined
    await refuseSecondFork(tx, source, into)
    const { description, defaultBranch } = source
    // A fork is never visible to more people than its parent.
    const isPrivate =
      source.private || (await isWiderThanParent(tx, { parent: source.id, owner: into.id, private: false }))
    return {
      source,
      into,
      given: { name: forkName ?? source.name, description, defaultBranch, private: isPrivate },
    }
  }

const refuseSecondFork = async (tx: ReadTransaction, parent: Repository, into: Account): Promise<void> => {
  if (parent.owner === into.id)
    throw new AllotError('conflict', `${into.name} already owns the repository: fork it into another account`)
  const [fork] = await repositories.list(tx, 'ownerAndParent', { prefix: [into.id, parent.id], limit: 1 })
  if (fork !== undefined) throw new AllotError('conflict', `${into.name} already has a fork: ${fork.name}`)
}
