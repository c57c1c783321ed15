import { readableAmong, type SignedIn, type Viewer, visibleAmong } from '../accounts/access.ts'
import { existingAccount, readableRepository } from '../accounts/find.ts'
import type { ClientBudget } from '../client-budget.ts'
import { now } from '../clock.ts'
import type { Found, Slice } from '../records/pages.ts'
import {
  type Account,
  type CountedRelation,
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
import { type Acquire, idsIn, slotFor, visiblePage } from './visible.ts'

/** A repository, and since when an account has a relation to it. */
export interface Related {
  /** The repository. */
  readonly repository: Repository
  /** Unix time in seconds. */
  readonly since: number
}

/** Stars or watches of repositories. Undefined is returned of a repository that the viewer cannot see. */
export class RepositoryRelation {
  readonly #store: Store
  readonly #relation: CountedRelation
  readonly #budget: ClientBudget

  constructor(store: Store, relation: CountedRelation, budget: ClientBudget) {
    this.#store = store
    this.#relation = relation
    this.#budget = budget
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

  /**
   * Repositories that an account has the relation to and the viewer can see.
   * @param client whose budget the read counts against once it has read some thousand records
   * @throws AllotError unavailable while too many such reads wait
   */
  list(viewer: Viewer, account: number, slice: Slice, client?: string): Promise<Found<Repository>> {
    const { collection } = this.#relation
    const acquire = slotFor(this.#budget, client)
    return this.#store.read((tx) => relatedTo(tx, collection, viewer, account, slice, acquire))
  }

  /**
   * Users who have the relation to a repository, by id, of those whom the viewer can see.
   * @param client whose budget the read counts against once it has read some thousand records
   * @throws AllotError unavailable while too many such reads wait
   */
  accounts(
    viewer: Viewer,
    { owner, name }: RepositoryName,
    slice: Slice,
    client?: string,
  ): Promise<Found<Account> | undefined> {
    const { collection } = this.#relation
    return this.#store.read(async (tx) => {
      const repository = await readableRepository(tx, viewer, owner, name)
      if (repository === undefined) return undefined
      const entries = collection.entries(tx, 'repository', { prefix: [repository.id] })
      const accounts = idsIn(entries, (entry) => collection.idOf(entry)[0] as number)
      const visible = (ids: readonly number[]) => visibleAmong(tx, viewer, ids)
      return visiblePage(accounts, visible, slice, slotFor(this.#budget, client))
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

  /** @param budget of reads of many records */
  constructor(store: Store, budget: ClientBudget) {
    this.stars = new RepositoryRelation(store, STARS, budget)
    this.watches = new RepositoryRelation(store, WATCHES, budget)
    this.follows = new Follows(store, budget)
  }
}

/** The repositories that an account has the relation to and the viewer can read. */
export const relatedTo = (
  tx: ReadTransaction,
  relation: RelationCollection,
  viewer: Viewer,
  account: number,
  slice: Slice,
  acquire?: Acquire,
): Promise<Found<Repository>> => {
  const related = idsIn(relation.all(tx, [account]), ({ repository }) => repository)
  return visiblePage(related, (ids) => readableAmong(tx, viewer, ids), slice, acquire)
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
  const since = await saveRelation(tx, relation.collection, account, repository.id)
  const counted = withCount(relation, repository, 1)
  await repositories.replace(tx, repository, counted)
  return { repository: counted, since }
}

/**
 * Saves a relation that is not set, which the caller counts in the record of the repository.
 * @returns its time
 */
export const saveRelation = async (
  tx: WriteContext,
  relation: RelationCollection,
  account: number,
  repository: number,
): Promise<number> => {
  await existingAccount(tx, account)
  const createdAt = now()
  await relation.replace(tx, undefined, { account, repository, createdAt })
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
  await repositories.replace(tx, repository, counted)
  return counted
}

const withCount = ({ count }: CountedRelation, repository: Repository, change: 1 | -1): Repository => ({
  ...repository,
  [count]: repository[count] + change,
})
