import { canRead, repositoryViewer, type SignedIn, type Viewer, visibleAmong } from '../accounts/access.ts'
import { existingAccount, readableRepository, repositoryById } from '../accounts/find.ts'
import { sharedWith } from '../accounts/rights.ts'
import { now } from '../clock.ts'
import type { Page, Slice } from '../records/pages.ts'
import {
  type Account,
  type CountedRelation,
  PRIVATE,
  type Relation,
  type RelationCollection,
  type Repository,
  repositories,
  STARS,
  WATCHES,
} from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { Follows } from './follows.ts'
import type { RepositoryName } from './names.ts'
import { countsWithPending, pendingRelations } from './pending-relations.ts'
import { visiblePage } from './visible-page.ts'

/** A repository, and since when an account has a relation to it. */
export interface Related {
  /** The repository. */
  readonly repository: Repository
  /** Unix time in seconds. */
  readonly since: number
}

/**
 * Stars or watches of repositories. Every method returns undefined when the viewer cannot see the repository.
 */
export class RepositoryRelation {
  readonly #store: Store
  readonly #relation: CountedRelation

  constructor(store: Store, relation: CountedRelation) {
    this.#store = store
    this.#relation = relation
  }

  /**
   * Sets the relation; setting it twice changes nothing.
   * @returns the repository, and since when it is set
   */
  set(viewer: SignedIn, repository: RepositoryName): Promise<Related | undefined> {
    return this.#change(viewer, repository, relate)
  }

  /**
   * Clears the relation; clearing it twice changes nothing.
   * @returns the repository
   */
  clear(viewer: SignedIn, repository: RepositoryName): Promise<Repository | undefined> {
    return this.#change(viewer, repository, unrelate)
  }

  /**
   * Whether the relation is set.
   * @returns the repository, and since when it is set, if so
   */
  check(viewer: SignedIn, { owner, name }: RepositoryName): Promise<Related | undefined> {
    return this.#store.read(async (tx) => {
      const repository = await readableRepository(tx, viewer, owner, name)
      if (repository === undefined) return undefined
      const relation = await this.#relation.collection.get(tx, [viewer.id, repository.id])
      return relation && { repository, since: relation.createdAt }
    })
  }

  /** Repositories that an account has the relation to and the viewer can see. */
  list(viewer: Viewer, account: number, slice: Slice): Promise<Page<Repository>> {
    return this.#store.read(async (tx) => {
      const { items, total } = await relationsOf(tx, this.#relation.collection, viewer, account, slice)
      const ids = items.map(({ repository }) => repository)
      return { items: [...(await repositories.byIds(tx, ids)).values()], total }
    })
  }

  /**
   * Users who have the relation to a repository, by id. The total is that of the repository; users whom the
   * viewer cannot see are left out of their page.
   */
  accounts(
    viewer: Viewer,
    { owner, name }: RepositoryName,
    slice: Slice,
  ): Promise<Page<Account> | undefined> {
    return this.#store.read(async (tx) => {
      const found = await readableRepository(tx, viewer, owner, name)
      if (found === undefined) return undefined
      const repository = await countsWithPending(tx, found)
      const related = await this.#relation.collection.list(tx, 'repository', {
        prefix: [repository.id],
        ...slice,
      })
      const ids = related.map(({ account }) => account)
      const items = await visibleAmong(tx, viewer, ids)
      return { items, total: repository[this.#relation.count] }
    })
  }

  #change<T>(
    viewer: SignedIn,
    { owner, name }: RepositoryName,
    change: (tx: WriteContext, relation: CountedRelation, account: number, of: Repository) => Promise<T>,
  ): Promise<T | undefined> {
    return this.#store.write(async (tx) => {
      const repository = await readableRepository(tx, viewer, owner, name)
      return repository && change(tx, this.#relation, viewer.id, repository)
    })
  }
}

/** Stars and watches of repositories, and follows of accounts. */
export class Relations {
  /** Which users star which repositories. */
  readonly stars: RepositoryRelation
  /** Which users watch which repositories. */
  readonly watches: RepositoryRelation
  /** Which users follow which accounts. */
  readonly follows: Follows

  constructor(store: Store) {
    this.stars = new RepositoryRelation(store, STARS)
    this.watches = new RepositoryRelation(store, WATCHES)
    this.follows = new Follows(store)
  }
}

/** The stars or watches of an account that the viewer can list. */
export const relationsOf = async (
  tx: ReadTransaction,
  relation: RelationCollection,
  viewer: Viewer,
  account: number,
  slice: Slice,
): Promise<Page<Relation>> => {
  const isReadable = async ({ repository: id }: Relation) => {
    const repository = await repositoryById(tx, id)
    return repository !== undefined && canRead(tx, viewer, repository)
  }
  const query = {
    relation,
    index: 'account' as const,
    prefix: [account],
    viewer: repositoryViewer(viewer),
    isReadable,
    candidates: (user: SignedIn) => relationsToOwn(tx, relation, user, account),
    pending: await pendingRelations(tx, relation, account),
  }
  return visiblePage(tx, query, slice)
}

/** Saves and counts the relation unless it is already set. */
const relate = async (
  tx: WriteContext,
  relation: CountedRelation,
  account: number,
  repository: Repository,
): Promise<Related> => {
  const known = await relation.collection.get(tx, [account, repository.id])
  if (known !== undefined) return { repository, since: known.createdAt }
  const since = await saveRelation(tx, relation.collection, account, repository)
  const counted = withCount(relation, repository, 1)
  await repositories.save(tx, counted)
  return { repository: counted, since }
}

/**
 * Saves a relation, which the caller counts in the record of the repository.
 * @returns its time
 */
export const saveRelation = async (
  tx: WriteContext,
  relation: RelationCollection,
  account: number,
  { id, audience }: Repository,
): Promise<number> => {
  await existingAccount(tx, account)
  const createdAt = now()
  await relation.save(tx, { account, repository: id, audience, createdAt })
  return createdAt
}

export const unrelate = async (
  tx: WriteContext,
  relation: CountedRelation,
  account: number,
  repository: Repository,
): Promise<Repository> => {
  if ((await relation.collection.remove(tx, [account, repository.id])) === undefined) return repository
  const counted = withCount(relation, repository, -1)
  await repositories.save(tx, counted)
  return counted
}

const withCount = ({ count }: CountedRelation, repository: Repository, change: 1 | -1): Repository => ({
  ...repository,
  [count]: repository[count] + change,
})

/**
 * An account's relations to private repositories that the viewer may read by a right, and perhaps to others,
 * which the caller leaves out. Reads the shorter side: the account's relations, or the repositories that the
 * viewer has rights on.
 */
const relationsToOwn = async (
  tx: ReadTransaction,
  relation: RelationCollection,
  viewer: SignedIn,
  account: number,
): Promise<Relation[]> => {
  const { owners, repositories: shared } = await sharedWith(tx, viewer.id)
  const counts = await Promise.all(owners.map((owner) => repositories.count(tx, 'owner', [owner, PRIVATE])))
  const readable = counts.reduce((sum, count) => sum + count, shared.length)
  if (readable > (await relation.count(tx, 'account', [account, PRIVATE])))
    return relation.list(tx, 'account', { prefix: [account, PRIVATE] })
  const sharedKeys = shared.map(({ id }) => [account, id])
  const found = (await relation.getMany(tx, sharedKeys)).filter((record) => record !== undefined)
  for (const owner of owners.filter((_, index) => counts[index]! > 0)) {
    const own = await repositories.list(tx, 'id', { prefix: [owner, PRIVATE] })
    const keys = own.map(({ id }) => [account, id])
    found.push(...(await relation.getMany(tx, keys)).filter((record) => record !== undefined))
  }
  return found
}
