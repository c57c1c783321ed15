import { type Bytes, type HoldsEntries, keyText, type ReadTransaction } from '../storage/index.ts'
import type { Collection, IndexEntry } from './collection.ts'
import { decodeKey, encodeKey, type KeyTuple, LEAST_PART } from './key-codec.ts'
import { cachedRead, type Store } from './store.ts'

/**
 * Reads a listing in parts; those after the last one that the caller takes are not read.
 * @param limit rows that the caller takes at most: a shared store, which reads one part, reads no more
 */
export type CachedListing<O extends string, Row> = (
  store: Store,
  index: O,
  prefix: KeyTuple,
  limit?: number,
) => AsyncGenerator<readonly Row[]>

/**
 * Declares a listing that is cached in parts, so that a write makes its readers read one part again, and not
 * all of it:
 *
 *     before a write        a b c d│e f g│h i j k l│m n │
 *     x is added            a b c d│e f x g│h i j k l│m n │      only the second part is read again
 *     g is removed          a b c d│e f x h i j k l│m n │        two parts become one
 *
 * A part ends behind an entry whose key has a certain hash. So an entry never moves the ends of other parts,
 * and each part is a `cachedRead`, which is valid while none of its entries and records changes. Parts may be
 * from different snapshots, but none is older than the last acknowledged write.
 *
 * On a shared store, where each cached read costs a round trip, a listing is one part.
 *
 * @param name of the `cachedRead`
 * @param load makes rows of entries, in their order
 */
export const cachedListing = <R, U extends string, O extends string, C extends string, Row>(
  name: string,
  collection: Collection<R, U, O, C>,
  load: (tx: ReadTransaction, entries: readonly IndexEntry[]) => Promise<readonly Row[]>,
): CachedListing<O, Row> => {
  const readPart = cachedRead(name, async (tx, input: PartInput): Promise<ListingPart<Row>> => {
    const { index, prefix, after, limit, isWhole } = input
    const entries: IndexEntry[] = []
    const from = after === undefined ? undefined : [...decodeKey(bytesOf(after)), LEAST_PART]
    const listing = { prefix: decodeKey(bytesOf(prefix)), from, limit }
    let last: Bytes | undefined
    for await (const entry of collection.entries(tx, index as O, listing)) {
      entries.push(entry)
      if (isWhole || !(isEnd(entry.order) || entries.length === limit)) continue
      last = entry.order
      break
    }
    return { rows: await load(tx, entries), next: last && keyText(last), heldBytes: heldBytesOf(entries) }
  })
  return async function* (store, index, prefix, limit) {
    const isWhole = store.driver.shared
    const input = { index, prefix: keyText(encodeKey(prefix)), limit: isWhole ? limit : MAX_ROWS, isWhole }
    let after: string | undefined
    do {
      const part: ListingPart<Row> = await readPart(store, { ...input, after })
      if (part.rows.length > 0) yield part.rows
      after = part.next
    } while (after !== undefined)
  }
}

interface ListingPart<Row> extends HoldsEntries {
  readonly rows: readonly Row[]
  /** `order` of the last entry; undefined at the end of the listing. */
  readonly next: string | undefined
}

const heldBytesOf = (entries: readonly IndexEntry[]): number =>
  entries.reduce((sum, { order, recordKey }) => sum + order.length + recordKey.length + ENTRY_BYTES, 0)

/** Approximate overhead of an entry. The cache counts twice the bytes that it is given. */
const ENTRY_BYTES = 100

type PartInput = {
  readonly index: string
  /** Bytes of the key, one character for each. */
  readonly prefix: string
  /** `order` of the entry before the part, as a text. */
  readonly after: string | undefined
  readonly limit: number | undefined
  readonly isWhole: boolean
}

/**
 * On average, one entry in so many ends a part. Larger parts are read again more often, smaller ones need
 * more cache entries.
 */
const MEAN_ROWS = 64
/** Names that clients choose could have few ends among them. */
const MAX_ROWS = 512

const bytesOf = (text: string): Bytes => Buffer.from(text, 'latin1')

/** FNV-1a, multiplied once more because its low bits depend on the last byte only. */
const isEnd = (order: Bytes): boolean => {
  let hash = 0x811c9dc5
  for (const byte of order) hash = Math.imul(hash ^ byte, 0x01000193)
  return Math.imul(hash, 0x9e3779b1) >>> 0 < 2 ** 32 / MEAN_ROWS
}
