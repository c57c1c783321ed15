import type { IndexEntry } from '../records/collection.ts'
import { isPending, type Jobs } from '../records/jobs.ts'
import { encodeKey } from '../records/key-codec.ts'
import { merge, pageOf } from '../records/merge.ts'
import { paced } from '../records/pacing.ts'
import type { Page, Slice } from '../records/pages.ts'
import {
  type EntrySize,
  type LedgerKind,
  type LedgerRecord,
  ledgerEntries,
  type RepositoryUsage,
  repositoryUsages,
} from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import {
  countInOverflow,
  type ListedKind,
  overflowPartitions,
  partitionOwnerFor,
  withOverflow,
} from './partitions.ts'
import { checkSum, type OwnerCounters } from './usage.ts'

/** An entry as `put` takes it; the ledger chooses its partition. */
type NewEntry = Omit<LedgerRecord, 'partitionOwner' | keyof typeof NO_DETAILS> &
  Partial<Pick<LedgerRecord, keyof typeof NO_DETAILS>> & {
    /** Owner of the repository, or of the entry itself when it belongs to no repository. */
    owner: number
  }

/** The members that only entries of some kinds have. */
const NO_DETAILS = { on: null, index: null, run: null, type: null, version: null }

/**
 * Called in the transaction that changes the LFS objects of a repository.
 * @param lfs bytes of LFS objects that the repository has now
 */
export type LfsChanged = (tx: WriteContext, repository: number, lfs: number) => Promise<void>

/**
 * Everything that counts toward quota besides git data: one entry per LFS object, attachment, artifact and
 * package. Entries are stored in partitions, of owners and of repositories: see partitions.ts.
 */
export class LedgerById {
  readonly #counters: OwnerCounters
  readonly #jobs: Jobs
  readonly #lfsChanged: LfsChanged
  readonly #onExpiring: (expiresAt: number) => void

  /** @param onExpiring called when an entry that expires is stored */
  constructor(
    counters: OwnerCounters,
    jobs: Jobs,
    lfsChanged: LfsChanged,
    onExpiring: (expiresAt: number) => void,
  ) {
    this.#counters = counters
    this.#jobs = jobs
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
    for await (const entry of ledgerEntries.allFrom(tx, [kind], after || prefix)) {
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
    const partitionOwner =
      repository === undefined
        ? entry.owner
        : partitionOwnerFor(repository, this.#jobs.limits.maxPerTransaction)
    const placed: LedgerRecord = { ...NO_DETAILS, ...entry, partitionOwner }
    await this.#countIn(tx, repository, placed, 1)
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

  /**
   * Removes entries in the main partition of an owner, `limit` at most; the owner's repositories are already
   * removed.
   * @returns how many were removed
   */
  async removeOwned(tx: WriteContext, owner: number, limit: number): Promise<number> {
    const owned = await ledgerEntries.list(tx, 'main', { prefix: [owner], limit })
    for await (const entry of paced(owned)) {
      await this.#count(tx, entry, -1)
      await ledgerEntries.removeLoaded(tx, entry)
    }
    return owned.length
  }

  /** Entries of the owner and its repositories, largest first, then by name. */
  async list(tx: ReadTransaction, owner: number, kind: ListedKind, slice: Slice): Promise<LedgerRecord[]> {
    const entries = await pageOf(listedEntries(tx, owner, kind, slice.offset + slice.limit), slice)
    return ledgerEntries.load(tx, entries)
  }

  async count(tx: ReadTransaction, owner: number, kind: ListedKind): Promise<number> {
    let count = await ledgerEntries.count(tx, 'main', [owner, kind])
    for await (const { repository } of overflowPartitions(tx, owner, kind))
      count += await ledgerEntries.count(tx, 'overflow', [repository, kind])
    return count
  }

  /**
   * How many entries of a kind an owner has, LFS objects too.
   * @param usages of all repositories of the owner
   */
  async total(
    tx: ReadTransaction,
    owner: number,
    kind: LedgerKind,
    usages: readonly RepositoryUsage[],
  ): Promise<number> {
    const counts = await Promise.all([
      ledgerEntries.count(tx, 'main', [owner, kind]),
      ...withOverflow(usages, kind).map(({ id }) => ledgerEntries.count(tx, 'overflow', [id, kind])),
    ])
    return counts.reduce((sum, count) => sum + count, 0)
  }

  /** The largest entries of a kind in some repositories, which are few. */
  async largestIn(
    tx: ReadTransaction,
    usages: readonly RepositoryUsage[],
    kind: LedgerKind,
    limit: number,
  ): Promise<Page<LedgerRecord>> {
    const perRepository = usages.map(async ({ id, inOverflow }) => {
      // At most `maxPerTransaction` entries of a repository are in the main partition of its owner.
      const listed = await ledgerEntries.list(tx, 'inMain', { prefix: [id] })
      const ofKind = listed.filter((entry) => entry.kind === kind)
      if (inOverflow === 0) return { items: ofKind, total: ofKind.length }
      const own = await ledgerEntries.list(tx, 'overflow', { prefix: [id, kind], limit })
      const count = await ledgerEntries.count(tx, 'overflow', [id, kind])
      return { items: [...ofKind, ...own], total: ofKind.length + count }
    })
    const found = await Promise.all(perRepository)
    return {
      items: found.flatMap(({ items }) => items),
      total: found.reduce((sum, { total }) => sum + total, 0),
    }
  }

  /** Adds an entry to the usage of its owner and its repository, or subtracts it. */
  async #count(tx: WriteContext, entry: LedgerRecord, sign: 1 | -1): Promise<void> {
    const repository = await repositoryOf(tx, entry)
    // The usage of a deleted repository was subtracted as a whole when it was deleted.
    if (repository === undefined && entry.repository !== null) return
    await this.#countIn(tx, repository, entry, sign)
  }

  /** @param repository usage of the repository of the entry, as it is now; undefined when it has none */
  async #countIn(
    tx: WriteContext,
    repository: RepositoryUsage | undefined,
    entry: LedgerRecord,
    sign: 1 | -1,
  ): Promise<void> {
    const kind = countedAs(entry)
    const bytes = sign === 1 ? entry.size : 0 - entry.size
    this.#counters.add(tx, repository?.owner ?? entry.partitionOwner!, { [kind]: bytes })
    if (repository === undefined) return
    const entries =
      entry.partitionOwner === null
        ? countInOverflow(repository, entry, sign)
        : { inMain: repository.inMain + sign }
    const sum = checkSum(repository[kind] + bytes)
    await repositoryUsages.replace(tx, repository, { ...repository, ...entries, [kind]: sum })
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
    await this.#count(tx, before, -1)
    return { before, wasLive }
  }
}

/** Entries of the owner and of all its repositories, largest first. */
const listedEntries = (
  tx: ReadTransaction,
  owner: number,
  kind: ListedKind,
  limit: number,
): AsyncIterable<IndexEntry> => {
  const ownersEntries = ledgerEntries.entries(tx, 'main', { prefix: [owner, kind], limit })
  async function* overflowListings() {
    for await (const { order, repository } of overflowPartitions(tx, owner, kind))
      yield {
        from: encodeKey([order]),
        entries: ledgerEntries.entries(tx, 'overflow', { prefix: [repository, kind], limit }),
      }
  }
  return merge([ownersEntries], false, overflowListings())
}

/**
 * Whether the entry exists for readers. Entries of deleted owners and repositories are removed later, by
 * jobs.
 */
const isLive = async (tx: ReadTransaction, entry: LedgerRecord): Promise<boolean> => {
  const owner = entry.repository === null ? entry.partitionOwner! : (await repositoryOf(tx, entry))?.owner
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
