import type { IndexEntry } from '../records/collection.ts'
import { merge, pageOf } from '../records/merge.ts'
import { type Container, containers, type LedgerEntry, ledgerEntries } from '../records/schema.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import type { ListedKind } from './ledger.ts'

/**
 * Where the entries of an owner lie, by size. Small repositories lend theirs to the owner's shelf, so that a list reads
 * one index however many repositories there are. A repository that has lent as many as one write may move keeps the
 * rest on a shelf of its own; it goes with the repository, untouched, when that is transferred, and is out of every
 * list, untouched, when that is deleted. A list of an owner merges the owner's shelf with those that its repositories
 * keep. So each list and total is exact at every moment, and the cost of a transfer or a deletion is bounded.
 */
export const shelfFor = (container: Container, inOne: number): LedgerEntry['owner'] =>
  container.lent < inOne ? container.owner : null

/** "Lists of what counts are ordered largest first, then by name." */
export const listShelves = async (
  tx: ReadTransaction,
  owner: number,
  kind: ListedKind,
  { offset, limit }: { offset: number; limit: number },
): Promise<LedgerEntry[]> => {
  const kept = await keptShelves(tx, owner)
  if (kept.length === 0) return ledgerEntries.list(tx, 'size', { prefix: [owner, kind], offset, limit })
  const most = offset + limit
  const listings: AsyncIterable<IndexEntry>[] = [
    ledgerEntries.entries(tx, 'size', { prefix: [owner, kind], limit: most }),
    ...kept.map(({ id }) => ledgerEntries.entries(tx, 'shelf', { prefix: [id, kind], limit: most })),
  ]
  return ledgerEntries.load(tx, await pageOf(merge(listings), { offset, limit }))
}

export const countShelves = async (tx: ReadTransaction, owner: number, kind: ListedKind): Promise<number> => {
  let count = await ledgerEntries.count(tx, 'owner', [owner, kind])
  for (const { id } of await keptShelves(tx, owner))
    count += await ledgerEntries.count(tx, 'shelf', [id, kind])
  return count
}

const keptShelves = (tx: ReadTransaction, owner: number): Promise<Container[]> =>
  containers.list(tx, 'shelf', { prefix: [owner] })
