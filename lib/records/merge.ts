import { setImmediate } from 'node:timers/promises'
import { type Bytes, keyText } from '../storage/index.ts'
import type { IndexEntry } from './collection.ts'

export type Entries = AsyncIterable<IndexEntry> | Iterable<IndexEntry>

/** Listings that have no entry before `from`. */
interface DeferredListings {
  readonly from: Bytes
  readonly listings: readonly Entries[]
}

/** Deferred listings that are opened at once, so that a database reads them in one round trip. */
const OPENED_AT_ONCE = 8

async function* none(): AsyncGenerator<DeferredListings> {}

/**
 * Merges ordered listings into one, such as the repositories of an owner and of the owner's organizations,
 * without loading records: an entry that is skipped costs only the read of the entry.
 * @param later more listings, in the order of `from`: each is opened only when it may have the next entry
 */
export async function* merge(
  listings: readonly Entries[],
  reverse = false,
  later?: AsyncIterable<DeferredListings>,
): AsyncGenerator<IndexEntry> {
  if (listings.length === 1 && later === undefined) return yield* listings[0]!
  const waiting = (later ?? none())[Symbol.asyncIterator]()
  const opened: Source[] = []
  /** The next entry of each listing, sorted. */
  const heads: { entry: IndexEntry; iterator: Source }[] = []
  /** Takes the next entry of each; it comes after equal ones, so that the merge is stable. */
  const advance = async (iterators: readonly Source[]) => {
    const results = await Promise.all(iterators.map((iterator) => iterator.next()))
    for (const [index, { done, value: entry }] of results.entries()) {
      if (done) continue
      const after = heads.findIndex((head) => isBefore(entry, head.entry, reverse))
      heads.splice(after === -1 ? heads.length : after, 0, { entry, iterator: iterators[index]! })
    }
  }
  const open = (entries: readonly Entries[]) => {
    const iterators = entries.map(iteratorOf)
    opened.push(...iterators)
    return advance(iterators)
  }
  try {
    await open(listings)
    let next = await waiting.next()
    for (; ; await advance([heads.shift()!.iterator])) {
      while (canBeNext(next, heads[0]?.entry)) {
        const group: Entries[] = []
        for (let count = 0; count < OPENED_AT_ONCE && canBeNext(next, heads[0]?.entry); count++) {
          group.push(...next.value.listings)
          next = await waiting.next()
        }
        await open(group)
      }
      if (heads[0] === undefined) return
      yield heads[0].entry
    }
  } finally {
    await waiting.return?.()
    for (const iterator of opened) await iterator.return?.()
  }
}

const canBeNext = (
  deferred: IteratorResult<DeferredListings>,
  first: IndexEntry | undefined,
): deferred is IteratorYieldResult<DeferredListings> =>
  !deferred.done && (first === undefined || Buffer.compare(deferred.value.from, first.order) <= 0)

type Source = AsyncIterator<IndexEntry> | Iterator<IndexEntry>

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

/** Records that are decoded between two turns of the event loop. */
const LOADED_AT_ONCE = 250

/** Loads the records of entries in steps between which other requests run. */
export async function* inSteps<R>(
  entries: Entries,
  load: (step: readonly IndexEntry[]) => Promise<R[]>,
): AsyncGenerator<R[]> {
  let step: IndexEntry[] = []
  for await (const entry of entries) {
    step.push(entry)
    if (step.length < LOADED_AT_ONCE) continue
    yield await load(step)
    await setImmediate()
    step = []
  }
  if (step.length > 0) yield await load(step)
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

/** The first `limit` entries, and the number of all. */
export const firstWithTotal = async (listing: Entries, limit: number) => {
  const entries: IndexEntry[] = []
  let total = 0
  for await (const entry of listing) if (total++ < limit) entries.push(entry)
  return { entries, total }
}

/** A string that identifies the record of an entry. */
const recordKeyText = ({ recordKey }: IndexEntry): string => keyText(recordKey)

/** A listing without repetitions, which follow each other in it. */
export async function* distinct(listing: Entries): AsyncGenerator<IndexEntry> {
  let last = ''
  for await (const entry of listing) {
    const record = recordKeyText(entry)
    if (record !== last) yield entry
    last = record
  }
}

const iteratorOf = (listing: Entries): Source =>
  Symbol.asyncIterator in listing ? listing[Symbol.asyncIterator]() : listing[Symbol.iterator]()

const isBefore = (left: IndexEntry, right: IndexEntry, reverse: boolean): boolean => {
  const order = Buffer.compare(left.order, right.order)
  return reverse ? order > 0 : order < 0
}
