import { audienceOfAccount, canRead, type SignedIn, type Viewer } from '../accounts/access.ts'
import { type Authorizer, authorizeCreateIn } from '../accounts/authorize.ts'
import { readableRepository, visibleAccount } from '../accounts/find.ts'
import { noreplyAddress } from '../accounts/names.ts'
import { now } from '../clock.ts'
import { AllotError, invalid } from '../errors.ts'
import { pendingIds } from '../records/jobs.ts'
import { paced } from '../records/pacing.ts'
import { type Page, pageOfAll, type Slice } from '../records/pages.ts'
import { type Account, accounts, type Repository, repositories } from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import { checkTexts } from '../records/text-limits.ts'
import type { GitContent, NewRepository } from '../repositories/git-data.ts'
import type { RepositoryMaintenance } from '../repositories/maintenance.ts'
import { checkRepositoryName, type RepositoryName } from '../repositories/names.ts'
import {
  authorFor,
  countFork,
  insertRepository,
  recordOf,
  refuseTaken,
} from '../repositories/new-repository.ts'
import type { RepositoryServices } from '../repositories/repositories.ts'
import type { ReadTransaction } from '../storage/index.ts'
import type { LfsCopies } from './lfs.ts'

interface ForkOptions {
  /** Organization that gets the fork; the viewer when absent. */
  readonly organization?: string | undefined
  /** Name of the fork; that of its parent when absent. */
  readonly name?: string | undefined
}

interface GenerateOptions extends NewRepository {
  /** Name of the new owner: the viewer, or an organization. */
  readonly owner: string
  /** Whether to take over the files of the default branch. */
  readonly withFiles: boolean
  readonly withTopics: boolean
}

/** The repository to copy and the new owner, as of one transaction. */
interface Places {
  readonly source: Repository
  readonly into: Account
}

/** What a fork and a repository from a template do differently. */
interface CopyRequest {
  readonly viewer: SignedIn
  /** The repository to copy. */
  readonly from: RepositoryName
  readonly findOwner: Authorizer<Account>
  contentOf(places: Places, creator: Account): GitContent
  /**
   * The new repository, and the members of its record that follow from the copied one.
   * @throws AllotError conflict
   */
  describe(
    tx: ReadTransaction,
    places: Places,
  ): Promise<{ readonly given: NewRepository; readonly changes: Partial<Repository> }>
}

/**
 * Repositories that are made from others: forks with the whole history, and repositories from templates with
 * the files. Each is a full copy, whose git data counts for its own owner before it is visible. Its LFS
 * objects are copied and counted afterwards, before the call returns; after a crash, a job completes them.
 */
export class Forks {
  readonly #services: RepositoryServices
  readonly #lfsCopies: LfsCopies
  readonly #maintenance: RepositoryMaintenance | undefined

  /** @param maintenance undefined when this process takes no pushes */
  constructor(
    services: RepositoryServices,
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
   * name; forbidden in an organization in which the viewer cannot create repositories
   */
  async fork(
    viewer: SignedIn,
    from: RepositoryName,
    { organization, name: forkName }: ForkOptions,
  ): Promise<Repository | undefined> {
    const fork = await this.#copy({
      viewer,
      from,
      findOwner: async (tx) =>
        organization === undefined
          ? accounts.get(tx, [viewer.id])
          : authorizeCreateIn(viewer, organization)(tx),
      contentOf: ({ source }) => ({ from: source.id, branch: source.defaultBranch }),
      async describe(tx, { source, into }) {
        await refuseSecondFork(tx, source, into)
        const { id: parent, name, description, defaultBranch, empty } = source
        const isPrivate = isForkPrivate(source, into)
        const given = { name: forkName ?? name, description, defaultBranch, private: isPrivate }
        return { given, changes: { parent, empty } }
      },
    })
    if (fork !== undefined) this.#maintenance?.afterChange(fork)
    return fork
  }

  /**
   * Makes a copy without history, and without a parent.
   * @throws AllotError invalid unless the repository is a template, and for a bad name; forbidden for an
   * owner that the viewer may not create repositories for; conflict when the owner has a repository of that
   * name
   */
  generate(
    viewer: SignedIn,
    from: RepositoryName,
    { owner, withFiles, withTopics, host = 'localhost', ...given }: GenerateOptions,
  ): Promise<Repository | undefined> {
    const isEmpty = (source: Repository) => source.empty || !withFiles
    return this.#copy({
      viewer,
      from,
      async findOwner(tx) {
        const account = await visibleAccount(tx, viewer, owner)
        if (account === undefined || account.id === viewer.id) return account
        if (account.kind === 'organization') return authorizeCreateIn(viewer, owner)(tx)
        throw new AllotError('forbidden', `only ${account.name} may create repositories for ${account.name}`)
      },
      contentOf({ source, into }, creator) {
        if (source.template !== true)
          throw invalid(`${source.name} is not a template: set template=true first`)
        const branch = source.defaultBranch
        if (isEmpty(source)) return { branch }
        const by = authorFor(into, creator)
        const author = { name: by.fullName || by.name, email: noreplyAddress(by.name, host) }
        return { from: source.id, branch, only: branch, first: { author, when: new Date(now() * 1000) } }
      },
      async describe(_tx, { source }) {
        const topics = withTopics ? (source.topics ?? []) : []
        const changes = { empty: isEmpty(source), ...(topics.length === 0 ? {} : { topics }) }
        return { given: { ...given, defaultBranch: source.defaultBranch }, changes }
      },
    })
  }

  /**
   * Checks, copies the git data, and saves the record in a write that finds and authorizes everything again.
   */
  async #copy(request: CopyRequest): Promise<Repository | undefined> {
    const { store, gitData } = this.#services
    const { viewer, contentOf, describe } = request
    const checked = await store.read(async (tx) => {
      const creator = await accounts.get(tx, [viewer.id])
      const places = await placesOf(tx, request)
      if (creator === undefined || places === undefined) return undefined
      const content = contentOf(places, creator)
      const { given } = await describe(tx, places)
      checkRepositoryName(given.name)
      checkTexts('repository', given)
      await refuseTaken(tx, places.into.id, given.name)
      return { creator, content }
    })
    if (checked === undefined) return undefined
    const { creator, content } = checked
    const id = await store.sequences.next('repository')
    const copy = await gitData.create(id, content, creator, (size) =>
      store.write(async (tx) => {
        const places = await placesOf(tx, request)
        if (places === undefined) throw gone()
        const { given, changes } = await describe(tx, places)
        const record = { ...recordOf(id, places.into, given, size), ...changes }
        if ('from' in content) await this.#lfsCopies.begin(tx, content.from, id)
        const repository = await insertRepository(tx, this.#services, creator, record)
        await this.#recordCopy(tx, repository, creator.id)
        return repository
      }),
    )
    await this.#lfsCopies.finish(copy.id)
    return copy
  }

  /**
   * Makes a repository that exists the fork of another one, unless it is already a fork.
   * @returns whether it is a fork of that repository now
   */
  setParent(id: number, parent: number): Promise<boolean> {
    return this.#services.store.write(async (tx) => {
      const repository = await repositories.get(tx, [id])
      if (repository === undefined || id === parent) return false
      if (repository.parent !== null) return repository.parent === parent
      if ((await repositories.get(tx, [parent])) === undefined) return false
      await repositories.save(tx, { ...repository, parent })
      await countFork(tx, parent, 1)
      return true
    })
  }

  /** Reports a fork to the webhooks of its parent, and each copy to those of its owner. */
  async #recordCopy(tx: WriteContext, repository: Repository, by: number): Promise<void> {
    const { outbox } = this.#services
    const parent = repository.parent === null ? undefined : await repositories.get(tx, [repository.parent])
    if (parent !== undefined)
      await outbox.record(tx, { event: 'fork', repository: parent, fork: repository, by })
    await outbox.record(tx, { event: 'repository', action: 'created', repository, by })
  }

  /** Forks of a repository that the viewer can read, by id. */
  list(viewer: Viewer, { owner, name }: RepositoryName, slice: Slice): Promise<Page<Repository> | undefined> {
    return this.#services.store.read(async (tx) => {
      const repository = await readableRepository(tx, viewer, owner, name)
      if (repository === undefined) return undefined
      const forks = paced(await repositories.list(tx, 'parent', { prefix: [repository.id] }))
      const deletedOwners = await pendingIds(tx, 'removeAccountData')
      const readable: Repository[] = []
      for await (const fork of forks)
        if (!deletedOwners.includes(fork.owner) && (await canRead(tx, viewer, fork))) readable.push(fork)
      return pageOfAll(readable, slice)
    })
  }
}

/** @returns undefined when one of them does not exist, or is hidden from the viewer */
const placesOf = async (
  tx: ReadTransaction,
  { viewer, from: { owner, name }, findOwner }: CopyRequest,
): Promise<Places | undefined> => {
  const source = await readableRepository(tx, viewer, owner, name, 'code')
  const into = source && (await findOwner(tx))
  return source && into && { source, into }
}

const gone = () => new AllotError('not_found', 'the repository or the new owner was deleted')

/** A fork is never visible to more people than its parent. */
const isForkPrivate = (parent: Repository, into: Account): boolean =>
  parent.private || parent.audience > audienceOfAccount(into)

const refuseSecondFork = async (tx: ReadTransaction, parent: Repository, into: Account): Promise<void> => {
  if (parent.owner === into.id)
    throw new AllotError('conflict', `${into.name} already owns the repository: fork it into another account`)
  const [fork] = await repositories.list(tx, 'parentAndOwner', { prefix: [parent.id, into.id], limit: 1 })
  if (fork !== undefined) throw new AllotError('conflict', `${into.name} already has a fork: ${fork.name}`)
}
