import type { Entry, KeyRange, ReadTransaction } from './driver.ts'

/** A source that returns items in pages; an empty page is the end. */
export interface PageSource<T> {
  /** The next page; an empty one at the end. */
  next(): Promise<readonly T[]>
  /** Releases what the source holds. */
  close(): Promise<void>
}

/** Pages after which a reader probably reads on. */
const PREFETCH_AFTER = 2

/**
 * Iterates over the items of pages, and fetches the next page while the current one is read. The source is
 * opened when the first item is requested, and closed at the end, on an early return and on failure.
 */
export async function* prefetch<T>(open: () => PageSource<T>): AsyncIterable<T> {
  const source = open()
  let next: Promise<readonly T[]> | undefined
  try {
    for (let pages = 1; ; pages++) {
      const page = await (next ?? source.next())
      if (page.length === 0) return
      next = pages < PREFETCH_AFTER ? undefined : source.next()
      // The reader gets the error when it reaches the page; until then the rejection must not be unhandled.
      next?.catch(() => undefined)
      for (const item of page) yield item
    }
  } finally {
    await next?.catch(() => undefined)
    await source.close()
  }
}

/** A range of a transaction that calls `check` for each entry. */
export async function* guardedRange(
  source: ReadTransaction,
  range: KeyRange,
  check: () => void,
): AsyncGenerator<Entry> {
  check()
  if (isEmptyRange(range)) return
  for await (const entry of source.range(range)) {
    yield entry
    check()
  }
}

const isEmptyRange = ({ start, end, limit }: KeyRange): boolean =>
  (limit !== undefined && limit <= 0) || Buffer.compare(start, end) >= 0
