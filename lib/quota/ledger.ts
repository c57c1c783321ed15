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
import type { ReadTransaction } from '../storage/driver.ts'
import type { Usage } from './subjects.ts'
import type { UsageCounters } from './usage.ts'

/** The kinds that an owner can list; LFS objects are counted but not listed. */
export type ListedKind = Exclude<LedgerKind, 'lfs'>

/** An entry as it is put: where it lies is the ledger's own affair. */
export type NewEntry = Omit<LedgerEntry, 'owner'> & {
  /** The owner of the container, or of the entry itself when it is in none. */
  owner: number
}

/** The record of what counts toward quota and is not git data. */
export interface Ledger {
  get(tx: ReadTransaction, kind: LedgerKind, key: string): Promise<LedgerEntry | undefined>
  /** Writes the entry in the place of one with its kind and key, so the same entry twice counts once. */
  put(tx: WriteContext, entry: NewEntry): Promise<{ replaced: boolean }>
  /** Removes at most so much of what an owner has outside of any container. @returns how many */
  removeOwned(tx: WriteContext, owner: number, limit: number): Promise<number>
  /** Answers whether there was such an entry. */
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

/** Called in the transaction that changes how many bytes of LFS objects a container has. */
export type LfsChanged = (tx: WriteContext, container: number, lfs: Sum) => Promise<void>

export const createLedger = (usageCounters: UsageCounters, jobs: Jobs, lfsChanged: LfsChanged): Ledger => {
  const account = async (tx: WriteContext, entry: LedgerEntry, sign: 1 | -1) => {
    const container = await containerOf(tx, entry)
    // Its repository is gone, and what was in it was taken off the owner's usage then.
    if (container === undefined && entry.container !== null) return
    const kind = countedAs(entry)
    const bytes = sign === 1 ? entry.size : 0 - entry.size
    await usageCounters.add(tx, container?.owner ?? entry.owner!, { [kind]: bytes })
    if (container === undefined) return
    const counted =
      entry.owner === null ? countOwnEntries(container, entry, sign) : { lent: container.lent + sign }
    const sum = add(container[kind], bytes)
    await repositoryUsages.save(tx, { ...container, ...counted, [kind]: sum })
    if (kind === 'lfs') await lfsChanged(tx, container.id, sum)
  }

  /** What a removal under way has not come to yet is no entry any more. */
  const stands = async (tx: ReadTransaction, entry: LedgerEntry): Promise<boolean> => {
    const owner = entry.container === null ? entry.owner! : (await containerOf(tx, entry))?.owner
    return owner !== undefined && !(await isPending(tx, 'owner', owner))
  }

  const take = async (tx: WriteContext, kind: LedgerKind, key: string): Promise<LedgerEntry | undefined> => {
    const before = await ledgerEntries.get(tx, [kind, key])
    if (before === undefined) return undefined
    const stood = await stands(tx, before)
    await account(tx, before, -1)
    return stood ? before : undefined
  }

  return {
    async get(tx, kind, key) {
      const entry = await ledgerEntries.get(tx, [kind, key])
      return entry !== undefined && (await stands(tx, entry)) ? entry : undefined
    },
    async put(tx, entry) {
      const before = await take(tx, entry.kind, entry.key)
      const container = await containerOf(tx, entry)
      if (container === undefined && entry.container !== null)
        throw new Error(`no container ${entry.container}`)
      const owner =
        container === undefined ? entry.owner : partitionFor(container, jobs.bounds.maxPerTransaction)
      await account(tx, { ...entry, owner }, 1)
      await ledgerEntries.save(tx, { ...entry, owner })
      return { replaced: before !== undefined }
    },
    async remove(tx, kind, key) {
      const before = await take(tx, kind, key)
      await ledgerEntries.remove(tx, [kind, key])
      return before !== undefined
    },
    async removeOwned(tx, owner, limit) {
      const owned = await ledgerEntries.list(tx, 'size', { prefix: [owner], limit })
      for await (const entry of paced(owned)) {
        await account(tx, entry, -1)
        await ledgerEntries.remove(tx, [entry.kind, entry.key])
      }
      return owned.length
    },
    list: listPartitions,
    count: countPartitions,
  }
}

const containerOf = async (
  tx: ReadTransaction,
  { container }: Pick<LedgerEntry, 'container'>,
): Promise<RepositoryUsage | undefined> =>
  container === null ? undefined : repositoryUsages.get(tx, [container])

type Counted = Exclude<keyof Usage, 'reposPublic' | 'reposPrivate'>

export const countedAs = (entry: Pick<LedgerEntry, 'kind' | 'on'>): Counted => {
  if (entry.kind !== 'attachments') return entry.kind
  return entry.on === 'issue' ? 'issues' : 'releases'
}

/**
 * Where the entries of an owner lie, by size. Small repositories lend theirs to the owner's shelf, so that a list reads
 * one index however many repositories there are. A repository that has lent as many as one write may move keeps the
 * rest on a shelf of its own; it goes with the repository, untouched, when that is transferred, and is out of every
 * list, untouched, when that is deleted. A list of an owner merges the owner's shelf with those that its repositories
 * keep, each of which is opened where its largest entry may come first, so that a page opens few of many. So each list
 * and total is exact at every moment, and the cost of a transfer or a deletion is bounded.
 */
export const partitionFor = (container: RepositoryUsage, inOne: number): LedgerEntry['owner'] =>
  container.lent < inOne ? container.owner : null

type Kept = Pick<RepositoryUsage, 'kept' | 'largest'>

/** What the container's own shelf holds, with an entry more or an entry less. */
export const countOwnEntries = (
  container: RepositoryUsage,
  { kind, size }: LedgerEntry,
  sign: 1 | -1,
): Kept => {
  const kept = container.kept + sign
  if (kept === 0) return noOwnEntries
  const { largest } = container
  // The next largest is not looked for: a shelf that is opened too early changes nothing but the time that takes.
  if (sign === -1 || kind === 'lfs') return { kept, largest }
  return { kept, largest: { ...largest, [kind]: Math.max(largest[kind] ?? 0, size) } }
}

/** "Lists of what counts are ordered largest first, then by name." */
export const listPartitions = async (
  tx: ReadTransaction,
  owner: number,
  kind: ListedKind,
  { offset, limit }: { offset: number; limit: number },
): Promise<LedgerEntry[]> => {
  const most = offset + limit
  const lent = ledgerEntries.entries(tx, 'size', { prefix: [owner, kind], limit: most })
  async function* kept() {
    for await (const [order, id] of keptShelves(tx, owner, kind))
      yield {
        from: encodeKey([order]),
        entries: ledgerEntries.entries(tx, 'shelf', { prefix: [id, kind], limit: most }),
      }
  }
  return ledgerEntries.load(tx, await pageOf(mergeDeferred([lent], kept()), { offset, limit }))
}

export const countPartitions = async (
  tx: ReadTransaction,
  owner: number,
  kind: ListedKind,
): Promise<number> => {
  let count = await ledgerEntries.count(tx, 'owner', [owner, kind])
  for await (const [, id] of keptShelves(tx, owner, kind))
    count += await ledgerEntries.count(tx, 'shelf', [id, kind])
  return count
}

/** The containers of an owner that keep entries of a kind, each with how an entry of its largest size begins. */
async function* keptShelves(
  tx: ReadTransaction,
  owner: number,
  kind: ListedKind,
): AsyncGenerator<[order: number, id: number]> {
  for await (const { order } of repositoryUsages.entries(tx, kind, { prefix: [owner] }))
    yield decodeKey(order) as [number, number]
}
