import { LRUCache } from 'lru-cache'
import {
  audienceOfAccount,
  audiencesOf,
  canSee,
  openAudiences,
  repositoryViewer,
  sharedOf,
  type Viewer,
} from '../../accounts/access.ts'
import { accountByName } from '../../accounts/find.ts'
import { sharedWith } from '../../accounts/rights.ts'
import { maxEntries, namedCache } from '../../caches.ts'
import { ClientBudget } from '../../client-budget.ts'
import { invalidMember, NAME_LIMIT } from '../../errors.ts'
import type { IndexEntry } from '../../records/collection.ts'
import { pendingIds } from '../../records/jobs.ts'
import { encodeKey } from '../../records/key-codec.ts'
import { recordKey } from '../../records/layout.ts'
import { recordKeyText } from '../../records/merge.ts'
import { type Page, pageOfOne, type Slice } from '../../records/pages.ts'
import {
  type Account,
  type Audience,
  accountNames,
  accounts,
  ownerAndAudience,
  PRIVATE,
  type Repository,
  repositories,
  repositoryNames,
} from '../../records/schema/index.ts'
import type { Store } from '../../records/store.ts'
import { foldCase, type TrigramIndex, wordMatcher } from '../../search/index.ts'
import type { ReadTransaction } from '../../storage/index.ts'
import { filteredPage, isFiltered, type QueryPart, type RepositoryFilter } from './filters.ts'
import {
  pageOfListings,
  readAndCacheTotals,
  type SearchListing,
  type SearchPage,
  without,
} from './list-page.ts'

export interface RepositoryQuery {
  /** Parts of the name, case-insensitive, separated by commas; `owner/part` searches within an owner. */
  q?: string | undefined
  /** Only repositories of this owner. */
  owner?: number | undefined
  filter?: RepositoryFilter | undefined
}

interface UserQuery {
  /** Part of the login or of the full name, case-insensitive. */
  q?: string | undefined
  id?: number | undefined
}

/**
 * Cached totals of words longer than a trigram. A name that contains the word contains the word's rarest
 * trigram, so a total is valid while the version of that trigram is the same, even when other processes
 * write.
 */
type Totals = LRUCache<string, { version: number; total: number }>
const MAX_TOTALS = 10_000

async function* nothing(): AsyncGenerator<IndexEntry> {}

/**
 * Searches names by trigram (lib/search). Index entries contain the names, so only the records of the page
 * are loaded. A word of up to three characters is a trigram itself, whose entries are counted; a longer word
 * is filtered from the entries of its rarest trigram, and its total is cached.
 */
export class Search {
  readonly #store: Store
  readonly #totals: Totals = namedCache('search totals', new LRUCache(maxEntries(MAX_TOTALS)))
  readonly #budget = new ClientBudget({
    slots: 2,
    queue: 100,
    message: 'too many searches are running: try again',
  })

  constructor(store: Store) {
    this.#store = store
  }

  /**
   * @param client client whose budget a search that reads every match counts against
   * @throws AllotError invalid for too many words or matches, unavailable while too many searches wait
   */
  async repositories(
    viewer: Viewer,
    query: RepositoryQuery,
    slice: Slice,
    client = 'host',
  ): Promise<Page<Repository>> {
    const search = () => readAndCacheTotals(this.#store, (tx) => this.pageIn(tx, viewer, query, slice))
    return readsEveryMatch(query) ? this.#budget.run(client, search) : search()
  }

  /**
   * The page of a search, which one snapshot reads, so that the result can be cached. Only for a search that
   * does not read every match, unless it runs within the budget.
   */
  async pageIn(
    tx: ReadTransaction,
    viewer: Viewer,
    { q = '', owner, filter = {} }: RepositoryQuery,
    slice: Slice,
  ): Promise<SearchPage<Repository>> {
    const reader = repositoryViewer(viewer)
    // Descriptions and topics have no index, so those searches filter what the viewer can see.
    const parts = filter.texts === undefined ? partsOf(q) : withoutWords(partsOf(q))
    if (parts.length === 0) parts.push({ word: '' })
    const found = await Promise.all(parts.map((part) => this.#repositoryListings(tx, reader, part, owner)))
    const listings = found.flat()
    return readsEveryMatch({ q, filter })
      ? { page: await filteredPage(tx, reader, listings, filter, slice), cacheTotals: [] }
      : pageOfListings(tx, repositories, listings, slice)
  }

  users(viewer: Viewer, { q = '', id }: UserQuery, slice: Slice): Promise<Page<Account>> {
    return readAndCacheTotals(this.#store, async (tx) => {
      if (id !== undefined)
        return { page: pageOfOne(await userById(tx, viewer, id, q), slice), cacheTotals: [] }
      const listings = await this.#openListings(tx, accountNames, viewer, q, noneDeleted)
      return pageOfListings(tx, accounts, [...listings, ...(await selfListing(tx, viewer, q))], slice)
    })
  }

  async #repositoryListings(
    tx: ReadTransaction,
    viewer: Viewer,
    { word, ownerName }: QueryPart,
    owner: number | undefined,
  ): Promise<SearchListing[]> {
    const within = ownerName === undefined ? owner : (await accountByName(tx, ownerName))?.id
    if (ownerName !== undefined && (within === undefined || within !== (owner ?? within))) return []
    if (within !== undefined) return ownersListings(tx, viewer, within, word)
    return [
      ...(await this.#openListings(tx, repositoryNames, viewer, word, ofDeletedOwners)),
      ...(await ownListings(tx, viewer, word)),
    ]
  }

  /** Listings of the records that the viewer can see by their visibility alone. */
  #openListings<R extends { id: number }>(
    tx: ReadTransaction,
    index: TrigramIndex<R>,
    viewer: Viewer,
    word: string,
    deleted: DeletedEntries,
  ): Promise<SearchListing[]> {
    return Promise.all(
      openAudiences(viewer).map(async (audience) =>
        without(await deleted(tx, audience, word), await this.#openListing(tx, index, audience, word)),
      ),
    )
  }

  async #openListing<R extends { id: number }>(
    tx: ReadTransaction,
    index: TrigramIndex<R>,
    audience: Audience,
    word: string,
  ): Promise<SearchListing> {
    if (word.length > NAME_LIMIT) return { entries: nothing(), total: 0 }
    const { count, version, isExact, find } = await index.candidates(tx, audience, word)
    if (isExact || count === 0) return { find, total: count }
    const key = JSON.stringify([index.options.collection, audience, foldCase(word)])
    const known = this.#totals.get(key)
    return {
      find,
      total: known?.version === version ? known.total : undefined,
      cacheTotal: (total) => void this.#totals.set(key, { version, total }),
    }
  }
}

/**
 * Whether a search reads every match, since no index has its order.
 * @throws AllotError invalid for too many words
 */
export const readsEveryMatch = ({ q = '', filter = {} }: RepositoryQuery): boolean =>
  isFiltered(filter) || partsOf(q).length > 1

/**
 * The parts of `q`, each once: `a,b` searches for either, `owner/a` within an owner. Names contain neither
 * sign.
 * @throws AllotError invalid for too many
 */
export const partsOf = (q: string): QueryPart[] => {
  const words = q.split(',').map((word) => word.trim())
  const distinct = [...new Set(words.filter((word) => word !== ''))]
  if (distinct.length > MAX_PARTS)
    throw invalidMember('q', `expected at most ${MAX_PARTS} words separated by commas`)
  return distinct.map(partOf)
}
const MAX_PARTS = 5

/** The owners of the parts, each once, since all parts of an owner lead to the same listing. */
const withoutWords = (parts: readonly QueryPart[]): QueryPart[] => [
  ...new Map(parts.map((part) => [part.ownerName, { ...part, word: '' }])).values(),
]

const partOf = (text: string): QueryPart => {
  const [ownerName, word, rest] = text.split('/')
  return word === undefined || rest !== undefined ? { word: text } : { ownerName: ownerName!, word }
}

/** Finds the entries whose records count as deleted already, by the keys of the records. */
type DeletedEntries = (tx: ReadTransaction, audience: Audience, word: string) => Promise<ReadonlySet<string>>

const noneDeleted: DeletedEntries = async () => new Set()

/** Repositories of deleted owners, which a job removes in steps. */
const ofDeletedOwners: DeletedEntries = async (tx, audience, word) => {
  const deleted = new Set<string>()
  for (const owner of await pendingIds(tx, 'removeAccountData'))
    for await (const entry of containing(
      word,
      repositories.entries(tx, 'name', { prefix: [owner, audience] }),
    ))
      deleted.add(recordKeyText(entry))
  return deleted
}

/** Private repositories that the viewer can read, unless an administrator's open listings include them. */
const ownListings = async (tx: ReadTransaction, viewer: Viewer, word: string): Promise<SearchListing[]> => {
  if (viewer === null || openAudiences(viewer).includes(PRIVATE)) return []
  const { owners, repositories: shared } = await sharedWith(tx, viewer.id)
  const counts = await Promise.all(owners.map((owner) => repositories.count(tx, 'owner', [owner, PRIVATE])))
  const own = owners
    .filter((_, index) => counts[index]! > 0)
    .map((owner) => ({
      entries: containing(word, repositories.entries(tx, 'name', { prefix: [owner, PRIVATE] })),
    }))
  return [...own, ...sharedListing(shared, viewer, word)]
}

/** Shared repositories that are not open to the viewer: by name, as the other listings. */
const sharedListing = (shared: readonly Repository[], viewer: Viewer, word: string): SearchListing[] => {
  const open = openAudiences(viewer)
  const entries = shared
    .filter(({ audience }) => !open.includes(audience))
    .map((repository) => repositories.entryOf('name', ownerAndAudience(repository), repository))
    .sort((left, right) => Buffer.compare(left.order, right.order))
  return entries.length === 0 ? [] : [{ entries: containing(word, entries) }]
}

const ownersListings = async (
  tx: ReadTransaction,
  viewer: Viewer,
  owner: number,
  word: string,
): Promise<SearchListing[]> => {
  const audiences = await audiencesOf(tx, viewer, owner)
  const own = audiences.map((audience) => ({
    entries: containing(word, repositories.entries(tx, 'name', { prefix: [owner, audience] })),
  }))
  if (audiences.includes(PRIVATE)) return own
  return [...own, ...sharedListing(await sharedOf(tx, viewer, owner), viewer, word)]
}

/** The viewer's own account, which users can find even when it is hidden from all others. */
const selfListing = async (tx: ReadTransaction, viewer: Viewer, word: string): Promise<SearchListing[]> => {
  const self = viewer === null ? undefined : await accounts.get(tx, [viewer.id])
  if (self === undefined || openAudiences(viewer).includes(audienceOfAccount(self))) return []
  const texts = [foldCase(self.name), foldCase(self.fullName)]
  const entry = {
    order: encodeKey([...texts, self.id]),
    recordKey: recordKey(accounts.options.name, [self.id]),
  }
  return [{ entries: containing(word, self.kind === 'user' ? [entry] : []) }]
}

const userById = async (tx: ReadTransaction, viewer: Viewer, id: number, word: string) => {
  const account = await accounts.get(tx, [id])
  if (account?.kind !== 'user' || !(await canSee(tx, viewer, account))) return undefined
  const texts = [account.name, account.fullName]
  return texts.some((text) => foldCase(text).includes(foldCase(word))) ? account : undefined
}

/** The entries whose texts contain the word. */
async function* containing(
  word: string,
  entries: AsyncIterable<IndexEntry> | Iterable<IndexEntry>,
): AsyncGenerator<IndexEntry> {
  if (word.length > NAME_LIMIT) return
  const matches = wordMatcher(foldCase(word))
  for await (const entry of entries) if (matches(entry)) yield entry
}
