import { AllotError } from '../errors.ts'
import { type Bytes, keyText, type ReadTransaction, type WriteTransaction } from '../storage/index.ts'
import { decodeKey, type KeyTuple, lookupKey, rangeBelow } from './key-codec.ts'
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

/** Several keys of one record, such as one for each word of its title. */
export interface SeveralKeys {
  /** What the keys follow from: they are made only when this has changed. */
  readonly of: KeyTuple
  readonly each: () => readonly KeyTuple[]
}

/** The key or the keys of a record in an index; undefined keeps the record out of the index. */
export type IndexKey<R> = (record: R) => KeyTuple | SeveralKeys | undefined
export type IndexKeys<R, Name extends string = string> = Readonly<Record<Name, IndexKey<R>>>

/** The keys that an index has for a record. */
export const keysIn = (keys: KeyTuple | SeveralKeys | undefined): readonly KeyTuple[] => {
  if (keys === undefined) return []
  return 'each' in keys ? keys.each() : [keys]
}

/** The keys of a record before and after a change; none of either when they are the same. */
const changedKeys = <R>(keyOf: IndexKey<R>, before: R | undefined, after: R | undefined) => {
  const [old, current] = [before && keyOf(before), after && keyOf(after)]
  return isSame(sourceOf(old), sourceOf(current)) ? NO_CHANGE : { old: keysIn(old), current: keysIn(current) }
}

const NO_CHANGE = { old: [], current: [] }

const sourceOf = (keys: KeyTuple | SeveralKeys | undefined): KeyTuple | undefined =>
  keys !== undefined && 'each' in keys ? keys.of : keys

const isSame = (left: KeyTuple | undefined, right: KeyTuple | undefined): boolean =>
  left !== undefined && left.length === right?.length && left.every((part, index) => part === right[index])

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
}: EntryOptions<R>): MaintainedIndex<R> => ({
  async update(tx, before, after, recordKey) {
    for (const [index, keyOf] of Object.entries(unique)) {
      const { old, current } = changedKeys(keyOf, before, after)
      const entryKey = (key: KeyTuple) => uniqueKey(name, index, key)
      for (const key of current)
        if ((await tx.get(entryKey(key))) !== undefined)
          throw new AllotError('conflict', `this ${name} is already taken`)
      replaceEntries(tx, old.map(entryKey), current.map(entryKey), recordKey)
    }
    const recordId = id((after ?? before)!)
    for (const [index, keyOf] of Object.entries(ordered)) {
      const { old, current } = changedKeys(keyOf, before, after)
      const entryKey = (key: KeyTuple) => orderedKey(name, index, key, recordId)
      replaceEntries(tx, old.map(entryKey), current.map(entryKey), recordKey)
    }
  },
})

/** Writes the entries that differ. */
const replaceEntries = (
  tx: WriteTransaction,
  old: readonly Bytes[],
  current: readonly Bytes[],
  recordKey: Bytes,
): void => {
  const gone = new Map(old.map((key) => [keyText(key), key]))
  for (const key of current) if (!gone.delete(keyText(key))) tx.put(key, recordKey)
  for (const key of gone.values()) tx.delete(key)
}

/** How many records share a key. */
export const countersOf = <R>(collection: string, keys: IndexKeys<R> = {}): MaintainedIndex<R> => ({
  async update(tx, before, after) {
    const changes = countChanges(collection, keys, before, after)
    if (changes.length === 0) return
    const counts = await tx.getMany(changes.map(({ key }) => key))
    for (const [index, { key, by }] of changes.entries()) {
      const count = countIn(counts[index]) + by
      if (count < 0) throw new Error(`counter ${decodeKey(key).join('/')} would become ${count}`)
      if (count === 0) tx.delete(key)
      else tx.put(key, encodeValue(count))
    }
  },
})

const countChanges = <R>(
  collection: string,
  keys: IndexKeys<R>,
  before: R | undefined,
  after: R | undefined,
): { key: Bytes; by: number }[] => {
  const changes = new Map<string, { key: Bytes; by: number }>()
  const add = (key: Bytes, by: number) => {
    const change = { key, by: (changes.get(keyText(key))?.by ?? 0) + by }
    changes.set(keyText(key), change)
  }
  for (const [index, keyOf] of Object.entries(keys)) {
    const counter = counterName(collection, index)
    const { old, current } = changedKeys(keyOf, before, after)
    for (const key of old) add(counterKey(counter, key), -1)
    for (const key of current) add(counterKey(counter, key), 1)
  }
  return [...changes.values()].filter(({ by }) => by !== 0)
}

const countIn = (bytes: Bytes | undefined): number => (bytes === undefined ? 0 : decodeValue<number>(bytes))

export const readCounter = async (tx: ReadTransaction, name: string, key: KeyTuple): Promise<number> =>
  countIn(await tx.get(counterKey(name, key, lookupKey)))

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
