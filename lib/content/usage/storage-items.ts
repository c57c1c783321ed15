/**
 * Everything that an owner uses, of all kinds together: git data, LFS objects, packages, attachments and
 * artifacts, or repositories with all that is in them. The pages list it, and delete or download what this
 * server keeps.
 */
import type { Viewer } from '../../accounts/access.ts'
import type { QuotaEngine } from '../../quota/index.ts'
import { entriesBySize } from '../../quota/ledger.ts'
import { inSteps, pageOf } from '../../records/merge.ts'
import type { Page, Slice } from '../../records/pages.ts'
import {
  type LedgerKind,
  type LedgerRecord,
  ledgerEntries,
  type OfKinds,
  type RepositoryUsage,
  repositories,
  repositoryUsages,
} from '../../records/schema/index.ts'
import type { Store } from '../../records/store.ts'
import type { ReadTransaction } from '../../storage/index.ts'
import { type IsReadable, readableOf } from './ledger-lists.ts'
import {
  type Candidate,
  ENTRY_KINDS,
  entryItem,
  isNamed,
  itemOf,
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
 * The largest items of each kind that one request reads at most, to search them or to sort them in another
 * way than by size.
 */
export const MAX_PER_KIND = 1000
/** Longest list by size, in items. A page reads as many of each kind as the list has up to its end. */
const MAX_LISTED = 10_000

/** The repositories of an owner with their usage, which each list needs. */
const repositoriesWithUsage = (store: Store, owner: number): Promise<RepositoryWithUsage[]> =>
  store.cached(`repositories with usage ${owner}`, async (tx) => {
    const found: RepositoryWithUsage[] = []
    const entries = repositories.entries(tx, 'id', { prefix: [owner] })
    for await (const owned of inSteps(entries, (step) => repositories.load(tx, step))) {
      const usages = await repositoryUsages.byIds(
        tx,
        owned.map(({ id }) => id),
      )
      for (const repository of owned) {
        const usage = usages.get(repository.id)
        if (usage !== undefined) found.push({ repository, usage })
      }
    }
    return found
  })

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
    const all = { offset: 0, limit: Number.POSITIVE_INFINITY }
    const { shown, total, isPartial } = await this.#select(viewer, owner, query, all)
    return { rows: shown, isCut: isPartial || total > shown.length }
  }

  /** The items with these ids that count toward the owner. */
  async byIds(viewer: Viewer, owner: number, ids: readonly string[]): Promise<StorageItem[]> {
    const own = await repositoriesWithUsage(this.#store, owner)
    return this.#store.read(async (tx) => {
      const isReadable = await readableOf(tx, viewer, owner)
      const found = await Promise.all(ids.map((id) => this.#find(tx, isReadable, owner, own, id)))
      const visible = found.filter((candidate) => candidate !== undefined && !candidate.isHidden)
      return Promise.all(visible.map((candidate) => itemOf(tx, candidate!)))
    })
  }

  async #select(viewer: Viewer, owner: number, query: StorageItemQuery, slice: Slice): Promise<ShownItems> {
    const { repository, uploader, search, sort = 'size', reverse } = query
    const kind = uploader ? 'attachments' : query.kind
    const own = (await repositoriesWithUsage(this.#store, owner)).filter((one) =>
      isNamed(one.repository, repository),
    )
    const isBySize = !search && !uploader && sort === 'size' && !reverse
    const end = isBySize ? Math.min(MAX_LISTED, slice.offset + slice.limit) : Number.POSITIVE_INFINITY
    const limit = isBySize ? end : MAX_PER_KIND
    const read = { limit, isPerKind: !isBySize }
    const { candidates, total } = await this.#candidates(viewer, owner, own, { ...query, kind }, read)
    const wanted = uploader
      ? await this.#store.read((tx) => uploadedBy(tx, viewer, uploader, candidates))
      : candidates
    const found = wanted.filter(({ name }) => matches(name, search)).sort(orderOf(query))
    return {
      shown: found.slice(0, end).slice(slice.offset, slice.offset + slice.limit),
      total: isBySize ? total : found.length,
      listed: isBySize ? Math.min(total, MAX_LISTED) : found.length,
      isPartial: !isBySize && total > candidates.length,
    }
  }

  async #find(
    tx: ReadTransaction,
    isReadable: IsReadable,
    owner: number,
    own: readonly RepositoryWithUsage[],
    id: string,
  ): Promise<Candidate | undefined> {
    const [kind = '', key = ''] = id.split(/:(.*)/s)
    const isRepository = kind === 'repositories' || kind === 'git'
    if (isRepository) {
      const one = own.find(({ repository }) => String(repository.id) === key)
      return one && repositoryItem(isReadable, one, kind)
    }
    const entryKind = ENTRY_KINDS.find((name) => name === kind)
    const entry = entryKind && (await this.#quota.ledger.get(tx, entryKind, key))
    if (entry === undefined) return undefined
    const one = own.find(({ repository }) => repository.id === entry.repository)
    const isOwn = entry.owner === null ? one !== undefined : entry.owner === owner
    return isOwn ? entryItem(isReadable, entry, one?.repository) : undefined
  }

  /**
   * The largest entries of all kinds together, or of each kind, or those of some repositories, and how many
   * there are.
   */
  async #candidates(
    viewer: Viewer,
    owner: number,
    own: readonly RepositoryWithUsage[],
    { kind, repository }: StorageItemQuery,
    { limit, isPerKind }: { limit: number; isPerKind: boolean },
  ): Promise<{ candidates: Candidate[]; total: number }> {
    const byId = new Map(own.map((one) => [one.repository.id, one.repository]))
    const usages = own.map(({ usage }) => usage)
    const kinds = kindsIn(kind).filter(isEntryKind)
    const { isReadable, found } = await this.#store.read(async (tx) => {
      const largest = (some: readonly LedgerKind[]) =>
        repository ? largestIn(tx, usages, some, limit) : this.#largest(tx, owner, some, limit)
      return {
        isReadable: await readableOf(tx, viewer, owner),
        found: await Promise.all((isPerKind ? kinds.map((each) => [each]) : [kinds]).map(largest)),
      }
    })
    const wholes = kindsIn(kind)
      .filter((each) => !isEntryKind(each))
      .flatMap((each) => own.map((one) => repositoryItem(isReadable, one, each)))
    const entries = found.flatMap(({ items }) => items)
    return {
      candidates: [
        ...wholes,
        ...entries.map((entry) => entryItem(isReadable, entry, byId.get(entry.repository ?? 0))),
      ],
      total: wholes.length + found.reduce((sum, { total }) => sum + total, 0),
    }
  }

  async #largest(
    tx: ReadTransaction,
    owner: number,
    kinds: readonly LedgerKind[],
    limit: number,
  ): Promise<Page<LedgerRecord>> {
    const entries = await pageOf(entriesBySize(tx, owner, kinds, limit), { offset: 0, limit })
    const items: LedgerRecord[] = []
    for await (const step of inSteps(entries, (some) => ledgerEntries.load(tx, some))) items.push(...step)
    const counts = await this.#quota.ledger.counts(tx, owner)
    return { items, total: sumOf(counts, kinds) }
  }
}

/** The largest entries of some kinds in some repositories, which are few. */
const largestIn = async (
  tx: ReadTransaction,
  usages: readonly RepositoryUsage[],
  kinds: readonly LedgerKind[],
  limit: number,
): Promise<Page<LedgerRecord>> => {
  const listings = usages.flatMap(({ id }) => kinds.map((kind) => ({ prefix: [id, kind], limit })))
  const found = await Promise.all(listings.map((listing) => ledgerEntries.list(tx, 'repo', listing)))
  return { items: found.flat(), total: usages.reduce((sum, { entries }) => sum + sumOf(entries, kinds), 0) }
}

const sumOf = (counts: OfKinds, kinds: readonly LedgerKind[]): number =>
  kinds.reduce((sum, kind) => sum + counts[kind], 0)

/** The items of a page, before their details are read. */
type ShownItems = Omit<StorageItemPage, 'items'> & { readonly shown: readonly Candidate[] }

const kindsIn = (kind: StorageItemKind | undefined): readonly StorageItemKind[] =>
  kind === undefined ? storageItemKinds.slice(1) : [kind]

const isEntryKind = (kind: StorageItemKind): kind is LedgerKind => kind !== 'repositories' && kind !== 'git'
