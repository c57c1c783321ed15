import { setImmediate } from 'node:timers/promises'
import type { Bytes } from '../storage/driver.ts'
import type { IndexEntry } from './collection.ts'

type Entries = AsyncIterable<IndexEntry> | Iterable<IndexEntry>

/**
 * One ordered listing out of several (an owner's repositories and those of each organization, say), without loading a
 * record: what is skipped costs no more than its index entries.
 */
export async function* merge(listings: readonly Entries[], reverse = false): AsyncGenerator<IndexEntry> {
  const heads = new Heads(reverse)
  try {
    await heads.addAll(listings)
    for (; heads.first !== undefined; await heads.advance()) yield heads.first
  } finally {
    await heads.end()
  }
}

/** A listing of which it is known that none of its entries comes before. */
export interface DeferredListing {
  from: Bytes
  entries: Entries
}

/** The same with listings that are opened when their turn may have come: they must be given in the order of `from`. */
export async function* mergeDeferred(
  listings: readonly Entries[],
  later: AsyncIterable<DeferredListing>,
): AsyncGenerator<IndexEntry> {
  const heads = new Heads(false)
  const waiting = later[Symbol.asyncIterator]()
  try {
    await heads.addAll(listings)
    let next = await waiting.next()
    for (; ; await heads.advance()) {
      while (!next.done && isDue(next.value, heads.first)) {
        await heads.addAll([next.value.entries])
        next = await waiting.next()
      }
      if (heads.first === undefined) return
      yield heads.first
    }
  } finally {
    await waiting.return?.()
    await heads.end()
  }
}

const isDue = ({ from }: DeferredListing, first: IndexEntry | undefined): boolean =>
  first === undefined || Buffer.compare(from, first.order) <= 0

type Source = AsyncIterator<IndexEntry> | Iterator<IndexEntry>

interface Head {
  entry: IndexEntry
  iterator: Source
}

/** The next entry of each listing, in order. */
class Heads {
  readonly #reverse: boolean
  #heads: Head[] = []

  constructor(reverse: boolean) {
    this.#reverse = reverse
  }

  get first(): IndexEntry | undefined {
    return this.#heads[0]?.entry
  }

  async addAll(listings: readonly Entries[]): Promise<void> {
    const iterators = listings.map(iteratorOf)
    const results = await Promise.all(iterators.map((iterator) => iterator.next())).catch(async (error) => {
      for (const iterator of iterators) await iterator.return?.()
      throw error
    })
    for (const [at, result] of results.entries()) this.#place(iterators[at]!, result)
  }

  async advance(): Promise<void> {
    const { iterator } = this.#heads[0]!
    const result = await iterator.next()
    this.#heads.shift()
    this.#place(iterator, result)
  }

  async end(): Promise<void> {
    for (const { iterator } of this.#heads) await iterator.return?.()
  }

  /** Behind those that are equal. */
  #place(iterator: Source, result: IteratorResult<IndexEntry>): void {
    if (result.done) return
    let [low, high] = [0, this.#heads.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (isBefore(result.value, this.#heads[middle]!.entry, this.#reverse)) high = middle
      else low = middle + 1
    }
    this.#heads.splice(low, 0, { entry: result.value, iterator })
  }
}

/** Entries that are read before other requests have their turn: about a millisecond of work. */
const ENTRIES_PER_TURN = 256

/**
 * The entries that every one of the listings has; each of them is in the same order. Invariant: however many the listings
 * are, the event loop waits for no more than so many entries.
 */
export async function* intersect(listings: readonly Entries[], reverse = false): AsyncGenerator<IndexEntry> {
  const iterators = listings.map(iteratorOf)
  let read = 0
  const letOthersRun = async (entries: number) => {
    read += entries
    if (read < ENTRIES_PER_TURN) return
    read = 0
    await setImmediate()
  }
  // At once, so that a driver far from its data asks for all of them in one go.
  const nextOfAll = async () => {
    await letOthersRun(iterators.length)
    return Promise.all(iterators.map((iterator) => iterator.next()))
  }
  try {
    let heads = await nextOfAll()
    for (;;) {
      const entries = heads.flatMap((head) => (head.done ? [] : [head.value]))
      if (entries.length < heads.length) return
      const last = entries.reduce((left, right) => (isBefore(left, right, reverse) ? right : left))
      const behind = entries.findIndex((entry) => isBefore(entry, last, reverse))
      if (behind === -1) {
        yield last
        heads = await nextOfAll()
      } else {
        await letOthersRun(1)
        heads[behind] = await iterators[behind]!.next()
      }
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
export const recordKeyText = ({ recordKey }: IndexEntry): string => Buffer.from(recordKey).toString('latin1')

/** A listing without the entries of some records. */
export async function* except(
  records: ReadonlySet<string>,
  listing: AsyncIterable<IndexEntry>,
): AsyncGenerator<IndexEntry> {
  for await (const entry of listing) if (!records.has(recordKeyText(entry))) yield entry
}

const iteratorOf = (listing: Entries): Source =>
  Symbol.asyncIterator in listing ? listing[Symbol.asyncIterator]() : listing[Symbol.iterator]()

const isBefore = (one: IndexEntry, other: IndexEntry, reverse: boolean): boolean => {
  const order = Buffer.compare(one.order, other.order)
  return reverse ? order > 0 : order < 0
}
