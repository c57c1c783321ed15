import type { IndexEntry } from './collection.ts'

type Entries = AsyncIterable<IndexEntry> | Iterable<IndexEntry>

/**
 * One ordered listing out of several (an owner's repositories and those of each organization, say), without loading a
 * record: what is skipped costs no more than its index entries.
 */
export async function* merge(listings: readonly Entries[], reverse = false): AsyncGenerator<IndexEntry> {
  const iterators = listings.map(iteratorOf)
  try {
    const heads = await Promise.all(iterators.map((iterator) => iterator.next()))
    for (;;) {
      const first = firstOf(heads, reverse)
      if (first === -1) return
      yield heads[first]!.value
      heads[first] = await iterators[first]!.next()
    }
  } finally {
    for (const iterator of iterators) await iterator.return?.()
  }
}

/** The entries of one page. */
export const pageOf = async (
  listing: AsyncIterable<IndexEntry>,
  { offset, limit }: { offset: number; limit: number },
): Promise<IndexEntry[]> => {
  const page: IndexEntry[] = []
  if (limit === 0) return page
  let skipped = 0
  for await (const entry of listing) {
    if (skipped++ < offset) continue
    page.push(entry)
    if (page.length === limit) break
  }
  return page
}

/** What tells the record of an entry from others. */
export const textOf = ({ recordKey }: IndexEntry): string => Buffer.from(recordKey).toString('latin1')

/** A listing without the entries of some records. */
export async function* except(
  records: ReadonlySet<string>,
  listing: AsyncIterable<IndexEntry>,
): AsyncGenerator<IndexEntry> {
  for await (const entry of listing) if (!records.has(textOf(entry))) yield entry
}

const iteratorOf = (listing: Entries): AsyncIterator<IndexEntry> | Iterator<IndexEntry> =>
  Symbol.asyncIterator in listing ? listing[Symbol.asyncIterator]() : listing[Symbol.iterator]()

const firstOf = (heads: readonly IteratorResult<IndexEntry>[], reverse: boolean): number => {
  let first = -1
  for (const [at, head] of heads.entries()) {
    if (head.done) continue
    if (first === -1 || isBefore(head.value, heads[first]!.value, reverse)) first = at
  }
  return first
}

const isBefore = (one: IndexEntry, other: IndexEntry, reverse: boolean): boolean => {
  const order = Buffer.compare(one.order, other.order)
  return reverse ? order > 0 : order < 0
}
