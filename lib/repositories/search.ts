import { LRUCache } from 'lru-cache'
import {
  accountByName,
  audienceOfAccount,
  audiencesOf,
  canSee,
  openAudiences,
  ownersFor,
  repositoryViewer,
  type Viewer,
} from '../accounts/access.ts'
import {
  pageOfListings,
  pageOfOne,
  readAndLearn,
  type SearchListing,
  without,
} from '../accounts/search-page.ts'
import type { Page, Slice } from '../accounts/visible-page.ts'
import { maxEntries, namedCache } from '../caches.ts'
import { createClientBudget } from '../client-budget.ts'
import { invalid } from '../errors.ts'
import type { IndexEntry } from '../records/collection.ts'
import { pendingIds } from '../records/jobs.ts'
import { encodeKey } from '../records/key-codec.ts'
import { recordKey } from '../records/keys.ts'
import { recordKeyText } from '../records/merge.ts'
import {
  type Account,
  type Audience,
  accountNames,
  accounts,
  type Repository,
  repositories,
  repositoryNames,
} from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'
import { foldCase, type TrigramIndex, wordMatcher } from '../search/index.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import { filteredPage, isFiltered, type RepositoryFilter } from './search-filters.ts'

export interface RepositoryQuery {
  /** A part of the name, without case; several with commas in between; `owner/part` within an owner. */
  q?: string | undefined
  /** "owner to search within" */
  owner?: number | undefined
  filter?: RepositoryFilter | undefined
}

export interface UserQuery {
  /** A part of the login or of the full name, without case. */
  q?: string | undefined
  id?: number | undefined
}

export interface Search {
  /**
   * @param client whose budget a search that reads every match counts against
   * @throws AllotError invalid for too many words or matches, unavailable while too many searches wait
   */
  repositories(
    viewer: Viewer,
    query: RepositoryQuery,
    slice: Slice,
    client?: string,
  ): Promise<Page<Repository>>
  users(viewer: Viewer, query: UserQuery, slice: Slice): Promise<Page<Account>>
}

/**
 * Entries of the index of grams end with the texts themselves, so a word is looked for in them and no record is loaded
 * but those of the page. A word of up to three characters is a gram, whose entries are counted; a longer one is looked
 * for among those of its rarest gram, which lie together in packs, and its total is remembered.
 */
export const createSearch = (store: Store): Search => {
  const totals: Totals = namedCache('search totals', new LRUCache(maxEntries(TOTALS)))
  const searches = createClientBudget({
    slots: 2,
    queue: 100,
    message: 'too many searches are running: try again',
  })
  return {
    async repositories(identity, { q = '', owner, filter = {} }, slice, client = 'host') {
      const viewer = repositoryViewer(identity)
      const parts = partsOf(q)
      const readsAll = isFiltered(filter) || parts.length > 1
      const search = () =>
        readAndLearn(store, async (tx) => {
          const listings = (
            await Promise.all(parts.map((part) => repositoryListings(tx, totals, viewer, part, owner)))
          ).flat()
          return readsAll
            ? { page: await filteredPage(tx, viewer, listings, filter, slice), learned: [] }
            : pageOfListings(tx, repositories, listings, slice)
        })
      return readsAll ? searches.run(client, search) : search()
    },
    users: (viewer, { q = '', id }, slice) =>
      readAndLearn(store, async (tx) => {
        if (id !== undefined) return { page: pageOfOne(await oneUser(tx, viewer, id, q), slice), learned: [] }
        const listings = await openListings(tx, accountNames, totals, viewer, q, nobody)
        return pageOfListings(tx, accounts, [...listings, ...(await selfListing(tx, viewer, q))], slice)
      }),
  }
}

/** A word of a name, within an owner where that is named. */
interface Part {
  word: string
  ownerName?: string
}

/** Parts of `q`. Names hold neither a comma nor a slash: `a,b` is a search for either, `owner/a` for one within an owner. */
const partsOf = (q: string): Part[] => {
  const words = q.split(',').map((word) => word.trim())
  const known = [...new Set(words.filter((word) => word !== ''))]
  if (known.length > MAX_PARTS) throw invalid(`q: expected at most ${MAX_PARTS} words with commas in between`)
  return known.length === 0 ? [{ word: '' }] : known.map(partOf)
}
const MAX_PARTS = 5

const partOf = (text: string): Part => {
  const [ownerName, word, more] = text.split('/')
  return word === undefined || more !== undefined ? { word: text } : { ownerName: ownerName!, word }
}

const repositoryListings = async (
  tx: ReadTransaction,
  totals: Totals,
  viewer: Viewer,
  { word, ownerName }: Part,
  owner: number | undefined,
): Promise<SearchListing[]> => {
  const named = ownerName === undefined ? owner : (await accountByName(tx, ownerName))?.id
  if (ownerName !== undefined && (named === undefined || named !== (owner ?? named))) return []
  if (named !== undefined) return ownersListings(tx, viewer, named, word)
  return [
    ...(await openListings(tx, repositoryNames, totals, viewer, word, leftBehind)),
    ...(await ownListings(tx, viewer, word)),
  ]
}

/**
 * Totals of words that had to be looked for. Every name that has the word has its rarest gram too, so while the stamp of
 * the gram is the same, so is the total: also where other processes write.
 */
type Totals = LRUCache<string, { version: number; total: number }>
const TOTALS = 10_000

/** No name and no full name is longer, so a search for a longer word finds nothing; a key could not hold the word. */
const MAX_LENGTH = 255
async function* nothing(): AsyncGenerator<IndexEntry> {}

/** What the viewer may know without being named. */
const openListings = async <R>(
  tx: ReadTransaction,
  index: TrigramIndex<R>,
  totals: Totals,
  viewer: Viewer,
  word: string,
  gone: Gone,
): Promise<SearchListing[]> =>
  Promise.all(
    openAudiences(viewer).map(async (audience) =>
      without(await gone(tx, audience, word), await openListing(tx, index, totals, audience, word)),
    ),
  )

/** Entries of an index that stand for nothing any more, by the keys of their records. */
type Gone = (tx: ReadTransaction, audience: Audience, word: string) => Promise<ReadonlySet<string>>

const nobody: Gone = async () => new Set()

/** The repositories of owners that are gone, which a job removes in steps. */
const leftBehind: Gone = async (tx, audience, word) => {
  const gone = new Set<string>()
  for (const owner of await pendingIds(tx, 'owner'))
    for await (const entry of holding(word, repositories.entries(tx, 'name', { prefix: [owner, audience] })))
      gone.add(recordKeyText(entry))
  return gone
}

const openListing = async <R>(
  tx: ReadTransaction,
  index: TrigramIndex<R>,
  totals: Totals,
  audience: Audience,
  word: string,
): Promise<SearchListing> => {
  if (word.length > MAX_LENGTH) return { entries: nothing(), total: 0 }
  const { count, version, isExact, entries, find } = await index.candidates(tx, audience, word)
  if (isExact) return { entries: entries(), total: count }
  const key = JSON.stringify([index.options.collection, audience, foldCase(word)])
  const known = totals.get(key)
  return {
    find,
    total: count === 0 ? 0 : known?.version === version ? known.total : undefined,
    learn: (total) => void totals.set(key, { version, total }),
  }
}

/** What the viewer and the viewer's organizations keep private, which an administrator has seen already. */
const ownListings = async (tx: ReadTransaction, viewer: Viewer, word: string): Promise<SearchListing[]> => {
  if (viewer === null || openAudiences(viewer).includes(2)) return []
  const owners = await ownersFor(tx, viewer.id)
  const counts = await Promise.all(owners.map((owner) => repositories.count(tx, 'owner', [owner, 2])))
  return owners
    .filter((_, place) => counts[place]! > 0)
    .map((owner) => ({
      entries: holding(word, repositories.entries(tx, 'name', { prefix: [owner, 2] })),
    }))
}

const ownersListings = async (
  tx: ReadTransaction,
  viewer: Viewer,
  owner: number,
  word: string,
): Promise<SearchListing[]> =>
  (await audiencesOf(tx, viewer, owner)).map((audience) => ({
    entries: holding(word, repositories.entries(tx, 'name', { prefix: [owner, audience] })),
  }))

/** Whoever hides from all others still finds themself. */
const selfListing = async (tx: ReadTransaction, viewer: Viewer, word: string): Promise<SearchListing[]> => {
  const self = viewer === null ? undefined : await accounts.get(tx, [viewer.id])
  if (self === undefined || openAudiences(viewer).includes(audienceOfAccount(self))) return []
  const texts = [foldCase(self.name), foldCase(self.fullName)]
  const entry = {
    order: encodeKey([...texts, self.id]),
    recordKey: recordKey(accounts.options.name, [self.id]),
  }
  return [{ entries: holding(word, self.kind === 'user' ? [entry] : []) }]
}

const oneUser = async (tx: ReadTransaction, viewer: Viewer, id: number, word: string) => {
  const account = await accounts.get(tx, [id])
  if (account?.kind !== 'user' || !(await canSee(tx, viewer, account))) return undefined
  const texts = [account.name, account.fullName]
  return texts.some((text) => foldCase(text).includes(foldCase(word))) ? account : undefined
}

/** The entries whose texts have the word. */
async function* holding(
  word: string,
  entries: AsyncIterable<IndexEntry> | Iterable<IndexEntry>,
): AsyncGenerator<IndexEntry> {
  if (word.length > MAX_LENGTH) return
  const matches = wordMatcher(foldCase(word))
  for await (const entry of entries) if (matches(entry)) yield entry
}
