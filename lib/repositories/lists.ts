import { isOpenAccount, ownersFor, readableAmong, repositoryViewer, type Viewer } from '../accounts/access.ts'
import { visibleAccount } from '../accounts/find.ts'
import { readsAllOf, sharedWith } from '../accounts/rights.ts'
import type { ClientBudget } from '../client-budget.ts'
import type { IndexEntry } from '../records/collection.ts'
import { encodeKey } from '../records/key-codec.ts'
import { type Entries, merge, pageOf } from '../records/merge.ts'
import type { Page, Slice } from '../records/pages.ts'
import {
  type Account,
  accounts,
  ownerAndPrivacy,
  type Repository,
  repositories,
  stars,
} from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'
import { hasScope } from '../scopes.ts'
import type { Bytes, ReadTransaction } from '../storage/index.ts'
import { followsOf } from './follows.ts'
import { relatedTo } from './relations.ts'
import { slotFor } from './visible.ts'

type OrderIndex = 'id' | 'name' | 'size' | 'updated' | 'stars' | 'forks'

/** Values of `order_by` as Forgejo has them: `size` is smallest first, `reversesize` largest first. */
export const ORDERS = {
  name: ['name', false],
  alphabetically: ['name', false],
  reversealphabetically: ['name', true],
  id: ['id', false],
  newest: ['id', true],
  oldest: ['id', false],
  recentupdate: ['updated', true],
  leastupdate: ['updated', false],
  size: ['size', false],
  reversesize: ['size', true],
  moststars: ['stars', true],
  feweststars: ['stars', false],
  mostforks: ['forks', true],
  fewestforks: ['forks', false],
} as const satisfies Record<string, readonly [OrderIndex, boolean]>
export type RepositoryOrder = keyof typeof ORDERS

/** An owner's repositories that the viewer can see. */
export const repositoriesOf = async (
  tx: ReadTransaction,
  viewer: Viewer,
  owner: number,
  order: RepositoryOrder,
  slice: Slice,
): Promise<Page<Repository>> => {
  const reader = repositoryViewer(viewer)
  const account = await accounts.get(tx, [owner])
  const seesAll = reader !== null && (reader.admin || (await readsAllOf(tx, reader.id, owner)))
  const listed = privacies(seesAll, isOpenAccount(reader, account))
  const given = reader === null || seesAll ? [] : (await sharedWith(tx, reader.id)).repositories
  const shared = given.filter((one) => one.owner === owner && !listed.includes(one.private))
  return list(tx, { owners: [[owner, listed]], shared }, order, slice)
}

/** The values of `private` of the repositories of an owner that are listed. */
const privacies = (seesAll: boolean, isOpen: boolean): readonly boolean[] => {
  if (seesAll) return [false, true]
  return isOpen ? [false] : []
}

/**
 * Repositories of the viewer and of the viewer's organizations, and those that are shared with the viewer.
 */
export const repositoriesFor = async (
  tx: ReadTransaction,
  viewer: NonNullable<Viewer>,
  order: RepositoryOrder,
  slice: Slice,
): Promise<Page<Repository>> => {
  const joined = await ownersFor(tx, viewer.id)
  const { owners, repositories: shared } = await sharedWith(tx, viewer.id)
  // A token without the scope of repositories finds the public ones only.
  const isBounded = repositoryViewer(viewer) === null
  const reader = isBounded ? null : { ...viewer, admin: false }
  const known = await accounts.byIds(tx, joined)
  const listed = new Map(
    joined.map((owner) => [
      owner,
      privacies(!isBounded && owners.includes(owner), isOpenAccount(reader, known.get(owner))),
    ]),
  )
  const ids = shared.map(({ id }) => id)
  const readable = isBounded ? await readableAmong(tx, reader, ids) : shared
  const others = readable.filter((one) => !listed.get(one.owner)?.includes(one.private))
  return list(tx, { owners: [...listed], shared: others }, order, slice)
}

interface Listed {
  /** Owners with the values of `private` of the repositories to list. */
  readonly owners: readonly (readonly [owner: number, privacies: readonly boolean[]])[]
  /** Further repositories, none of which is listed with its owner. */
  readonly shared: readonly Repository[]
}

const list = async (
  tx: ReadTransaction,
  { owners, shared }: Listed,
  order: RepositoryOrder,
  slice: Slice,
): Promise<Page<Repository>> => {
  const [index, reverse] = ORDERS[order]
  const limit = slice.offset + slice.limit
  const prefixes = owners.flatMap(([owner, privacies]) =>
    privacies.map((isPrivate) => [owner, isPrivate] as const),
  )
  // Counted in parallel, so that a driver over the network can batch the reads.
  const counts = await Promise.all(prefixes.map((prefix) => repositories.count(tx, 'owner', prefix)))
  const filled = prefixes.filter((_, index) => counts[index]! > 0)
  const found = filled.map((prefix) => repositories.entries(tx, index, { prefix, reverse, limit }))
  const isByFullName = index === 'name' && (filled.length > 1 || shared.length > 0)
  const listings = isByFullName ? await byFullName(tx, filled, found) : found
  if (shared.length > 0) listings.push(await sharedListing(tx, shared, index, reverse))
  const total = counts.reduce((sum, count) => sum + count, 0) + shared.length
  return { items: await repositories.load(tx, await pageOf(merge(listings, reverse), slice)), total }
}

/**
 * Puts the owner's name in front of the order of each listing, because a list by name is ordered by
 * `owner/name`.
 */
const byFullName = async (
  tx: ReadTransaction,
  prefixes: readonly (readonly [owner: number, isPrivate: boolean])[],
  listings: readonly Entries[],
): Promise<Entries[]> => {
  const owners = await accounts.referredBy(tx, prefixes, ([owner]) => owner)
  return listings.map((listing, index) => withOrderPrefix(nameKey(owners.get(prefixes[index]![0])), listing))
}

const nameKey = (owner: Account | undefined): Bytes => encodeKey([owner?.name.toLowerCase() ?? ''])

/** Single repositories as a listing, whose order is that of the other listings. */
const sharedListing = async (
  tx: ReadTransaction,
  shared: readonly Repository[],
  index: OrderIndex,
  reverse: boolean,
): Promise<Entries> => {
  const owners = await accounts.referredBy(tx, shared, ({ owner }) => owner)
  const entries = shared.map((repository) => {
    const entry = repositories.entryOf(index, ownerAndPrivacy(repository), repository)
    if (index !== 'name') return entry
    return { ...entry, order: Buffer.concat([nameKey(owners.get(repository.owner)), entry.order]) }
  })
  const sign = reverse ? -1 : 1
  return entries.sort((left, right) => sign * Buffer.compare(left.order, right.order))
}

async function* withOrderPrefix(prefix: Bytes, listing: Entries): AsyncGenerator<IndexEntry> {
  for await (const entry of listing) yield { ...entry, order: Buffer.concat([prefix, entry.order]) }
}

/** An account with the numbers of its relations that a viewer can list, as far as they are counted. */
export interface Profile {
  readonly account: Account
  readonly followers: number | undefined
  readonly following: number | undefined
  readonly starred: number | undefined
}

/** Profiles of accounts. */
export class Profiles {
  readonly #store: Store
  readonly #budget: ClientBudget

  /** @param budget of reads of many records */
  constructor(store: Store, budget: ClientBudget) {
    this.#store = store
    this.#budget = budget
  }

  /**
   * The profile of an account that the viewer can see. Each number takes a slot after the other, since a
   * client has but one.
   * @param client whose budget a number counts against once some thousand records were read for it
   * @throws AllotError unavailable while too many such reads wait
   */
  async of(tx: ReadTransaction, viewer: Viewer, account: Account, client: string): Promise<Profile> {
    const acquire = slotFor(this.#budget, client)
    const followers = await followsOf(tx, 'followers', viewer, account.id, NO_ITEMS, acquire)
    const following = await followsOf(tx, 'following', viewer, account.id, NO_ITEMS, acquire)
    const starred = await relatedTo(tx, stars, viewer, account.id, NO_ITEMS, acquire)
    return { account, followers: followers.total, following: following.total, starred: starred.total }
  }

  /** The names of accounts that the viewer can see; a token without `read:user` sees public accounts only. */
  visibleNames(viewer: Viewer, names: readonly string[]): Promise<string[]> {
    const reader = viewer !== null && hasScope(viewer.scopes, 'read:user') ? viewer : null
    return this.#store.read(async (tx) => {
      const found = await Promise.all(names.map((name) => visibleAccount(tx, reader, name)))
      return names.filter((_, index) => found[index] !== undefined)
    })
  }
}

const NO_ITEMS: Slice = { offset: 0, limit: 0 }
