import { AllotError } from '../errors.ts'
import { type Bytes, keyText, type ReadTransaction, type WriteTransaction } from '../storage/index.ts'
import { type KeyTuple, lookupKey, rangeBelow } from './key-codec.ts'
import { counterKey, counterName, decodeValue, encodeValue, orderedKey, uniqueKey } from './layout.ts'

/**
 * The indexes and counters of a collection. Each is updated with the record before and after a change, in the
 * transaction of the change, and writes only what differs. So an index cannot be forgotten, and nothing is
 * counted on a request.
 */
export interface MaintainedIndex<R> {
  /** `before` is undefined for a new record, `after` for a removed one. */
  update(tx: WriteTransaction, before: R | undefined, after: R | undefined, recordKey: Bytes): Promise<void>
}

/** The key of a record in an index; undefined keeps the record out of the index. */
type IndexKey<R> = (record: R) => KeyTuple | undefined
export type IndexKeys<R, Name extends string = string> = Readonly<Record<Name, IndexKey<R>>>

interface EntryOptions<R> {
  name: string
  id: (record: R) => KeyTuple
  unique?: IndexKeys<R>
  ordered?: IndexKeys<R>
}

/** The entries of the unique and the ordered indexes of a collection. */
export const indexEntriesOf = <R>({
  name,
  id,
  unique = {},
  ordered = {},
}: EntryOptions<R>): MaintainedIndex<R> => {
  const uniqueIndexes = Object.entries(unique)
  const orderedIndexes = Object.entries(ordered)
  /** The entries of a record, by the text of their keys; those of unique indexes first. */
  const entriesOf = (record: R | undefined): Map<string, { key: Bytes; isUnique: boolean }> => {
    const entries = new Map<string, { key: Bytes; isUnique: boolean }>()
    if (record === undefined) return entries
    const add = (key: Bytes, isUnique: boolean) => entries.set(keyText(key), { key, isUnique })
    for (const [index, keyOf] of uniqueIndexes) {
      const key = keyOf(record)
      if (key !== undefined) add(uniqueKey(name, index, key), true)
    }
    for (const [index, keyOf] of orderedIndexes) {
      const key = keyOf(record)
      if (key !== undefined) add(orderedKey(name, index, key, id(record)), false)
    }
    return entries
  }
  return {
    async update(tx, before, after, recordKey) {
      const [old, current] = [entriesOf(before), entriesOf(after)]
      for (const [text, { key, isUnique }] of current) {
        if (old.has(text)) continue
        if (isUnique && (await tx.get(key)) !== undefined)
          throw new AllotError('conflict', `this ${name} is already taken`)
        tx.put(key, recordKey)
      }
      for (const [text, { key }] of old) if (!current.has(text)) tx.delete(key)
    },
  }
}

/** How many records share a key. */
export const countersOf = <R>(collection: string, keys: IndexKeys<R> = {}): MaintainedIndex<R> => {
  const counted = Object.entries(keys)
  return {
    async update(tx, before, after) {
      for (const [index, keyOf] of counted) {
        const name = counterName(collection, index)
        const [old, current] = [before && keyOf(before), after && keyOf(after)]
        if (JSON.stringify(old) === JSON.stringify(current)) continue
        if (old !== undefined) await addToCounter(tx, name, old, -1)
        if (current !== undefined) await addToCounter(tx, name, current, 1)
      }
    },
  }
}

export const readCounter = async (tx: ReadTransaction, name: string, key: KeyTuple): Promise<number> => {
  const bytes = await tx.get(counterKey(name, key, lookupKey))
  return bytes === undefined ? 0 : decodeValue<number>(bytes)
}

const addToCounter = async (tx: WriteTransaction, name: string, key: KeyTuple, by: number): Promise<void> => {
  const count = (await readCounter(tx, name, key)) + by
  if (count < 0) throw new Error(`counter ${name} of ${key.join('/')} would become ${count}`)
  if (count === 0) tx.delete(counterKey(name, key))
  else tx.put(counterKey(name, key), encodeValue(count))
}

/** An entry of an index whose record is not loaded: enough to merge listings and to skip entries. */
export interface IndexEntry {
  /** The key without the prefix of the listing; entries of several listings are comparable by it. */
  readonly order: Bytes
  readonly recordKey: Bytes
}

export interface Listing {
  /** The first parts of the index key; the entries are ordered by the rest. */
  prefix: KeyTuple
  /** The next parts of the first entry. */
  from?: KeyTuple | undefined
  reverse?: boolean
  offset?: number
  limit?: number | undefined
}

/** The entries of an ordered index. */
export async function* indexEntries(
  tx: ReadTransaction,
  collection: string,
  index: string,
  { prefix, from, reverse = false, offset = 0, limit }: Listing,
): AsyncGenerator<IndexEntry> {
  const key = [collection, 'o', index, ...prefix]
  const range = rangeBelow(key)
  const start = from === undefined ? range.start : lookupKey([...key, ...from])
  const bounded = { ...range, start, reverse, ...(limit === undefined ? {} : { limit: limit + offset }) }
  let skipped = 0
  for await (const [key, value] of tx.range(bounded)) {
    if (skipped++ < offset) continue
    yield { order: key.subarray(range.start.length), recordKey: value }
  }
}
