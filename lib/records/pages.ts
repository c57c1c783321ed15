import { checkArgument, isObject } from '../errors.ts'

/** Which part of a listing to return. */
export interface Slice {
  /** Number of items before the first one. */
  offset: number
  /** Number of items at most. */
  limit: number
}

/**
 * Checks a part that a host asks for in process.
 * @throws AllotError invalid
 */
export const checkSlice = (slice: Slice): Slice => {
  checkArgument(isObject(slice), 'slice', 'an object, such as { offset: 0, limit: 30 }', slice)
  for (const [name, value] of Object.entries({ offset: slice.offset, limit: slice.limit }))
    checkArgument(Number.isSafeInteger(value) && value >= 0, name, 'a whole number from 0', value)
  return slice
}

/** A part of what a search finds. */
export interface Found<T> {
  /** The items of this part. */
  items: T[]
  /** How many items there are, of those that the viewer may see; undefined when they are not counted. */
  total: number | undefined
}

/** A part of a listing. */
export interface Page<T> extends Found<T> {
  /** How many items the whole listing has, of those that the viewer may see. */
  total: number
}

const READ_AT_ONCE = 1000

/**
 * All items of a listing of any length, read in pages; none when `readPage` returns undefined. When an
 * item is deleted between two pages, a later one is skipped. When an item is added, it is the last one where
 * the listing is ordered by creation, and elsewhere another one can be there twice.
 */
export const allItems = async <T>(
  readPage: (slice: Slice) => Promise<Found<T> | undefined>,
): Promise<T[]> => {
  const all: T[] = []
  for (;;) {
    const page = await readPage({ offset: all.length, limit: READ_AT_ONCE })
    all.push(...(page?.items ?? []))
    if (page === undefined || page.items.length === 0 || all.length === page.total) return all
  }
}

/** A page of a listing that is in memory. */
export const pageOfAll = <T>(all: readonly T[], { offset, limit }: Slice): Page<T> => ({
  items: all.slice(offset, offset + limit),
  total: all.length,
})

export const pageOfOne = <T>(item: T | undefined, slice: Slice): Page<T> =>
  pageOfAll(item === undefined ? [] : [item], slice)

/** A page with what its items belong to. */
export interface WithPage<T> {
  /** The part of the listing. */
  readonly page: Page<T>
}
