import type { Collection, IndexEntry } from '../records/collection.ts'
import { merge } from '../records/merge.ts'
import {
  type Account,
  type Audience,
  accounts,
  memberships,
  type Repository,
  repositories,
} from '../records/schema.ts'
import type { Store } from '../records/store.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import { audiencesOf, canSee, openAudiences, type Viewer } from './access.ts'
import type { Page, Slice } from './listing.ts'

export interface RepositoryQuery {
  /** A part of the name, without case. */
  q?: string | undefined
  /** "owner to search within" */
  owner?: number | undefined
}

export interface UserQuery {
  /** A part of the login or of the full name, without case. */
  q?: string | undefined
  id?: number | undefined
}

export interface Search {
  repositories(viewer: Viewer, query: RepositoryQuery, slice: Slice): Promise<Page<Repository>>
  users(viewer: Viewer, query: UserQuery, slice: Slice): Promise<Page<Account>>
}

export const createSearch = (store: Store): Search => ({
  repositories: (viewer, query, slice) =>
    store.read(async (tx) => {
      const listings =
        query.owner === undefined
          ? await everyListing(tx, viewer)
          : await ownersListings(tx, viewer, query.owner)
      const word = query.q?.toLowerCase() ?? ''
      return filtered(
        loaded(tx, repositories, merge(listings)),
        (repository) => repository.name.toLowerCase().includes(word),
        slice,
      )
    }),
  users: (viewer, query, slice) =>
    store.read(async (tx) => {
      const word = query.q?.toLowerCase() ?? ''
      const matches = async (account: Account) =>
        (account.name.toLowerCase().includes(word) || account.fullName.toLowerCase().includes(word)) &&
        (query.id === undefined || account.id === query.id) &&
        (await canSee(tx, viewer, account))
      return filtered(
        loaded(tx, accounts, accounts.entries(tx, 'name', { prefix: ['user'] })),
        matches,
        slice,
      )
    }),
})

type Listings = AsyncIterable<IndexEntry>[]

const ownersListings = async (tx: ReadTransaction, viewer: Viewer, owner: number): Promise<Listings> =>
  listingsOf(tx, owner, await audiencesOf(tx, viewer, owner))

const listingsOf = (tx: ReadTransaction, owner: number, audiences: readonly Audience[]): Listings =>
  audiences.map((audience) => repositories.entries(tx, 'name', { prefix: [owner, audience] }))

/** What is open to the viewer, and what the viewer and the viewer's organizations keep private. */
const everyListing = async (tx: ReadTransaction, viewer: Viewer): Promise<Listings> => {
  const open = openAudiences(viewer)
  const listings = open.map((audience) => repositories.entries(tx, 'everyName', { prefix: [audience] }))
  if (viewer === null || open.includes(2)) return listings
  const joined = await memberships.list(tx, 'member', { prefix: [viewer.id] })
  const owners = [viewer.id, ...joined.map((one) => one.organization)]
  return [...listings, ...owners.flatMap((owner) => listingsOf(tx, owner, [2]))]
}

const AT_ONCE = 100

/** The records of a listing, loaded a few at a time. */
async function* loaded<R>(
  tx: ReadTransaction,
  collection: Pick<Collection<R>, 'load'>,
  entries: AsyncIterable<IndexEntry>,
): AsyncIterable<R> {
  let waiting: IndexEntry[] = []
  for await (const entry of entries) {
    waiting.push(entry)
    if (waiting.length < AT_ONCE) continue
    yield* await collection.load(tx, waiting)
    waiting = []
  }
  yield* await collection.load(tx, waiting)
}

const filtered = async <T>(
  items: AsyncIterable<T>,
  matches: (item: T) => boolean | Promise<boolean>,
  { offset, limit }: Slice,
): Promise<Page<T>> => {
  const page: T[] = []
  let total = 0
  for await (const item of items) {
    if (!(await matches(item))) continue
    if (total >= offset && page.length < limit) page.push(item)
    total++
  }
  return { items: page, total }
}
