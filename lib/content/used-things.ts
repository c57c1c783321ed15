/**
 * Everything that an owner uses, of all kinds together: git data, LFS objects, packages, attachments and artifacts, or
 * repositories with all that is in them. The pages list it, and delete or download what this server keeps.
 */
import type { Viewer } from '../accounts/access.ts'
import type { QuotaEngine } from '../quota/index.ts'
import type { IndexEntry, Page, Slice } from '../records/collection.ts'
import { merge, pageOf } from '../records/merge.ts'
import {
  type LedgerEntry,
  type LedgerKind,
  partitionOwner,
  type RepositoryUsage,
  repositories,
  repositoryUsages,
} from '../records/schema/index.ts'
import { cachedRead, type Store } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import {
  byOrder,
  type Candidate,
  ENTRY_KINDS,
  entryOfRepository,
  entryThing,
  isNamed,
  loadPaced,
  matches,
  type OwnRepository,
  orderOf,
  repositoryThing,
  type Thing,
  type ThingKind,
  type ThingQuery,
  thingKinds,
  thingOf,
} from './things.ts'

export interface ThingPage extends Page<Thing> {
  /** Things that the pages of the list have; less than the total of a long list. */
  readonly listed: number
  /** True when only the {@link MAX_READ} largest of each kind were looked at. */
  readonly isPartial: boolean
}

/** The members of a thing that its row in a CSV file has. */
export type ThingRow = Pick<Thing, 'kind' | 'name' | 'size' | 'createdAt' | 'inRepository' | 'isHidden'>

/** Things of each kind that one request reads at most, to search them or to sort them in another way than by size. */
export const MAX_READ = 1000
/** The largest things of all kinds that can be listed, which only reads entries of an index before the page. */
export const MAX_LISTED = 10_000

/** The repositories of an owner with their usage. */
const readRepositories = cachedRead(
  'repositories with usage',
  async (tx, { owner }: { readonly owner: number }): Promise<readonly OwnRepository[]> => {
    const owned = await repositories.list(tx, 'id', { prefix: [owner] })
    const usages = await repositoryUsages.byIds(
      tx,
      owned.map(({ id }) => id),
    )
    return owned.flatMap((repository) => {
      const usage = usages.get(repository.id)
      return usage === undefined ? [] : [{ repository, usage }]
    })
  },
)

export class UsedThings {
  readonly #store: Store
  readonly #quota: QuotaEngine

  constructor(store: Store, quota: QuotaEngine) {
    this.#store = store
    this.#quota = quota
  }

  /** The largest things, or those that are found and sorted among the {@link MAX_READ} largest of each kind. */
  async list(viewer: Viewer, owner: number, query: ThingQuery, slice: Slice): Promise<ThingPage> {
    const own = await readRepositories(this.#store, { owner })
    return this.#store.read(async (tx) => {
      const { shown, ...page } = await this.#select(tx, viewer, owner, own, query, slice)
      return { ...page, items: await Promise.all(shown.map((candidate) => thingOf(tx, candidate))) }
    })
  }

  /** The same for a file: as many as a list has pages for. */
  async rows(
    viewer: Viewer,
    owner: number,
    query: ThingQuery,
  ): Promise<{ rows: readonly ThingRow[]; isCut: boolean }> {
    const own = await readRepositories(this.#store, { owner })
    return this.#store.read(async (tx) => {
      const all = { offset: 0, limit: MAX_LISTED }
      const { shown, total, isPartial } = await this.#select(tx, viewer, owner, own, query, all)
      return { rows: shown, isCut: isPartial || total > shown.length }
    })
  }

  async #select(
    tx: ReadTransaction,
    viewer: Viewer,
    owner: number,
    all: readonly OwnRepository[],
    query: ThingQuery,
    slice: Slice,
  ): Promise<Omit<ThingPage, 'items'> & { shown: Candidate[] }> {
    const { kind, repository, search, sort = 'size', reverse } = query
    const isBySize = !search && sort === 'size' && !reverse
    if (isBySize && !repository) return this.#largest(tx, viewer, owner, all, kindsIn(kind), slice)
    const own = all.filter((one) => isNamed(one.repository, repository))
    const { candidates, total } = await this.#candidates(tx, viewer, owner, own, query)
    const found = candidates.filter(({ name }) => matches(name, search)).sort(orderOf(query))
    return {
      shown: found.slice(slice.offset, slice.offset + slice.limit),
      total: isBySize ? total : found.length,
      listed: found.length,
      isPartial: total > candidates.length,
    }
  }

  /** Skips the entries before the page without loading what they stand for. */
  async #largest(
    tx: ReadTransaction,
    viewer: Viewer,
    owner: number,
    own: readonly OwnRepository[],
    kinds: readonly ThingKind[],
    { offset, limit }: Slice,
  ): Promise<Omit<ThingPage, 'items'> & { shown: Candidate[] }> {
    const usages = own.map(({ usage }) => usage)
    const end = Math.min(MAX_LISTED, offset + limit)
    const repositories = new Map<IndexEntry, Candidate>()
    const parts = kinds.map(async (kind) => {
      if (kind !== 'repositories' && kind !== 'git')
        return this.#quota.ledger.largest(tx, owner, kind, usages, end)
      const entries = own.map((one) => entryOfRepository(repositoryThing(viewer, one, kind)))
      for (const [entry, candidate] of entries) repositories.set(entry, candidate)
      return { entries: entries.map(([entry]) => entry).sort(byOrder), total: own.length }
    })
    const listings = await Promise.all(parts)
    const page = await pageOf(merge(listings.map(({ entries }) => entries)), {
      offset,
      limit: Math.max(0, end - offset),
    })
    const byId = new Map(own.map(({ repository }) => [repository.id, repository]))
    const loaded = await loadPaced(
      tx,
      page.filter((entry) => !repositories.has(entry)),
    )
    const shown = page.flatMap((entry): Candidate[] => {
      const repository = repositories.get(entry)
      if (repository !== undefined) return [repository]
      const record = loaded.get(entry)
      return record === undefined ? [] : [entryThing(viewer, record, byId.get(record.repository ?? 0))]
    })
    const total = listings.reduce((sum, one) => sum + one.total, 0)
    return { shown, total, listed: Math.min(total, MAX_LISTED), isPartial: false }
  }

  /** The things with these ids that count toward the owner. */
  async byIds(viewer: Viewer, owner: number, ids: readonly string[]): Promise<Thing[]> {
    const own = await readRepositories(this.#store, { owner })
    return this.#store.read(async (tx) => {
      const found = await Promise.all(ids.map((id) => this.#find(tx, viewer, owner, own, id)))
      const visible = found.filter((candidate) => candidate !== undefined && !candidate.isHidden)
      return Promise.all(visible.map((candidate) => thingOf(tx, candidate!)))
    })
  }

  async #find(
    tx: ReadTransaction,
    viewer: Viewer,
    owner: number,
    own: readonly OwnRepository[],
    id: string,
  ): Promise<Candidate | undefined> {
    const [kind = '', key = ''] = id.split(/:(.*)/s)
    const isRepository = kind === 'repositories' || kind === 'git'
    if (isRepository) {
      const one = own.find(({ repository }) => String(repository.id) === key)
      return one && repositoryThing(viewer, one, kind)
    }
    const entryKind = ENTRY_KINDS.find((name) => name === kind)
    const entry = entryKind && (await this.#quota.ledger.get(tx, entryKind, key))
    if (entry === undefined) return undefined
    const one = own.find(({ repository }) => repository.id === entry.repository)
    const isOwn = entry.repository === null ? partitionOwner(entry) === owner : one !== undefined
    return isOwn ? entryThing(viewer, entry, one?.repository) : undefined
  }

  async #largestOfKind(
    tx: ReadTransaction,
    owner: number,
    kind: LedgerKind,
    usages: readonly RepositoryUsage[],
  ): Promise<Page<LedgerEntry>> {
    const { entries, total } = await this.#quota.ledger.largest(tx, owner, kind, usages, MAX_READ)
    const first = await pageOf(entries, { offset: 0, limit: MAX_READ })
    return { items: [...(await loadPaced(tx, first)).values()], total }
  }

  async #candidates(
    tx: ReadTransaction,
    viewer: Viewer,
    owner: number,
    own: readonly OwnRepository[],
    { kind, repository }: ThingQuery,
  ): Promise<{ candidates: Candidate[]; total: number }> {
    const byId = new Map(own.map((one) => [one.repository.id, one.repository]))
    const parts = kindsIn(kind).map(async (one) => {
      if (one === 'repositories' || one === 'git')
        return {
          total: own.length,
          candidates: own.map((item) => repositoryThing(viewer, item, one)),
        }
      const usages = own.map(({ usage }) => usage)
      const { items, total } = repository
        ? await this.#quota.ledger.largestIn(tx, usages, one, MAX_READ)
        : await this.#largestOfKind(tx, owner, one, usages)
      return {
        total,
        candidates: items.map((entry) => entryThing(viewer, entry, byId.get(entry.repository ?? 0))),
      }
    })
    const all = await Promise.all(parts)
    return {
      candidates: all.flatMap(({ candidates }) => candidates),
      total: all.reduce((sum, { total }) => sum + total, 0),
    }
  }
}

const kindsIn = (kind: ThingKind | undefined): readonly ThingKind[] =>
  kind === undefined ? thingKinds.slice(1) : [kind]
