import type { Collection, IndexEntry } from '../../records/collection.ts'
import { type Entries, except, merge, pageOf, recordKeyText } from '../../records/merge.ts'
import type { Page, Slice } from '../../records/pages.ts'
import type { Store } from '../../records/store.ts'
import type { SearchResult } from '../../search/index.ts'
import type { ReadTransaction } from '../../storage/index.ts'

/** A page, with callbacks that store the totals which the search counted. */
export interface SearchPage<R> {
  page: Page<R>
  cacheTotals: readonly (() => void)[]
}

/**
 * Stores counted totals after the read has succeeded, because a read can run again and its first result be
 * discarded.
 */
export const readAndCacheTotals = async <R>(
  store: Store,
  search: (tx: ReadTransaction) => Promise<SearchPage<R>>,
): Promise<Page<R>> => {
  const { page, cacheTotals } = await store.read(search)
  for (const cacheTotal of cacheTotals) cacheTotal()
  return page
}

/** Entries in the order of their texts, with their number when it is known without counting. */
interface OrderedListing {
  entries: Entries
  total?: number | undefined
}

/** Entries that a search finds. */
interface SearchedListing {
  find: FindEntries
  /** The total that an earlier search counted. */
  total: number | undefined
  /** Stores a total that was counted; absent when the total is known without counting. */
  cacheTotal?: ((total: number) => void) | undefined
}

/**
 * Finds the first `limit` entries in the order of their texts; the total is exact only when `isCounted` is
 * set.
 */
type FindEntries = (limit: number, isCounted: boolean) => Promise<SearchResult>

export type SearchListing = OrderedListing | SearchedListing

/**
 * A listing without some of its records.
 * @param gone keys of records, all of which are in the listing
 */
export const without = (gone: ReadonlySet<string>, listing: SearchListing): SearchListing => {
  if (gone.size === 0) return listing
  const total = listing.total === undefined ? undefined : listing.total - gone.size
  if ('entries' in listing) return { entries: except(gone, listing.entries), total }
  const { find, cacheTotal } = listing
  return {
    total,
    find: (limit, isCounted) => findWithout(gone, find, limit, isCounted),
    cacheTotal: cacheTotal && ((found) => cacheTotal(found + gone.size)),
  }
}

const findWithout = async (
  gone: ReadonlySet<string>,
  find: FindEntries,
  limit: number,
  isCounted: boolean,
): Promise<SearchResult> => {
  const { entries, total } = await find(limit + gone.size, isCounted)
  const remaining = entries.filter((entry) => !gone.has(recordKeyText(entry)))
  return { entries: remaining.slice(0, limit), total: total - gone.size }
}

/** One page of several listings. Only listings without a known total are read to their end. */
export const pageOfListings = async <R>(
  tx: ReadTransaction,
  collection: Pick<Collection<R>, 'load'>,
  listings: readonly SearchListing[],
  slice: Slice,
): Promise<SearchPage<R>> => {
  const limit = slice.offset + slice.limit
  const cacheTotals: (() => void)[] = []
  const known = await Promise.all(
    listings.map(async (listing) => {
      const found = await firstIn(listing, limit)
      // Callbacks can be cached with the page, so they must not keep the entries in memory.
      const { total } = found
      const cacheTotal = 'cacheTotal' in listing ? listing.cacheTotal : undefined
      if (cacheTotal !== undefined) cacheTotals.push(() => cacheTotal(total))
      return found
    }),
  )
  const page = await pageOf(merge(known.map(({ entries }) => entries)), slice)
  return {
    page: {
      items: await collection.load(tx, page),
      total: known.reduce((sum, { total }) => sum + total, 0),
    },
    cacheTotals,
  }
}

/** The first entries of a listing, and its total, which is counted when it is not known. */
export const firstIn = async (listing: SearchListing, limit: number) => {
  const { total } = listing
  if ('find' in listing) {
    const found = await listing.find(limit, total === undefined)
    return { entries: found.entries, total: total ?? found.total }
  }
  return total === undefined ? firstWithTotal(listing.entries, limit) : { entries: listing.entries, total }
}

/** The first `limit` entries, and the number of all. */
export const firstWithTotal = async (listing: Entries, limit: number): Promise<SearchResult> => {
  const entries: IndexEntry[] = []
  let total = 0
  for await (const entry of listing) if (total++ < limit) entries.push(entry)
  return { entries, total }
}
