import type { Collection, IndexEntry } from '../records/collection.ts'
import { except, merge, pageOf, recordKeyText } from '../records/merge.ts'
import type { Store } from '../records/store.ts'
import type { SearchResult } from '../search/index.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import type { Page, Slice } from './visible-page.ts'

/** A page, and what is worth keeping of how it was found. */
interface SearchPage<R> {
  page: Page<R>
  learned: (() => void)[]
}

/** What is learned is kept once the read is over: what the work has seen may turn out not to hold, and it runs again. */
export const readAndLearn = async <R>(
  store: Store,
  work: (tx: ReadTransaction) => Promise<SearchPage<R>>,
): Promise<Page<R>> => {
  const { page, learned } = await store.read(work)
  for (const learn of learned) learn()
  return page
}

/** Entries in the order of their texts, and how many they are where that is known without looking. */
export interface OrderedListing {
  entries: AsyncIterable<IndexEntry>
  total?: number | undefined
}

/** Entries that are looked for. */
export interface SearchedListing {
  find: Find
  /** Where it is known from before. */
  total: number | undefined
  /** Keeps a total that was found out. */
  learn(total: number): void
}

/** The first entries, in the order of their texts; their number is right where it is asked for. */
type Find = (most: number, isCounted: boolean) => Promise<SearchResult>

export type SearchListing = OrderedListing | SearchedListing

/** What a listing has besides those records, all of which are in it. */
export const without = (gone: ReadonlySet<string>, listing: SearchListing): SearchListing => {
  if (gone.size === 0) return listing
  const total = listing.total === undefined ? undefined : listing.total - gone.size
  if ('entries' in listing) return { entries: except(gone, listing.entries), total }
  return {
    total,
    find: (most, isCounted) => findWithout(gone, listing.find, most, isCounted),
    learn: (found) => listing.learn(found + gone.size),
  }
}

const findWithout = async (
  gone: ReadonlySet<string>,
  find: Find,
  most: number,
  isCounted: boolean,
): Promise<SearchResult> => {
  const { entries, total } = await find(most + gone.size, isCounted)
  const there = entries.filter((entry) => !gone.has(recordKeyText(entry)))
  return { entries: there.slice(0, most), total: total - gone.size }
}

/** One page of several listings. Those whose total is not known are gone through to their end, and no others. */
export const pageOfListings = async <R>(
  tx: ReadTransaction,
  collection: Pick<Collection<R>, 'load'>,
  listings: readonly SearchListing[],
  slice: Slice,
): Promise<SearchPage<R>> => {
  const most = slice.offset + slice.limit
  const learned: (() => void)[] = []
  const known = await Promise.all(
    listings.map(async (listing) => {
      const found = await firstIn(listing, most)
      if ('learn' in listing) learned.push(() => listing.learn(found.total))
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

/** The first entries of a listing, and its total where that is known or was counted. */
export const firstIn = async (listing: SearchListing, most: number) => {
  const { total } = listing
  if ('find' in listing) {
    const found = await listing.find(most, total === undefined)
    return { entries: found.entries, total: total ?? found.total }
  }
  return total === undefined ? firstOf(listing.entries, most) : { entries: listing.entries, total }
}

/** So many of the first entries, and how many there are in all. */
export const firstOf = async (listing: AsyncIterable<IndexEntry>, most: number): Promise<SearchResult> => {
  const entries: IndexEntry[] = []
  let total = 0
  for await (const entry of listing) if (total++ < most) entries.push(entry)
  return { entries, total }
}

export const pageOfOne = <T>(one: T | undefined, { offset, limit }: Slice): Page<T> => ({
  items: one === undefined ? [] : [one].slice(offset, offset + limit),
  total: one === undefined ? 0 : 1,
})
