import {
  audienceOfAccount,
  canSee,
  openAudiences,
  repositoryViewer,
  type Viewer,
} from '../../accounts/access.ts'
import { accountByName } from '../../accounts/find.ts'
import { type Shared, sharedWith } from '../../accounts/rights.ts'
import type { ClientBudget } from '../../client-budget.ts'
import { invalidMember, NAME_LIMIT } from '../../errors.ts'
import type { IndexEntry } from '../../records/collection.ts'
import type { KeyTuple } from '../../records/key-codec.ts'
import { distinct, type Entries, merge } from '../../records/merge.ts'
import { type Found, pageOfAll, pageOfOne, type Slice } from '../../records/pages.ts'
import {
  type Account,
  type Audience,
  accounts,
  audienceText,
  ownerAndPrivacy,
  PRIVATE,
  type Repository,
  repositories,
} from '../../records/schema/index.ts'
import type { Store } from '../../records/store.ts'
import { containing, foldCase, searchEntries } from '../../search/index.ts'
import type { ReadTransaction } from '../../storage/index.ts'
import { MAX_COUNTED, slotFor, visibleBatches, visiblePage } from '../visible.ts'
import { isFiltered, predicateOf, type QueryPart, type RepositoryFilter, sort } from './filters.ts'

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
 * Searches names by their n-grams (lib/search). Every search reads the entries with the names in their order,
 * which tell who may see them, without their records: until the page is full and {@link MAX_COUNTED} are
 * counted. A search that is filtered or sorted reads all records.
 */
export class Search {
  readonly #store: Store
  readonly #budget: ClientBudget

  /** @param budget of reads of many records */
  constructor(store: Store, budget: ClientBudget) {
    this.#store = store
    this.#budget = budget
  }

  /**
   * @param client client whose budget a search that reads many records counts against
   * @throws AllotError invalid for too many words or matches, unavailable while too many searches wait
   */
  async repositories(
    viewer: Viewer,
    query: RepositoryQuery,
    slice: Slice,
    client = 'host',
  ): Promise<Found<Repository>> {
    const many = readsMany(query, slice)
    const search = () =>
      this.#store.read((tx) => this.pageIn(tx, viewer, query, slice, many ? undefined : client))
    return many ? this.#budget.run(client, search) : search()
  }

  /**
   * The page of a search, which one snapshot reads, so that the result can be cached. Only for a search that
   * reads few records, unless it runs within the budget.
   * @param client whose budget the search counts against once it has read some thousand records; undefined
   * for a search that runs within it
   */
  async pageIn(
    tx: ReadTransaction,
    viewer: Viewer,
    { q = '', owner, filter = {} }: RepositoryQuery,
    slice: Slice,
    client: string | undefined,
  ): Promise<Found<Repository>> {
    const reader = repositoryViewer(viewer)
    // Descriptions and topics have no index, so those searches filter what the viewer can see.
    const parts = filter.texts === undefined ? partsOf(q) : withoutWords(partsOf(q))
    if (parts.length === 0) parts.push({ word: '' })
    const sight = await sightOf(tx, reader)
    const listings = await Promise.all(parts.map((part) => listingsOf(tx, sight, part, owner)))
    const entries = distinct(merge(listings.flat()))
    const visibleAmong = withOpenOwners(tx, sight.open)
    if (isFiltered(filter)) {
      const visible = visibleBatches(entries, visibleAmong)
      return pageOfAll(
        sort(await allMatching(tx, visible, await predicateOf(tx, reader, filter)), filter),
        slice,
      )
    }
    const found = await visiblePage(entries, visibleAmong, slice, slotFor(this.#budget, client))
    return { ...found, items: await repositories.load(tx, found.items) }
  }

  /**
   * Users whom the viewer can see.
   * @param client whose budget the search counts against once it has read some thousand records
   * @throws AllotError unavailable while too many searches wait
   */
  users(viewer: Viewer, { q = '', id }: UserQuery, slice: Slice, client = 'host'): Promise<Found<Account>> {
    return this.#store.read(async (tx) => {
      if (id !== undefined) return pageOfOne(await userById(tx, viewer, id, q), slice)
      if (q.length > NAME_LIMIT) return pageOfOne<Account>(undefined, slice)
      const open = openAudiences(viewer).map((audience) => searchEntries(tx, accounts, [String(audience)], q))
      const entries = merge([...(await Promise.all(open)), await ownEntry(tx, viewer, q)])
      const acquire = () => this.#budget.acquire(client)
      const found = await visiblePage(distinct(entries), async (all) => all, slice, acquire)
      return { ...found, items: await accounts.load(tx, found.items) }
    })
  }
}

/**
 * All repositories that the viewer can see and that match.
 * @param matches is given also how many were read
 */
const allMatching = async (
  tx: ReadTransaction,
  batches: AsyncIterable<{ readonly visible: readonly IndexEntry[] }>,
  matches: (repository: Repository, read: number) => Promise<boolean>,
): Promise<Repository[]> => {
  const found: Repository[] = []
  let read = 0
  for await (const { visible } of batches)
    for (const repository of await repositories.load(tx, visible))
      if (await matches(repository, ++read)) found.push(repository)
  return found
}

/** The entry of the viewer, who sees itself, if it matches. */
const ownEntry = async (tx: ReadTransaction, viewer: Viewer, word: string): Promise<Entries> => {
  const own = viewer === null ? undefined : await accounts.get(tx, [viewer.id])
  if (own?.kind !== 'user') return []
  return containing(word, [accounts.entryOf('ngrams', [audienceText(own), ''], own)])
}

/** What a viewer can see. */
interface Sight {
  /** Audiences of the repositories that the viewer can see, whoever owns them. */
  readonly open: readonly Audience[]
  /** What the viewer can see by a right. */
  readonly own: Shared
}

const sightOf = async (tx: ReadTransaction, viewer: Viewer): Promise<Sight> => {
  const open = openAudiences(viewer)
  const seesAll = viewer === null || open.includes(PRIVATE)
  return { open, own: seesAll ? { owners: [], repositories: [] } : await sharedWith(tx, viewer.id) }
}

/**
 * Leaves out entries of owners whom the viewer cannot see, and of deleted ones, whose repositories a job
 * removes in steps. Entries that do not tell their owner are from listings of what the viewer can see.
 */
const withOpenOwners = (tx: ReadTransaction, open: readonly Audience[]) => {
  const isOpen = new Map<number | undefined, boolean>([[undefined, true]])
  return async (entries: readonly IndexEntry[]): Promise<IndexEntry[]> => {
    const owners = entries.map((entry) => repositories.orderOf(entry)[2] as number | undefined)
    const others = [...new Set(owners)].filter((owner): owner is number => !isOpen.has(owner))
    const found = await openAmong(tx, open, others)
    for (const owner of others) isOpen.set(owner, found.has(owner))
    return entries.filter((_, at) => isOpen.get(owners[at]))
  }
}

/** Those of the owners who are of an audience. Most are of the first one. */
const openAmong = async (tx: ReadTransaction, open: readonly Audience[], owners: readonly number[]) => {
  const found = new Set<number>()
  for (const audience of open) {
    const others = owners.filter((owner) => !found.has(owner))
    const asked = others.map((owner) => [audience, owner])
    const counts = await accounts.counts(tx, 'audience', asked)
    for (const [at, owner] of others.entries()) if (counts[at]! > 0) found.add(owner)
  }
  return found
}

/**
 * Listings by name that have every repository that the viewer can see and whose name contains the word. Those
 * by n-gram have others, which {@link withOpenOwners} leaves out. Private repositories are listed by owner,
 * since others may have any number of them.
 */
const listingsOf = async (
  tx: ReadTransaction,
  { open, own }: Sight,
  { word, ownerName }: QueryPart,
  owner: number | undefined,
): Promise<Entries[]> => {
  if (word.length > NAME_LIMIT) return []
  const within = ownerName === undefined ? owner : (await accountByName(tx, ownerName))?.id
  if (ownerName !== undefined && (within === undefined || within !== (owner ?? within))) return []
  const shared = own.repositories.filter((one) => within === undefined || one.owner === within)
  const listing = (prefix: KeyTuple) => containing(word, repositories.entries(tx, 'name', { prefix }))
  if (within !== undefined) {
    const account = await accounts.get(tx, [within])
    if (account === undefined) return []
    const isOwn = own.owners.includes(within)
    const listed = [isOwn || open.includes(audienceOfAccount(account)), isOwn || open.includes(PRIVATE)]
    const prefixes = [false, true].filter((_, at) => listed[at]).map((isPrivate) => [within, isPrivate])
    return [...prefixes.map(listing), ...sharedListing(shared, word)]
  }
  return [
    await searchEntries(tx, repositories, [false], word, NUMBERS),
    ...(open.includes(PRIVATE) ? [await searchEntries(tx, repositories, [true], word, NUMBERS)] : []),
    ...(await ownPrefixes(tx, open, own.owners)).map(listing),
    ...sharedListing(shared, word),
  ]
}

/** Listings that are not empty, of owners of whom the viewer sees all, besides what is listed by n-gram. */
const ownPrefixes = async (tx: ReadTransaction, open: readonly Audience[], owners: readonly number[]) => {
  const isOpen = await openAmong(tx, open, owners)
  const prefixes = owners.flatMap((owner) =>
    (isOpen.has(owner) ? [true] : [false, true]).map((isPrivate) => [owner, isPrivate] as const),
  )
  const counts = await repositories.counts(tx, 'owner', prefixes)
  return prefixes.filter((_, index) => counts[index]! > 0)
}

/** The numbers after the names in the keys of n-grams: the id of the repository, and its owner. */
const NUMBERS = 2

/** Single repositories by name, as the other listings; no listing when there are none, so none is merged. */
const sharedListing = (shared: readonly Repository[], word: string): Entries[] => {
  if (shared.length === 0) return []
  const entries = shared.map((one) => repositories.entryOf('name', ownerAndPrivacy(one), one))
  entries.sort((left, right) => Buffer.compare(left.order, right.order))
  return [containing(word, entries)]
}

/**
 * Whether a search reads many records.
 * @throws AllotError invalid for too many words
 */
export const readsMany = ({ q = '', filter = {} }: RepositoryQuery, { offset, limit }: Slice): boolean =>
  isFiltered(filter) || partsOf(q).length > 1 || offset + limit > MAX_COUNTED

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

const userById = async (tx: ReadTransaction, viewer: Viewer, id: number, word: string) => {
  const account = await accounts.get(tx, [id])
  if (account?.kind !== 'user' || !(await canSee(tx, viewer, account))) return undefined
  const texts = [account.name, account.fullName]
  return texts.some((text) => foldCase(text).includes(foldCase(word))) ? account : undefined
}
