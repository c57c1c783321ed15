import { setImmediate } from 'node:timers/promises'
import { type Bytes, keyText } from '../storage/index.ts'
import type { IndexEntry } from './collection.ts'

export type Entries = AsyncIterable<IndexEntry> | Iterable<IndexEntry>

/** A listing that has no entry before `from`. */
interface DeferredListing {
  from: Bytes
  entries: Entries
}

async function* none(): AsyncGenerator<DeferredListing> {}

/**
 * Merges ordered listings into one, such as the repositories of an owner and of the owner's organizations,
 * without loading records: an entry that is skipped costs only the read of the entry.
 * @param later more listings, in the order of `from`; each is opened only when it is needed
 */
export async function* merge(
  listings: readonly Entries[],
  reverse = false,
  later?: AsyncIterable<DeferredListing>,
): AsyncGenerator<IndexEntry> {
  if (listings.length === 1 && later === undefined) return yield* listings[0]!
  const heads = new Heads(reverse)
  const waiting = (later ?? none())[Symbol.asyncIterator]()
  try {
    await heads.addAll(listings)
    let next = await waiting.next()
    for (; ; await heads.advance()) {
      while (!next.done && canBeNext(next.value, heads.first)) {
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

const canBeNext = ({ from }: DeferredListing, first: IndexEntry | undefined): boolean =>
  first === undefined || Buffer.compare(from, first.order) <= 0

type Source = AsyncIterator<IndexEntry> | Iterator<IndexEntry>

interface Head {
  entry: IndexEntry
  iterator: Source
}

/** The next entry of each listing, sorted. */
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
    for (const [index, result] of results.entries()) this.#insert(iterators[index]!, result)
  }

  async advance(): Promise<void> {
    const { iterator } = this.#heads[0]!
    const result = await iterator.next()
    this.#heads.shift()
    this.#insert(iterator, result)
  }

  async end(): Promise<void> {
    for (const { iterator } of this.#heads) await iterator.return?.()
  }

  /** Inserts after equal entries, so that the merge is stable. */
  #insert(iterator: Source, result: IteratorResult<IndexEntry>): void {
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

/** Entries to read before yielding to the event loop: about a millisecond of work. */
const ENTRIES_PER_TURN = 256

/**
 * The entries that all listings have in common. All must have the same order. Yields to the event loop
 * regularly.
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
  // Concurrently, so that a driver with a remote database can combine the requests.
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

/** A string that identifies the record of an entry. */
export const recordKeyText = ({ recordKey }: IndexEntry): string => keyText(recordKey)

/** A listing without the entries of some records. */
export async function* except(records: ReadonlySet<string>, listing: Entries): AsyncGenerator<IndexEntry> {
  for await (const entry of listing) if (!records.has(recordKeyText(entry))) yield entry
}

const iteratorOf = (listing: Entries): Source =>
  Symbol.asyncIterator in listing ? listing[Symbol.asyncIterator]() : listing[Symbol.iterator]()

const isBefore = (left: IndexEntry, right: IndexEntry, reverse: boolean): boolean => {
  const order = Buffer.compare(left.order, right.order)
  return reverse ? order > 0 : order < 0
}
