import type { Collection, IndexEntry, Listing } from '../records/collection.ts'
import type { KeyTuple } from '../records/keys.ts'
import { merge, pageOf } from '../records/merge.ts'
import type { Audience } from '../records/schema.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import { openAudiences, type Viewer } from './access.ts'

export interface Slice {
  offset: number
  limit: number
}

export interface Page<T> {
  items: T[]
  /** "Totals are what the viewer can list." */
  total: number
}

/**
 * A page of the relations below a prefix that the viewer may know of. What is open to the viewer comes from the index
 * and its counter, at a cost that does not grow; what is only for a few is looked at one by one.
 */
export const visibleRelations = async <R, O extends string>(
  tx: ReadTransaction,
  relation: Collection<R, string, O, string>,
  index: O,
  prefix: KeyTuple,
  viewer: Viewer,
  isReadable: (one: R) => Promise<boolean>,
  slice: Slice,
): Promise<Page<R>> => {
  const open = openAudiences(viewer)
  const listings: (AsyncIterable<IndexEntry> | IndexEntry[])[] = open.map((audience) =>
    relation.entries(tx, index, { prefix: [...prefix, audience] }),
  )
  let total = 0
  for (const audience of open) total += await relation.count(tx, index, [...prefix, audience])
  if (!open.includes(FEW) && (await relation.count(tx, index, [...prefix, FEW])) > 0) {
    const few = await readableEntries(tx, relation, index, { prefix: [...prefix, FEW] }, isReadable)
    listings.push(few)
    total += few.length
  }
  return { items: await relation.load(tx, await pageOf(merge(listings), slice)), total }
}

const FEW: Audience = 2

const readableEntries = async <R, O extends string>(
  tx: ReadTransaction,
  relation: Collection<R, string, O, string>,
  index: O,
  listing: Listing,
  isReadable: (one: R) => Promise<boolean>,
): Promise<IndexEntry[]> => {
  const readable: IndexEntry[] = []
  for await (const entry of relation.entries(tx, index, listing)) {
    const [one] = await relation.load(tx, [entry])
    if (one !== undefined && (await isReadable(one))) readable.push(entry)
  }
  return readable
}
