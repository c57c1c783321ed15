import { decodeKey, encodeKey } from '../records/key-codec.ts'
import { mergeDeferred, pageOf } from '../records/merge.ts'
import {
  type LedgerEntry,
  ledgerEntries,
  noOwnEntries,
  type RepositoryUsage,
  repositoryUsages,
} from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import type { ListedKind } from './ledger.ts'

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
