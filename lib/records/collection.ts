import * as v from 'valibot'
import { AllotError } from '../errors.ts'
import type { Bytes, ReadTransaction, WriteTransaction } from '../storage/driver.ts'
import { decodeValue, encodeValue } from './codec.ts'
import { type Counter, counter } from './counter.ts'
import { type KeyTuple, lookupKey, rangeBelow } from './key-codec.ts'
import { counterName, orderedKey, recordKey as recordKeyIn, uniqueKey } from './keys.ts'

/** The place of a record in an index; undefined keeps the record out of it. */
type IndexKey<R> = (record: R) => KeyTuple | undefined
type IndexKeys<R, Name extends string> = Readonly<Record<Name, IndexKey<R>>>

export interface CollectionOptions<R, U extends string, O extends string, C extends string> {
  name: string
  schema: v.GenericSchema<R>
  id: (record: R) => KeyTuple
  /** At most one record in each place. */
  unique?: IndexKeys<R, U>
  /** Records in the order of their place, then of their id. */
  ordered?: IndexKeys<R, O>
  /** How many records share a place. */
  counted?: IndexKeys<R, C>
  /** Search indexes, which are kept up to date in the same transaction. */
  search?: readonly MaintainedIndex<R>[]
}

/** An index that a collection keeps up to date without knowing how it is stored. */
export interface MaintainedIndex<R> {
  /** Replaces the entries of one record: `before` is undefined for a new record, `after` for a removed one. */
  update(tx: WriteTransaction, before: R | undefined, after: R | undefined, recordKey: Bytes): Promise<void>
}

export interface Listing {
  /** The first members of the place; the rest is the order. */
  prefix: KeyTuple
  reverse?: boolean
  offset?: number
  limit?: number
}

/** An index entry that has not been loaded yet: enough to merge and to skip by. */
export interface IndexEntry {
  /** What follows the prefix in the key: entries of several listings sort by it as those of one would. */
  readonly order: Bytes
  readonly recordKey: Bytes
}

export interface Collection<
  R,
  U extends string = string,
  O extends string = string,
  C extends string = string,
> {
  readonly options: CollectionOptions<R, U, O, C>
  get(tx: ReadTransaction, id: KeyTuple): Promise<R | undefined>
  /** As many answers as ids, in their order. */
  getMany(tx: ReadTransaction, ids: readonly KeyTuple[]): Promise<(R | undefined)[]>
  findBy(tx: ReadTransaction, index: U, place: KeyTuple): Promise<R | undefined>
  list(tx: ReadTransaction, index: O, listing: Listing): Promise<R[]>
  entries(tx: ReadTransaction, index: O, listing: Listing): AsyncIterable<IndexEntry>
  /** The entry of a record that is held already, as a listing whose prefix has so many members shows it. */
  entryOf(index: O, depth: number, record: R): IndexEntry
  load(tx: ReadTransaction, entries: readonly IndexEntry[]): Promise<R[]>
  /** @param below what the ids begin with */
  all(tx: ReadTransaction, below?: KeyTuple): AsyncIterable<R>
  /** The same as the JSON that is kept: to hand on, nothing need be read out of it. */
  allJson(tx: ReadTransaction): AsyncIterable<Bytes>
  count(tx: ReadTransaction, counted: C, place: KeyTuple): Promise<number>
  /** Writes the members that the schema has, and the index entries and counts that changed; answers what was there. */
  save(tx: WriteTransaction, record: R): Promise<R | undefined>
  /** Answers what was removed. */
  remove(tx: WriteTransaction, id: KeyTuple): Promise<R | undefined>
}

/** The entries of an ordered index, in order. */
export async function* indexEntries(
  tx: ReadTransaction,
  collection: string,
  index: string,
  { prefix, reverse = false, offset = 0, limit }: Listing,
): AsyncGenerator<IndexEntry> {
  const range = { ...rangeBelow([collection, 'o', index, ...prefix]), reverse }
  const bounded = limit === undefined ? range : { ...range, limit: limit + offset }
  let skipped = 0
  for await (const [key, value] of tx.range(bounded)) {
    if (skipped++ < offset) continue
    yield { order: key.subarray(range.start.length), recordKey: value }
  }
}

/**
 * Records of one kind with their indexes. `save` compares the entries of the record that was there with those of the
 * one that comes, so that no index can be forgotten. Keys: [name, 'r', …id], [name, 'u', index, …place],
 * [name, 'o', index, …place, …id], and counters named `name:counted`.
 */
export const collection = <R, U extends string = never, O extends string = never, C extends string = never>(
  options: CollectionOptions<R, U, O, C>,
): Collection<R, U, O, C> => {
  const { name, search = [] } = options
  const recordKey = (id: KeyTuple) => recordKeyIn(name, id)
  /** A record with an id that is too long for a key cannot exist, so a lookup of it finds nothing. */
  const sought = (id: KeyTuple) => recordKeyIn(name, id, lookupKey)
  const unique = indexesOf(options.unique)
  const ordered = indexesOf(options.ordered)
  const counted = indexesOf(options.counted)
  const counters = new Map<string, Counter>(
    counted.map(([index]) => [index, counter(counterName(name, index))]),
  )

  const uniqueKeys = (record: R) => new Map(keysOf(unique, record, (index, at) => uniqueKey(name, index, at)))
  const orderedKeys = (record: R) =>
    new Map(keysOf(ordered, record, (index, at) => orderedKey(name, index, at, options.id(record))))

  const read = async (tx: ReadTransaction, key: Bytes): Promise<R | undefined> => {
    const bytes = await tx.get(key)
    return bytes && decodeValue<R>(bytes)
  }

  const updateUnique = async (tx: WriteTransaction, before: R | undefined, record: R, at: Bytes) => {
    const held = before === undefined ? new Map<string, Bytes>() : uniqueKeys(before)
    const wanted = uniqueKeys(record)
    for (const [text, key] of wanted) {
      if (held.has(text)) continue
      if ((await tx.get(key)) !== undefined) throw new AllotError('conflict', `this ${name} is already taken`)
      tx.put(key, at)
    }
    for (const [text, key] of held) if (!wanted.has(text)) tx.delete(key)
  }

  const updateOrdered = (tx: WriteTransaction, before: R | undefined, record: R | undefined, at: Bytes) => {
    const held = before === undefined ? new Map<string, Bytes>() : orderedKeys(before)
    const wanted = record === undefined ? new Map<string, Bytes>() : orderedKeys(record)
    for (const [text, key] of wanted) if (!held.has(text)) tx.put(key, at)
    for (const [text, key] of held) if (!wanted.has(text)) tx.delete(key)
  }

  const count = async (tx: WriteTransaction, record: R, by: 1 | -1) => {
    for (const [index, place] of counted) {
      const at = place(record)
      if (at !== undefined) await counters.get(index)!.add(tx, at, by)
    }
  }

  const recount = async (tx: WriteTransaction, before: R | undefined, record: R) => {
    if (before !== undefined && sameCounts(counted, before, record)) return
    if (before !== undefined) await count(tx, before, -1)
    await count(tx, record, 1)
  }

  const entries = (tx: ReadTransaction, index: O, listing: Listing) => indexEntries(tx, name, index, listing)

  const load = async (tx: ReadTransaction, found: readonly IndexEntry[]) => {
    const values = await tx.getMany(found.map((entry) => entry.recordKey))
    return values.flatMap((bytes) => (bytes === undefined ? [] : [decodeValue<R>(bytes)]))
  }

  return {
    options,
    get: (tx, id) => read(tx, sought(id)),
    async getMany(tx, ids) {
      const values = await tx.getMany(ids.map(sought))
      return values.map((bytes) => (bytes === undefined ? undefined : decodeValue<R>(bytes)))
    },
    async findBy(tx, index, place) {
      const key = await tx.get(uniqueKey(name, index, place, lookupKey))
      return key && read(tx, key)
    },
    async list(tx, index, listing) {
      const found: IndexEntry[] = []
      for await (const entry of entries(tx, index, listing)) found.push(entry)
      return load(tx, found)
    },
    entries,
    entryOf(index, depth, record) {
      const place = options.ordered![index](record) ?? []
      const key = orderedKey(name, index, place, options.id(record))
      const { start } = rangeBelow([name, 'o', index, ...place.slice(0, depth)])
      return { order: key.subarray(start.length), recordKey: recordKey(options.id(record)) }
    },
    load,
    async *all(tx, below = []) {
      for await (const [, value] of tx.range(rangeBelow([name, 'r', ...below]))) yield decodeValue<R>(value)
    },
    async *allJson(tx) {
      for await (const [, value] of tx.range(rangeBelow([name, 'r']))) yield value
    },
    count: (tx, index, place) => counters.get(index)!.get(tx, place),
    async save(tx, given) {
      const record = v.parse(options.schema, given)
      const key = recordKey(options.id(record))
      const before = await read(tx, key)
      await updateUnique(tx, before, record, key)
      updateOrdered(tx, before, record, key)
      await recount(tx, before, record)
      for (const index of search) await index.update(tx, before, record, key)
      tx.put(key, encodeValue(record))
      return before
    },
    async remove(tx, id) {
      const key = sought(id)
      const before = await read(tx, key)
      if (before === undefined) return undefined
      for (const held of uniqueKeys(before).values()) tx.delete(held)
      updateOrdered(tx, before, undefined, key)
      await count(tx, before, -1)
      for (const index of search) await index.update(tx, before, undefined, key)
      tx.delete(key)
      return before
    },
  }
}

const indexesOf = <R>(places: IndexKeys<R, string> | undefined): [string, IndexKey<R>][] =>
  Object.entries(places ?? {})

/** The keys of a record in its indexes, each with a text to compare it by. */
const keysOf = <R>(
  places: [string, IndexKey<R>][],
  record: R,
  keyIn: (index: string, at: KeyTuple) => Bytes,
): [string, Bytes][] =>
  places.flatMap(([index, place]) => {
    const at = place(record)
    if (at === undefined) return []
    const key = keyIn(index, at)
    return [[Buffer.from(key).toString('latin1'), key] as [string, Bytes]]
  })

const sameCounts = <R>(places: [string, IndexKey<R>][], before: R, record: R): boolean =>
  places.every(([, place]) => JSON.stringify(place(before)) === JSON.stringify(place(record)))
