import type { Collection, IndexEntry } from '../records/collection.ts'
import { except, merge, pageOf } from '../records/merge.ts'
import type { Store } from '../records/store.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import type { Page, Slice } from './listing.ts'

/** A page, and what is worth keeping of how it was found. */
interface Found<R> {
  page: Page<R>
  learned: (() => void)[]
}

/** What is learned is kept once the read is over: what the work has seen may turn out not to hold, and it runs again. */
export const learning = async <R>(
  store: Store,
  work: (tx: ReadTransaction) => Promise<Found<R>>,
): Promise<Page<R>> => {
  const { page, learned } = await store.read(work)
  for (const learn of learned) learn()
  return page
}

/** Entries in the order of their texts, and how many they are where that is known without looking. */
export interface FoundListing {
  entries: AsyncIterable<IndexEntry>
  total?: number | undefined
  /** Keeps a total that was found out. */
  learn?: (total: number) => void
}

/** What a listing has besides those records, all of which are in it. */
export const without = (gone: ReadonlySet<string>, listing: FoundListing): FoundListing => {
  if (gone.size === 0) return listing
  const { entries, total, learn } = listing
  return {
    entries: except(gone, entries),
    total: total === undefined ? undefined : total - gone.size,
    learn: (found) => learn?.(found + gone.size),
  }
}

/** One page of several listings. Those whose total is not known are gone through to their end, and no others. */
export const pageOfListings = async <R>(
  tx: ReadTransaction,
  collection: Pick<Collection<R>, 'load'>,
  listings: readonly FoundListing[],
  slice: Slice,
): Promise<Found<R>> => {
  const most = slice.offset + slice.limit
  const learned: (() => void)[] = []
  const known = await Promise.all(
    listings.map(async ({ entries, total, learn }) => {
      if (total !== undefined) return { entries, total }
      const found = await firstOf(entries, most)
      learned.push(() => learn?.(found.total))
      return found
    }),
  )
  const page = await pageOf(merge(known.map(({ entries }) => entries)), slice)
  return {
    page: {
      items: await collection.load(tx, page),
      total: known.reduce((sum, { total }) => sum + total, 0),
    },
    learned,
  }
}

/** So many of the first entries, and how many there are in all. */
export const firstOf = async (listing: AsyncIterable<IndexEntry>, most: number) => {
  const entries: IndexEntry[] = []
  let total = 0
  for await (const entry of listing) if (total++ < most) entries.push(entry)
  return { entries, total }
}

export const pageOfOne = <T>(one: T | undefined, { offset, limit }: Slice): Page<T> => ({
  items: one === undefined ? [] : [one].slice(offset, offset + limit),
  total: one === undefined ? 0 : 1,
})
