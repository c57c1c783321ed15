import type { IndexEntry } from '../records/collection.ts'
import { isPending } from '../records/jobs.ts'
import { merge, pageOf } from '../records/merge.ts'
import type { Slice } from '../records/pages.ts'
import {
  type EntrySize,
  type LedgerKind,
  type LedgerRecord,
  ledgerEntries,
  noEntries,
  type OfKinds,
  ownerUsages,
  type RepositoryUsage,
  repositoryUsages,
} from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { checkSum, type OwnerCounters } from './usage.ts'

/** An entry as `put` takes it. */
type NewEntry = Omit<LedgerRecord, 'owner' | keyof typeof NO_DETAILS> &
  Partial<Pick<LedgerRecord, keyof typeof NO_DETAILS>> & {
    /** Owner of the repository, or of the entry itself when it belongs to no repository. */
    owner: number
  }

/** The members that only entries of some kinds have. */
const NO_DETAILS = { on: null, index: null, run: null, type: null, version: null }

/** The kinds whose entries the API lists. LFS objects are counted, and the pages list them. */
export type ListedKind = Exclude<LedgerKind, 'lfs'>

/**
 * Called in the transaction that changes the LFS objects of a repository.
 * @param lfs bytes of LFS objects that the repository has now
 */
export type LfsChanged = (tx: WriteContext, repository: number, lfs: number) => Promise<void>

/**
 * Everything that counts toward quota besides git data: one entry per LFS object, attachment, artifact and
 * package. An entry belongs to a repository, with which it moves and disappears, or to an owner alone.
 */
export class LedgerById {
  readonly #counters: OwnerCounters
  readonly #lfsChanged: LfsChanged
  readonly #onExpiring: (expiresAt: number) => void

  /** @param onExpiring called when an entry that expires is stored */
  constructor(counters: OwnerCounters, lfsChanged: LfsChanged, onExpiring: (expiresAt: number) => void) {
    this.#counters = counters
    this.#lfsChanged = lfsChanged
    this.#onExpiring = onExpiring
  }

  async get(tx: ReadTransaction, kind: LedgerKind, key: string): Promise<LedgerRecord | undefined> {
    const entry = await ledgerEntries.get(tx, [kind, key])
    return entry !== undefined && (await isLive(tx, entry)) ? entry : undefined
  }

  /**
   * Entries whose keys begin with a prefix, in the order of the keys.
   * @param after the last key of the page before
   */
  async byKey(
    tx: ReadTransaction,
    kind: LedgerKind,
    { prefix, after = '', limit }: { prefix: string; after?: string | undefined; limit: number },
  ): Promise<LedgerRecord[]> {
    const found: LedgerRecord[] = []
    for await (const entry of ledgerEntries.all(tx, [kind], after || prefix)) {
      if (!entry.key.startsWith(prefix) || found.length === limit) break
      if (entry.key !== after && (await isLive(tx, entry))) found.push(entry)
    }
    return found
  }

  /** Saves the entry, replacing one with the same kind and key: the same entry twice counts once. */
  async put(tx: WriteContext, entry: NewEntry): Promise<{ replaced: boolean }> {
    const { before, wasLive } = await this.#uncount(tx, entry.kind, entry.key)
    const repository = await repositoryOf(tx, entry)
    if (repository === undefined && entry.repository !== null)
      throw new Error(`the repository ${entry.repository} has no usage record`)
    const owner = repository === undefined ? entry.owner : null
    const placed: LedgerRecord = { ...NO_DETAILS, ...entry, owner }
    await this.#count(tx, repository, placed, 1)
    await ledgerEntries.replace(tx, before, placed)
    const { expiresAt } = entry
    if (expiresAt !== undefined) tx.afterCommit(() => this.#onExpiring(expiresAt))
    return { replaced: wasLive }
  }

  /** @returns whether the entry existed */
  async remove(tx: WriteContext, kind: LedgerKind, key: string): Promise<boolean> {
    const { before, wasLive } = await this.#uncount(tx, kind, key)
    if (before !== undefined) await ledgerEntries.removeLoaded(tx, before)
    return wasLive
  }

  /** Entries of the owner and its repositories, largest first, then by name. */
  async list(tx: ReadTransaction, owner: number, kind: ListedKind, slice: Slice): Promise<LedgerRecord[]> {
    const entries = await pageOf(entriesBySize(tx, owner, [kind], slice.offset + slice.limit), slice)
    return ledgerEntries.load(tx, entries)
  }

  /** How many entries of each kind an owner has, LFS objects too. */
  async counts(tx: ReadTransaction, owner: number): Promise<OfKinds> {
    return (await ownerUsages.get(tx, [owner]))?.entries ?? noEntries
  }

  /**
   * Adds an entry to the usage of its owner and its repository, or subtracts it.
   * @param repository usage of the repository of the entry, as it is now; undefined when it has none
   */
  async #count(
    tx: WriteContext,
    repository: RepositoryUsage | undefined,
    entry: LedgerRecord,
    sign: 1 | -1,
  ): Promise<void> {
    const { kind, size } = entry
    const [counted, bytes] = [countedAs(entry), sign === 1 ? size : 0 - size]
    this.#counters.add(tx, repository?.owner ?? entry.owner!, { [counted]: bytes }, { [kind]: sign })
    if (repository === undefined) return
    const sum = checkSum(repository[counted] + bytes)
    const entries = repository.entries[kind] + sign
    // What is left may be smaller than `largest`: looking for it would make large removals quadratic.
    const largest = entries === 0 ? 0 : Math.max(repository.largest[kind], size)
    await repositoryUsages.replace(tx, repository, {
      ...repository,
      [counted]: sum,
      entries: { ...repository.entries, [kind]: entries },
      largest: { ...repository.largest, [kind]: largest },
    })
    if (kind === 'lfs') await this.#lfsChanged(tx, repository.id, sum)
  }

  /**
   * Subtracts an entry that is about to be replaced or removed.
   * @returns the entry, and whether it existed for readers
   */
  async #uncount(
    tx: WriteContext,
    kind: LedgerKind,
    key: string,
  ): Promise<{ before: LedgerRecord | undefined; wasLive: boolean }> {
    const before = await ledgerEntries.get(tx, [kind, key])
    if (before === undefined) return { before, wasLive: false }
    const wasLive = await isLive(tx, before)
    const repository = await repositoryOf(tx, before)
    // The usage of a deleted repository was subtracted as a whole when it was deleted.
    if (repository !== undefined || before.repository === null) await this.#count(tx, repository, before, -1)
    return { before, wasLive }
  }
}

/**
 * Entries of some kinds of an owner and its repositories, largest first. Each kind of each repository has a
 * listing of its own, which is opened when its largest entry can be next: a page opens about as many listings
 * as it has entries.
 * @param limit entries that the caller takes at most
 */
export const entriesBySize = (
  tx: ReadTransaction,
  owner: number,
  kinds: readonly LedgerKind[],
  limit: number,
): AsyncIterable<IndexEntry> => {
  const open = (index: 'owner' | 'repo', id: number, kind: LedgerKind) =>
    ledgerEntries.entries(tx, index, { prefix: [id, kind], limit })
  async function* ofRepositories(kind: LedgerKind) {
    for await (const entry of repositoryUsages.entries(tx, kind, { prefix: [owner] }))
      yield { from: entry.order, listings: [open('repo', repositoryUsages.numberOf(entry), kind)] }
  }
  return merge(kinds.map((kind) => merge([open('owner', owner, kind)], false, ofRepositories(kind))))
}

/**
 * Whether the entry exists for readers. Entries of deleted owners and repositories are removed later, by
 * jobs.
 */
const isLive = async (tx: ReadTransaction, entry: LedgerRecord): Promise<boolean> => {
  const owner = entry.owner ?? (await repositoryOf(tx, entry))?.owner
  return owner !== undefined && !(await isPending(tx, 'removeAccountData', owner))
}

const repositoryOf = async (
  tx: ReadTransaction,
  { repository }: Pick<LedgerRecord, 'repository'>,
): Promise<RepositoryUsage | undefined> =>
  repository === null ? undefined : repositoryUsages.get(tx, [repository])

export const countedAs = (entry: Pick<LedgerRecord, 'kind' | 'on'>): EntrySize => {
  if (entry.kind !== 'attachments') return entry.kind
  return entry.on === 'issue' ? 'issues' : 'releases'
}
