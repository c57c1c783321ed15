import * as v from 'valibot'
import type { Bytes, ReadTransaction, WriteTransaction } from '../storage/index.ts'
import {
  counters,
  type IndexEntry,
  type IndexKeys,
  indexEntries,
  type Listing,
  type MaintainedIndex,
  orderedIndexes,
  readCounter,
  uniqueIndexes,
} from './indexes.ts'
import { type KeyTuple, lookupKey, rangeBelow } from './key-codec.ts'
import { counterName, decodeValue, encodeValue, orderedKey, recordKey, uniqueKey } from './layout.ts'

export type { IndexEntry } from './indexes.ts'

interface CollectionOptions<R, U extends string, O extends string, C extends string> {
  /** Name of the collection, as it is in keys. */
  name: string
  schema: v.GenericSchema<R>
  id: (record: R) => KeyTuple
  /** Indexes in which each key has at most one record. */
  unique?: IndexKeys<R, U>
  /** Indexes that list records in the order of their key, then of their id. */
  ordered?: IndexKeys<R, O>
  /** Counters of the records that share a key. */
  counted?: IndexKeys<R, C>
  /** Search indexes, such as those of lib/search. */
  search?: readonly MaintainedIndex<R>[]
}

/** Which part of a listing to return. */
export interface Slice {
  offset: number
  limit: number
}

/** A part of a listing. */
export interface Page<T> {
  items: T[]
  /** How many items the whole listing has, of those that the viewer may see. */
  total: number
}

/** Records of one kind, with their indexes and counters. */
export interface Collection<
  R,
  U extends string = string,
  O extends string = string,
  C extends string = string,
> {
  readonly options: CollectionOptions<R, U, O, C>
  get(tx: ReadTransaction, id: KeyTuple): Promise<R | undefined>
  /** The records in the order of the ids, with undefined for each that does not exist. */
  getMany(tx: ReadTransaction, ids: readonly KeyTuple[]): Promise<(R | undefined)[]>
  findBy(tx: ReadTransaction, index: U, key: KeyTuple): Promise<R | undefined>
  list(tx: ReadTransaction, index: O, listing: Listing): Promise<R[]>
  entries(tx: ReadTransaction, index: O, listing: Listing): AsyncIterable<IndexEntry>
  /** The entry of a loaded record in a listing whose prefix has `depth` parts. */
  entryOf(index: O, depth: number, record: R): IndexEntry
  load(tx: ReadTransaction, entries: readonly IndexEntry[]): Promise<R[]>
  /**
   * One page of a listing, and the total of the listing. The total comes from the counter with the name of the index, or
   * from another one with the same keys.
   */
  page(tx: ReadTransaction, index: O & C, listing: Listing & Slice): Promise<Page<R>>
  page(tx: ReadTransaction, index: O, listing: Listing & Slice, counter: C): Promise<Page<R>>
  /** All records whose ids begin with `prefix`. */
  all(tx: ReadTransaction, prefix?: KeyTuple): AsyncIterable<R>
  /** All records as the stored JSON, to pass on without parsing. */
  allJson(tx: ReadTransaction): AsyncIterable<Bytes>
  count(tx: ReadTransaction, counter: C, key: KeyTuple): Promise<number>
  /**
   * Writes the fields that the schema has, and updates indexes and counters.
   * @returns the record before
   * @throws AllotError conflict when a unique index has another record at the same key
   */
  save(tx: WriteTransaction, record: R): Promise<R | undefined>
  /** @returns the removed record */
  remove(tx: WriteTransaction, id: KeyTuple): Promise<R | undefined>
}

/** Declares a collection. Its keys are described in layout.ts. */
export const collection = <R, U extends string = never, O extends string = never, C extends string = never>(
  options: CollectionOptions<R, U, O, C>,
): Collection<R, U, O, C> => ({ options, ...lookups(options), ...listings(options), ...changes(options) })

/** The key to look a record up by: an id that is too long for a key finds nothing. */
const lookupRecordKey = (collection: string, id: KeyTuple): Bytes => recordKey(collection, id, lookupKey)

const readRecord = async <R>(tx: ReadTransaction, key: Bytes): Promise<R | undefined> => {
  const bytes = await tx.get(key)
  return bytes && decodeValue<R>(bytes)
}

type Lookups<R, U extends string, C extends string> = Pick<
  Collection<R, U, string, C>,
  'get' | 'getMany' | 'findBy' | 'all' | 'allJson' | 'count'
>

const lookups = <R, U extends string, O extends string, C extends string>({
  name,
}: CollectionOptions<R, U, O, C>): Lookups<R, U, C> => ({
  get: (tx, id) => readRecord(tx, lookupRecordKey(name, id)),
  async getMany(tx, ids) {
    const values = await tx.getMany(ids.map((id) => lookupRecordKey(name, id)))
    return values.map((bytes) => (bytes === undefined ? undefined : decodeValue<R>(bytes)))
  },
  async findBy(tx, index, key) {
    const found = await tx.get(uniqueKey(name, index, key, lookupKey))
    return found && readRecord(tx, found)
  },
  async *all(tx, prefix = []) {
    for await (const [, value] of tx.range(rangeBelow([name, 'r', ...prefix]))) yield decodeValue<R>(value)
  },
  async *allJson(tx) {
    for await (const [, value] of tx.range(rangeBelow([name, 'r']))) yield value
  },
  count: (tx, counter, key) => readCounter(tx, counterName(name, counter), key),
})

type Listings<R, O extends string> = Pick<
  Collection<R, string, O, string>,
  'list' | 'entries' | 'entryOf' | 'load' | 'page'
>

const listings = <R, U extends string, O extends string, C extends string>({
  name,
  id,
  ordered,
}: CollectionOptions<R, U, O, C>): Listings<R, O> => {
  const load = async (tx: ReadTransaction, entries: readonly IndexEntry[]) => {
    const values = await tx.getMany(entries.map((entry) => entry.recordKey))
    return values.flatMap((bytes) => (bytes === undefined ? [] : [decodeValue<R>(bytes)]))
  }
  const list = async (tx: ReadTransaction, index: O, listing: Listing) => {
    const entries: IndexEntry[] = []
    for await (const entry of indexEntries(tx, name, index, listing)) entries.push(entry)
    return load(tx, entries)
  }
  return {
    entries: (tx, index, listing) => indexEntries(tx, name, index, listing),
    load,
    list,
    page: async (tx: ReadTransaction, index: O, listing: Listing & Slice, counter: string = index) => ({
      items: await list(tx, index, listing),
      total: await readCounter(tx, counterName(name, counter), listing.prefix),
    }),
    entryOf(index, depth, record) {
      const key = ordered![index](record) ?? []
      const { start } = rangeBelow([name, 'o', index, ...key.slice(0, depth)])
      return {
        order: orderedKey(name, index, key, id(record)).subarray(start.length),
        recordKey: recordKey(name, id(record)),
      }
    },
  }
}

const changes = <R, U extends string, O extends string, C extends string>({
  name,
  schema,
  id,
  unique = {} as IndexKeys<R, U>,
  ordered = {} as IndexKeys<R, O>,
  counted = {} as IndexKeys<R, C>,
  search = [],
}: CollectionOptions<R, U, O, C>): Pick<Collection<R>, 'save' | 'remove'> => {
  const indexes = [
    uniqueIndexes(name, unique),
    orderedIndexes(name, ordered, id),
    counters(name, counted),
    ...search,
  ]
  return {
    async save(tx, given) {
      const record = v.parse(schema, given)
      const key = recordKey(name, id(record))
      const before = await readRecord<R>(tx, key)
      for (const index of indexes) await index.update(tx, before, record, key)
      tx.put(key, encodeValue(record))
      return before
    },
    async remove(tx, recordId) {
      const key = lookupRecordKey(name, recordId)
      const before = await readRecord<R>(tx, key)
      if (before === undefined) return undefined
      for (const index of indexes) await index.update(tx, before, undefined, key)
      tx.delete(key)
      return before
    },
  }
}
