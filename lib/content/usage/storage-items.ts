/**
 * Everything that an owner uses, of all kinds together: git data, LFS objects, packages, attachments and
 * artifacts, or repositories with all that is in them. The pages list it, and delete or download what this
 * server keeps.
 */
import type { Viewer } from '../../accounts/access.ts'
import type { QuotaEngine } from '../../quota/index.ts'
import { entryListings } from '../../quota/partitions.ts'
import { type CachedListing, cachedListing } from '../../records/cached-listing.ts'
import type { IndexEntry } from '../../records/collection.ts'
import { firstOf, type PartedListing } from '../../records/merge.ts'
import type { Page, Slice } from '../../records/pages.ts'
import {
  type LedgerKind,
  type LedgerRecord,
  ledgerEntries,
  type RepositoryUsage,
  repositories,
  repositoryUsages,
} from '../../records/schema/index.ts'
import type { Store } from '../../records/store.ts'
import type { Bytes, ReadTransaction } from '../../storage/index.ts'
import {
  type Candidate,
  ENTRY_KINDS,
  entryItem,
  isNamed,
  itemOf,
  largestRepositoryItems,
  loadPaced,
  matches,
  orderOf,
  type RepositoryWithUsage,
  repositoryItem,
  type StorageItem,
  type StorageItemKind,
  type StorageItemQuery,
  storageItemKinds,
} from './storage-item.ts'
import { uploadedBy, withUploaders } from './uploaders.ts'

export interface StorageItemPage extends Page<StorageItem> {
  /** Items that the pages of the list have; fewer than the total of a long list. */
  readonly listed: number
  /** True when only the {@link MAX_PER_KIND} largest of each kind were looked at. */
  readonly isPartial: boolean
}

/** The members of an item that its row in a CSV file has. */
export type StorageItemSummary = Pick<
  StorageItem,
  'kind' | 'name' | 'size' | 'createdAt' | 'inRepository' | 'isHidden'
>

/**
 * Items of each kind that one request reads at most, to search them or to sort them in another way than by
 * size.
 */
export const MAX_PER_KIND = 1000
/** Longest list, in items. Skipping to a page reads index entries, not records. */
const MAX_LISTED = 10_000

/** The repositories of an owner with their usage. */
const repositoriesWithUsage = cachedListing(
  'repositories with usage',
  repositories,
  async (tx, entries): Promise<RepositoryWithUsage[]> => {
    const ids = entries.map((entry) => repositories.numberOf(entry))
    const [owned, usages] = await Promise.all([
      repositories.load(tx, entries),
      repositoryUsages.byIds(tx, ids),
    ])
    return owned.flatMap((repository) => {
      const usage = usages.get(repository.id)
      return usage === undefined ? [] : [{ repository, usage }]
    })
  },
)

/** Entries by size, without their records: enough for lists of which a page is shown. */
const entriesBySize = cachedListing('entries by size', ledgerEntries, async (_tx, entries) => entries)

/** Entries by size with their records. */
const recordsBySize = cachedListing(
  'records by size',
  ledgerEntries,
  async (tx, entries): Promise<{ order: Bytes; record: LedgerRecord }[]> => {
    const pairs = await ledgerEntries.loadPairs(tx, entries)
    return pairs.map(([{ order }, record]) => ({ order, record }))
  },
)

export class StorageItems {
  readonly #store: Store
  readonly #quota: QuotaEngine

  constructor(store: Store, quota: QuotaEngine) {
    this.#store = store
    this.#quota = quota
  }

  /**
   * The largest items, or those that are found and sorted among the {@link MAX_PER_KIND} largest of each
   * kind.
   */
  async list(viewer: Viewer, owner: number, query: StorageItemQuery, slice: Slice): Promise<StorageItemPage> {
    const { shown, ...page } = await this.#select(viewer, owner, query, slice)
    const items = await this.#store.read(async (tx) =>
      withUploaders(tx, viewer, await Promise.all(shown.map((candidate) => itemOf(tx, candidate)))),
    )
    return { ...page, items }
  }

  /** The same for the CSV download: as many as a list has pages for. */
  async rows(
    viewer: Viewer,
    owner: number,
    query: StorageItemQuery,
  ): Promise<{ rows: readonly StorageItemSummary[]; isCut: boolean }> {
    const all = { offset: 0, limit: MAX_LISTED }
    const { shown, total, isPartial } = await this.#select(viewer, owner, query, all)
    return { rows: shown, isCut: isPartial || total > shown.length }
  }

  /** The items with these ids that count toward the owner. */
  async byIds(viewer: Viewer, owner: number, ids: readonly string[]): Promise<StorageItem[]> {
    const own = await this.#own(owner)
    return this.#store.read(async (tx) => {
      const found = await Promise.all(ids.map((id) => this.#find(tx, viewer, owner, own, id)))
      const visible = found.filter((candidate) => candidate !== undefined && !candidate.isHidden)
      return Promise.all(visible.map((candidate) => itemOf(tx, candidate!)))
    })
  }

  async #own(owner: number): Promise<RepositoryWithUsage[]> {
    const own: RepositoryWithUsage[] = []
    for await (const part of repositoriesWithUsage(this.#store, 'id', [owner])) own.push(...part)
    return own
  }

  async #select(viewer: Viewer, owner: number, query: StorageItemQuery, slice: Slice): Promise<ShownItems> {
    const { repository, uploader, search, sort = 'size', reverse } = query
    const kind = uploader ? 'attachments' : query.kind
    const all = await this.#own(owner)
    const isBySize = !search && !uploader && sort === 'size' && !reverse
    if (isBySize && !repository) return this.#largest(viewer, owner, all, kindsIn(kind), slice)
    const own = all.filter((one) => isNamed(one.repository, repository))
    const { candidates, total } = await this.#candidates(viewer, owner, own, { ...query, kind })
    const wanted = uploader
      ? await this.#store.read((tx) => uploadedBy(tx, viewer, uploader, candidates))
      : candidates
    const found = wanted.filter(({ name }) => matches(name, search)).sort(orderOf(query))
    return {
      shown: found.slice(slice.offset, slice.offset + slice.limit),
      total: isBySize ? total : found.length,
      listed: found.length,
      isPartial: total > candidates.length,
    }
  }

  /** Skips the entries before the page without loading their records. */
  async #largest(
    viewer: Viewer,
    owner: number,
    own: readonly RepositoryWithUsage[],
    kinds: readonly StorageItemKind[],
    { offset, limit }: Slice,
  ): Promise<ShownItems> {
    const usages = own.map(({ usage }) => usage)
    const end = Math.min(MAX_LISTED, offset + limit)
    const found = new Map<IndexEntry, Candidate>()
    const listings = kinds.flatMap((kind): PartedListing<IndexEntry>[] => {
      if (isEntryKind(kind)) return this.#listings(entriesBySize, owner, kind, usages, end)
      const candidates = own.map((owned) => repositoryItem(viewer, owned, kind))
      const entries = largestRepositoryItems(candidates, end)
      for (const [entry, candidate] of entries) found.set(entry, candidate)
      return [{ parts: [entries.map(([entry]) => entry)].values() }]
    })
    const page = (await firstOf(listings, end)).slice(offset)
    const byId = new Map(own.map(({ repository }) => [repository.id, repository]))
    const total = await this.#store.read(async (tx) => {
      const records = await loadPaced(
        tx,
        page.filter((entry) => !found.has(entry)),
      )
      for (const [entry, record] of records)
        found.set(entry, entryItem(viewer, record, byId.get(record.repository ?? 0)))
      return this.#total(tx, owner, kinds, usages)
    })
    // On LevelDB, the entries come from earlier snapshots: one that was removed meanwhile has no record.
    const shown = page.flatMap((entry) => found.get(entry) ?? [])
    return { shown, total, listed: Math.min(total, MAX_LISTED), isPartial: false }
  }

  async #find(
    tx: ReadTransaction,
    viewer: Viewer,
    owner: number,
    own: readonly RepositoryWithUsage[],
    id: string,
  ): Promise<Candidate | undefined> {
    const [kind = '', key = ''] = id.split(/:(.*)/s)
    const isRepository = kind === 'repositories' || kind === 'git'
    if (isRepository) {
      const one = own.find(({ repository }) => String(repository.id) === key)
      return one && repositoryItem(viewer, one, kind)
    }
    const entryKind = ENTRY_KINDS.find((name) => name === kind)
    const entry = entryKind && (await this.#quota.ledger.get(tx, entryKind, key))
    if (entry === undefined) return undefined
    const one = own.find(({ repository }) => repository.id === entry.repository)
    const isOwn = entry.repository === null ? entry.partitionOwner === owner : one !== undefined
    return isOwn ? entryItem(viewer, entry, one?.repository) : undefined
  }

  /** The largest entries of each kind, or all of some repositories, and how many there are. */
  async #candidates(
    viewer: Viewer,
    owner: number,
    own: readonly RepositoryWithUsage[],
    { kind, repository }: StorageItemQuery,
  ): Promise<{ candidates: Candidate[]; total: number }> {
    const byId = new Map(own.map((one) => [one.repository.id, one.repository]))
    const usages = own.map(({ usage }) => usage)
    const perKind = kindsIn(kind).map(async (itemKind) => {
      if (!isEntryKind(itemKind))
        return { candidates: own.map((owned) => repositoryItem(viewer, owned, itemKind)), total: own.length }
      const { items, total } = repository
        ? await this.#store.read((tx) => this.#quota.ledger.largestIn(tx, usages, itemKind, MAX_PER_KIND))
        : await this.#largestOfKind(owner, itemKind, usages)
      return {
        candidates: items.map((entry) => entryItem(viewer, entry, byId.get(entry.repository ?? 0))),
        total,
      }
    })
    const all = await Promise.all(perKind)
    return {
      candidates: all.flatMap(({ candidates }) => candidates),
      total: all.reduce((sum, { total }) => sum + total, 0),
    }
  }

  async #largestOfKind(
    owner: number,
    kind: LedgerKind,
    usages: readonly RepositoryUsage[],
  ): Promise<Page<LedgerRecord>> {
    const first = await firstOf(
      this.#listings(recordsBySize, owner, kind, usages, MAX_PER_KIND),
      MAX_PER_KIND,
    )
    const total = await this.#store.read((tx) => this.#quota.ledger.total(tx, owner, kind, usages))
    return { items: first.map(({ record }) => record), total }
  }

  #listings<Row>(
    listing: CachedListing<'main' | 'overflow', Row>,
    owner: number,
    kind: LedgerKind,
    usages: readonly RepositoryUsage[],
    limit: number,
  ): PartedListing<Row>[] {
    return entryListings(owner, kind, usages).map(({ index, prefix, from }) => ({
      from,
      parts: listing(this.#store, index, prefix, limit),
    }))
  }

  async #total(
    tx: ReadTransaction,
    owner: number,
    kinds: readonly StorageItemKind[],
    usages: readonly RepositoryUsage[],
  ): Promise<number> {
    const totals = await Promise.all(
      kinds.map((kind) =>
        isEntryKind(kind) ? this.#quota.ledger.total(tx, owner, kind, usages) : usages.length,
      ),
    )
    return totals.reduce((sum, total) => sum + total, 0)
  }
}

/** The items of a page, before their details are read. */
type ShownItems = Omit<StorageItemPage, 'items'> & { readonly shown: readonly Candidate[] }

const kindsIn = (kind: StorageItemKind | undefined): readonly StorageItemKind[] =>
  kind === undefined ? storageItemKinds.slice(1) : [kind]

const isEntryKind = (kind: StorageItemKind): kind is LedgerKind => kind !== 'repositories' && kind !== 'git'
