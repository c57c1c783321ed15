/**
 * Everything that an owner uses, of all kinds together: git data, LFS objects, packages, attachments and
 * artifacts, or repositories with all that is in them. The pages list it, and delete or download what this
 * server keeps.
 */
import type { Viewer } from '../../accounts/access.ts'
import type { QuotaEngine } from '../../quota/index.ts'
import { entriesBySize } from '../../quota/ledger.ts'
import { inSteps, merge, pageOf } from '../../records/merge.ts'
import type { Page, Slice } from '../../records/pages.ts'
import {
  type LedgerKind,
  type LedgerRecord,
  ledgerEntries,
  type OfKinds,
  type Repository,
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
  /** True when only the {@link MAX_LISTED} largest entries were looked at, to search or to sort them. */
  readonly isPartial: boolean
}

/** The members of an item that its row in a CSV file has. */
export type StorageItemSummary = Pick<
  StorageItem,
  'kind' | 'name' | 'size' | 'createdAt' | 'inRepository' | 'isHidden'
>

/** The largest entries that a list of the pages has, whatever it is sorted by and searched for. */
export const MAX_LISTED = 1000
/** The same of a CSV file. */
const MAX_ROWS = 10_000

/**
 * The repositories of an owner with their usage, which each list needs. Only the repositories are kept: most
 * writes change the usage.
 */
const repositoriesWithUsage = async (store: Store, owner: number): Promise<RepositoryWithUsage[]> => {
  const owned = await store.cached(`repositories of ${owner}`, async (tx) => {
    const found: Repository[] = []
    const entries = repositories.entries(tx, 'id', { prefix: [owner] })
    for await (const step of inSteps(entries, (some) => repositories.load(tx, some))) found.push(...step)
    return found
  })
  const ids = owned.map(({ id }) => id)
  const usages = await store.read((tx) => repositoryUsages.byIds(tx, ids))
  return owned.flatMap((repository) => {
    const usage = usages.get(repository.id)
    return usage === undefined ? [] : [{ repository, usage }]
  })
}

export class StorageItems {
  readonly #store: Store
  readonly #quota: QuotaEngine

  constructor(store: Store, quota: QuotaEngine) {
    this.#store = store
    this.#quota = quota
  }

  /** The largest items, or those that are found and sorted among them. */
  async list(viewer: Viewer, owner: number, query: StorageItemQuery, slice: Slice): Promise<StorageItemPage> {
    const { shown, ...page } = await this.#select(viewer, owner, query, slice, MAX_LISTED)
    const items = await this.#store.read(async (tx) =>
      withUploaders(tx, viewer, await Promise.all(shown.map((candidate) => itemOf(tx, candidate)))),
    )
    return { ...page, items }
  }

  /** The same for a CSV file. */
  async rows(
    viewer: Viewer,
    owner: number,
    query: StorageItemQuery,
  ): Promise<{ rows: readonly StorageItemSummary[]; isCut: boolean }> {
    const all = { offset: 0, limit: Number.POSITIVE_INFINITY }
    const { shown, total, isPartial } = await this.#select(viewer, owner, query, all, MAX_ROWS)
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

  /** @param longest entries that are looked at, at most */
  async #select(
    viewer: Viewer,
    owner: number,
    query: StorageItemQuery,
    { offset, limit }: Slice,
    longest: number,
  ): Promise<ShownItems> {
    const { repository, uploader, search, sort = 'size', reverse } = query
    const kind = uploader ? 'attachments' : query.kind
    const own = (await repositoriesWithUsage(this.#store, owner)).filter((one) =>
      isNamed(one.repository, repository),
    )
    const isBySize = !search && !uploader && sort === 'size' && !reverse
    const end = isBySize ? Math.min(longest, offset + limit) : longest
    const { candidates, total } = await this.#candidates(viewer, owner, own, { ...query, kind }, end)
    const wanted = uploader
      ? await this.#store.read((tx) => uploadedBy(tx, viewer, uploader, candidates))
      : candidates
    const found = wanted.filter(({ name }) => matches(name, search)).sort(orderOf(query))
    return {
      shown: found.slice(0, isBySize ? end : undefined).slice(offset, offset + limit),
      total: isBySize ? total : found.length,
      listed: isBySize ? Math.min(total, longest) : found.length,
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

  /** The largest entries, or those of some repositories, all repositories, and how many both are. */
  async #candidates(
    viewer: Viewer,
    owner: number,
    own: readonly RepositoryWithUsage[],
    { kind, repository }: StorageItemQuery,
    limit: number,
  ): Promise<{ candidates: Candidate[]; total: number }> {
    const byId = new Map(own.map((one) => [one.repository.id, one.repository]))
    const kinds = kindsIn(kind).filter(isEntryKind)
    const { isReadable, entries, total } = await this.#store.read(async (tx) => {
      const listing = repository
        ? merge(own.flatMap(({ usage: { id } }) => kinds.map((each) => entriesIn(tx, id, each, limit))))
        : entriesBySize(tx, owner, kinds, limit)
      const counts = repository
        ? own.map(({ usage }) => usage.entries)
        : [await this.#quota.ledger.counts(tx, owner)]
      const page = await pageOf(listing, { offset: 0, limit })
      const entries: LedgerRecord[] = []
      for await (const step of inSteps(page, (some) => ledgerEntries.load(tx, some))) entries.push(...step)
      const total = counts.reduce((sum, each) => sum + sumOf(each, kinds), 0)
      return { isReadable: await readableOf(tx, viewer, owner), entries, total }
    })
    const wholes = kindsIn(kind)
      .filter((each) => !isEntryKind(each))
      .flatMap((each) => own.map((one) => repositoryItem(isReadable, one, each)))
    const items = entries.map((entry) => entryItem(isReadable, entry, byId.get(entry.repository ?? 0)))
    return { candidates: [...wholes, ...items], total: wholes.length + total }
  }
}

/** Entries of a kind in a repository, largest first. */
const entriesIn = (tx: ReadTransaction, repository: number, kind: LedgerKind, limit: number) =>
  ledgerEntries.entries(tx, 'repo', { prefix: [repository, kind], limit })

const sumOf = (counts: OfKinds, kinds: readonly LedgerKind[]): number =>
  kinds.reduce((sum, kind) => sum + counts[kind], 0)

/** The items of a page, before their details are read. */
type ShownItems = Omit<StorageItemPage, 'items'> & { readonly shown: readonly Candidate[] }

const kindsIn = (kind: StorageItemKind | undefined): readonly StorageItemKind[] =>
  kind === undefined ? storageItemKinds.slice(1) : [kind]

const isEntryKind = (kind: StorageItemKind): kind is LedgerKind => kind !== 'repositories' && kind !== 'git'
