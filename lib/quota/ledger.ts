import { add, type Sum } from '../integers.ts'
import { isPending, type Jobs } from '../records/jobs.ts'
import { decodeKey, encodeKey } from '../records/key-codec.ts'
import { mergeDeferred, pageOf } from '../records/merge.ts'
import { paced } from '../records/pacing.ts'
import {
  type LedgerEntry,
  type LedgerKind,
  ledgerEntries,
  noOwnEntries,
  type RepositoryUsage,
  repositoryUsages,
} from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import type { Usage } from './subjects.ts'
import type { UsageCounters } from './usage.ts'

/** The kinds that an owner can list; LFS objects are counted but not listed. */
export type ListedKind = Exclude<LedgerKind, 'lfs'>

/** An entry as callers put it; the ledger chooses its partition. */
export type NewEntry = Omit<LedgerEntry, 'owner'> & {
  /** Owner of the repository, or of the entry itself when it belongs to no repository. */
  owner: number
}

/** Everything that counts toward quota besides git data: one entry per LFS object, attachment, artifact and package. */
export interface Ledger {
  get(tx: ReadTransaction, kind: LedgerKind, key: string): Promise<LedgerEntry | undefined>
  /** Saves the entry, replacing one with the same kind and key: the same entry twice counts once. */
  put(tx: WriteContext, entry: NewEntry): Promise<{ replaced: boolean }>
  /** Removes entries of an owner that belong to no repository, `limit` at most. @returns how many were removed */
  removeOwned(tx: WriteContext, owner: number, limit: number): Promise<number>
  /** @returns whether the entry existed */
  remove(tx: WriteContext, kind: LedgerKind, key: string): Promise<boolean>
  /** "Lists of what counts are ordered largest first, then by name." */
  list(
    tx: ReadTransaction,
    owner: number,
    kind: ListedKind,
    at: { offset: number; limit: number },
  ): Promise<LedgerEntry[]>
  count(tx: ReadTransaction, owner: number, kind: ListedKind): Promise<number>
}

/**
 * Called in the transaction that changes the LFS objects of a repository.
 * @param lfs bytes of LFS objects that the repository has now
 */
export type LfsChanged = (tx: WriteContext, repository: number, lfs: Sum) => Promise<void>

export const createLedger = (usageCounters: UsageCounters, jobs: Jobs, lfsChanged: LfsChanged): Ledger => {
  const count = countEntries(usageCounters, lfsChanged)
  return {
    async get(tx, kind, key) {
      const entry = await ledgerEntries.get(tx, [kind, key])
      return entry !== undefined && (await isLive(tx, entry)) ? entry : undefined
    },
    async put(tx, entry) {
      const replaced = await uncount(tx, count, entry.kind, entry.key)
      const repository = await repositoryOf(tx, entry)
      if (repository === undefined && entry.repository !== null)
        throw new Error(`the repository ${entry.repository} has no usage record`)
      const owner =
        repository === undefined ? entry.owner : partitionFor(repository, jobs.bounds.maxPerTransaction)
      await count(tx, { ...entry, owner }, 1)
      await ledgerEntries.save(tx, { ...entry, owner })
      return { replaced }
    },
    async remove(tx, kind, key) {
      const removed = await uncount(tx, count, kind, key)
      await ledgerEntries.remove(tx, [kind, key])
      return removed
    },
    async removeOwned(tx, owner, limit) {
      const owned = await ledgerEntries.list(tx, 'size', { prefix: [owner], limit })
      for await (const entry of paced(owned)) {
        await count(tx, entry, -1)
        await ledgerEntries.remove(tx, [entry.kind, entry.key])
      }
      return owned.length
    },
    list: listPartitions,
    count: countPartitions,
  }
}

/** Adds an entry to the usage of its owner and its repository, or subtracts it. */
type CountEntry = (tx: WriteContext, entry: LedgerEntry, sign: 1 | -1) => Promise<void>

const countEntries =
  (usageCounters: UsageCounters, lfsChanged: LfsChanged): CountEntry =>
  async (tx, entry, sign) => {
    const repository = await repositoryOf(tx, entry)
    // The usage of a deleted repository was subtracted as a whole when it was deleted.
    if (repository === undefined && entry.repository !== null) return
    const kind = countedAs(entry)
    const bytes = sign === 1 ? entry.size : 0 - entry.size
    await usageCounters.add(tx, repository?.owner ?? entry.owner!, { [kind]: bytes })
    if (repository === undefined) return
    const entries =
      entry.owner === null
        ? countOwnEntries(repository, entry, sign)
        : { ownerEntries: repository.ownerEntries + sign }
    const sum = add(repository[kind], bytes)
    await repositoryUsages.save(tx, { ...repository, ...entries, [kind]: sum })
    if (kind === 'lfs') await lfsChanged(tx, repository.id, sum)
  }

/** Subtracts an entry that is about to be replaced or removed. @returns whether it existed for readers */
const uncount = async (
  tx: WriteContext,
  count: CountEntry,
  kind: LedgerKind,
  key: string,
): Promise<boolean> => {
  const entry = await ledgerEntries.get(tx, [kind, key])
  if (entry === undefined) return false
  const wasLive = await isLive(tx, entry)
  await count(tx, entry, -1)
  return wasLive
}

/** Whether the entry exists for readers. Entries of deleted owners and repositories are removed later, by jobs. */
const isLive = async (tx: ReadTransaction, entry: LedgerEntry): Promise<boolean> => {
  const owner = entry.repository === null ? entry.owner! : (await repositoryOf(tx, entry))?.owner
  return owner !== undefined && !(await isPending(tx, 'owner', owner))
}

const repositoryOf = async (
  tx: ReadTransaction,
  { repository }: Pick<LedgerEntry, 'repository'>,
): Promise<RepositoryUsage | undefined> =>
  repository === null ? undefined : repositoryUsages.get(tx, [repository])

type Counted = Exclude<keyof Usage, 'reposPublic' | 'reposPrivate'>

export const countedAs = (entry: Pick<LedgerEntry, 'kind' | 'on'>): Counted => {
  if (entry.kind !== 'attachments') return entry.kind
  return entry.on === 'issue' ? 'issues' : 'releases'
}

/*
 * Partitions. The entries of an owner are listed by size, from two kinds of partitions:
 *
 *   owner's partition        the first `maxPerTransaction` entries of each repository, and entries of no repository
 *   repository's partition   the further entries of one repository (`entry.owner` is null)
 *
 * Most repositories have few entries, so a list reads one index however many repositories the owner has. A transfer
 * rewrites the entries in the owner's partition, a bounded number; the repository's own partition goes along unchanged,
 * and disappears from every list at once when the repository is deleted. A list merges the owner's partition with those
 * of its repositories; `largest` says where the first entry of a partition can come, so that a page opens few of them.
 */
const partitionFor = (repository: RepositoryUsage, maxPerTransaction: number): LedgerEntry['owner'] =>
  repository.ownerEntries < maxPerTransaction ? repository.owner : null

/** Counts of the repository's own partition with one entry more, or one entry less. */
const countOwnEntries = (
  repository: RepositoryUsage,
  { kind, size }: LedgerEntry,
  sign: 1 | -1,
): Pick<RepositoryUsage, 'ownEntries' | 'largest'> => {
  const ownEntries = repository.ownEntries + sign
  if (ownEntries === 0) return noOwnEntries
  const { largest } = repository
  // After a removal `largest` is an upper bound: the partition may be opened too early, which costs time only.
  if (sign === -1 || kind === 'lfs') return { ownEntries, largest }
  return { ownEntries, largest: { ...largest, [kind]: Math.max(largest[kind] ?? 0, size) } }
}

const listPartitions = async (
  tx: ReadTransaction,
  owner: number,
  kind: ListedKind,
  { offset, limit }: { offset: number; limit: number },
): Promise<LedgerEntry[]> => {
  const last = offset + limit
  const ownersEntries = ledgerEntries.entries(tx, 'size', { prefix: [owner, kind], limit: last })
  async function* repositoryPartitions() {
    for await (const [order, id] of ownPartitions(tx, owner, kind))
      yield {
        from: encodeKey([order]),
        entries: ledgerEntries.entries(tx, 'partition', { prefix: [id, kind], limit: last }),
      }
  }
  return ledgerEntries.load(
    tx,
    await pageOf(mergeDeferred([ownersEntries], repositoryPartitions()), { offset, limit }),
  )
}

const countPartitions = async (tx: ReadTransaction, owner: number, kind: ListedKind): Promise<number> => {
  let count = await ledgerEntries.count(tx, 'owner', [owner, kind])
  for await (const [, id] of ownPartitions(tx, owner, kind))
    count += await ledgerEntries.count(tx, 'partition', [id, kind])
  return count
}

/** Repositories of an owner with a partition of their own, each with the first order key that its entries can have. */
async function* ownPartitions(
  tx: ReadTransaction,
  owner: number,
  kind: ListedKind,
): AsyncGenerator<[order: number, id: number]> {
  for await (const { order } of repositoryUsages.entries(tx, kind, { prefix: [owner] }))
    yield decodeKey(order) as [number, number]
}
