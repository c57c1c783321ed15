import { AllotError } from '../errors.ts'
import { type Bytes, keyText, type ReadTransaction, type WriteTransaction } from '../storage/index.ts'
import { decodeKey, encodeKey, type KeyTuple, lookupKey, rangeBelow } from './key-codec.ts'
import { counterKey, decodeValue, encodeValue } from './layout.ts'

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

interface ChangedKeys {
  readonly old: readonly Bytes[]
  readonly current: readonly Bytes[]
}

const NO_CHANGE: ChangedKeys = { old: [], current: [] }

/** An index of a collection, or one of its counters: all of their keys follow from the records. */
export interface Derived<R> {
  /** The first parts of its keys. */
  readonly prefix: readonly string[]
  /** The keys that a record has in it. */
  keysOf(record: R): readonly Bytes[]
  /** The keys of a record before and after a change; none of either when they are the same. */
  changedKeys(before: R | undefined, after: R | undefined): ChangedKeys
}

/** @param idOf the last parts of the keys of a record */
export const derivedOf = <R>(
  keys: IndexKeys<R> = {},
  prefixOf: (index: string) => readonly string[],
  idOf: (record: R) => KeyTuple = () => [],
): Derived<R>[] =>
  Object.entries(keys).map(([index, keyOf]) => {
    const prefix = prefixOf(index)
    const encode = (record: R | undefined, found: KeyTuple | SeveralKeys | undefined) =>
      keysIn(found).map((key) => encodeKey([...prefix, ...key, ...idOf(record!)]))
    return {
      prefix,
      keysOf: (record) => encode(record, keyOf(record)),
      changedKeys(before, after) {
        const [old, current] = [before && keyOf(before), after && keyOf(after)]
        if (isSame(sourceOf(old), sourceOf(current))) return NO_CHANGE
        return { old: encode(before, old), current: encode(after, current) }
      },
    }
  })

const sourceOf = (keys: KeyTuple | SeveralKeys | undefined): KeyTuple | undefined =>
  keys !== undefined && 'each' in keys ? keys.of : keys

const isSame = (left: KeyTuple | undefined, right: KeyTuple | undefined): boolean =>
  left !== undefined && left.length === right?.length && left.every((part, index) => part === right[index])

/** What follows from the records of a collection. */
interface DerivedParts<R> {
  /** Indexes in which each key has at most one record. */
  readonly unique: readonly Derived<R>[]
  readonly ordered: readonly Derived<R>[]
  readonly counters: readonly Derived<R>[]
}

/**
 * Updates indexes and counters with the record before and after a change, in the transaction of the change,
 * and writes only what differs. So an index cannot be forgotten, and nothing is counted on a request.
 * @param before undefined for a new record
 * @param after undefined for a removed one
 * @throws AllotError conflict when a unique index has another record at the same key
 */
export const updateDerived = async <R>(
  tx: WriteTransaction,
  { unique, ordered, counters }: DerivedParts<R>,
  before: R | undefined,
  after: R | undefined,
  recordKey: Bytes,
): Promise<void> => {
  for (const { prefix, changedKeys } of unique) {
    const { old, current } = changedKeys(before, after)
    for (const key of current)
      if ((await tx.get(key)) !== undefined)
        throw new AllotError('conflict', `this ${prefix[0]} is already taken`)
    replaceEntries(tx, old, current, recordKey)
  }
  for (const { changedKeys } of ordered) {
    const { old, current } = changedKeys(before, after)
    replaceEntries(tx, old, current, recordKey)
  }
  await updateCounters(tx, countChanges(counters, before, after))
}

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

const updateCounters = async (tx: WriteTransaction, changes: readonly CountChange[]): Promise<void> => {
  if (changes.length === 0) return
  const counts = await tx.getMany(changes.map(({ key }) => key))
  for (const [index, { key, by }] of changes.entries()) {
    const count = countIn(counts[index]) + by
    if (count < 0) throw new Error(`counter ${decodeKey(key).join('/')} would become ${count}`)
    if (count === 0) tx.delete(key)
    else tx.put(key, encodeValue(count))
  }
}

interface CountChange {
  readonly key: Bytes
  readonly by: number
}

const countChanges = <R>(
  counters: readonly Derived<R>[],
  before: R | undefined,
  after: R | undefined,
): CountChange[] => {
  const changes = new Map<string, CountChange>()
  const add = (key: Bytes, by: number) => {
    const change = { key, by: (changes.get(keyText(key))?.by ?? 0) + by }
    changes.set(keyText(key), change)
  }
  for (const { changedKeys } of counters) {
    const { old, current } = changedKeys(before, after)
    for (const key of old) add(key, -1)
    for (const key of current) add(key, 1)
  }
  return [...changes.values()].filter(({ by }) => by !== 0)
}

/** The value of a counter. */
export const countIn = (bytes: Bytes | undefined): number =>
  bytes === undefined ? 0 : decodeValue<number>(bytes)

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
  /** The next parts of the lowest entry: the first one, or with `reverse` the last one. */
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
