import * as v from 'valibot'
import { issuePath } from '../errors.ts'
import type { Bytes, ReadTransaction, WriteTransaction } from '../storage/index.ts'
import {
  countIn,
  type Derived,
  derivedOf,
  type IndexEntry,
  type IndexKeys,
  indexEntries,
  keysIn,
  type Listing,
  readCounter,
  updateDerived,
} from './indexes.ts'
import { decodeKey, encodeKey, type KeyTuple, lookupKey, rangeBelow } from './key-codec.ts'
import { counterKey, counterName, decodeValue, encodeValue, idIn, recordKey, wordsOf } from './layout.ts'
import type { Page, Slice } from './pages.ts'

export type { IndexEntry } from './indexes.ts'

/** Records whose removal removes other records. */
export type Parent =
  | ('account' | 'organization' | 'owner' | 'team' | 'hook' | 'group')
  | ('repository' | 'repositoryUsage' | 'issue' | 'comment' | 'release' | 'packageVersion')

/** That records belong to another one: `allot verify` checks that it exists while they do. */
export interface BelongsTo<O extends string> {
  readonly to: Parent
  /** The ordered index whose keys begin with its id; absent: the ids of the records begin with it. */
  readonly by?: O
  /** What those keys begin with before the id; records with other keys belong to something else. */
  readonly within?: KeyTuple
  /** Set when the records are removed in the write that removes it; otherwise its job does it. */
  readonly removed?: 'now'
}

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
  /**
   * The sequence that gave numbers to its records, and all of those that a record has; its id unless given.
   * `allot verify` checks that the sequence is above them, so that no number is given twice.
   */
  numbers?: { sequence: string; of?: (record: R) => readonly number[] }
  /** What its records belong to. */
  belongsTo?: readonly BelongsTo<string>[]
}

/** From this offset on, a page reads the total first (one more round trip), to read from the nearer end. */
const READ_FROM_END = 500

/** A collection whose records have no type until they are parsed. */
export type AnyCollection = Collection<unknown, string, string, string>

let collectionsSoFar = 0

/** Records of one kind, with their indexes and counters. The keys are described in layout.ts. */
export class Collection<R, U extends string = never, O extends string = never, C extends string = never> {
  readonly options: CollectionOptions<R, U, O, C>
  /** Position in the order of definition. */
  readonly position = collectionsSoFar++
  readonly unique: readonly Derived<R>[]
  readonly ordered: readonly Derived<R>[]
  readonly counters: readonly Derived<R>[]
  readonly #name: string

  constructor(options: CollectionOptions<R, U, O, C> & { belongsTo?: readonly BelongsTo<NoInfer<O>>[] }) {
    this.options = options
    const { name, id, unique, ordered, counted } = options
    this.#name = name
    this.unique = derivedOf(unique, (index) => [name, 'u', index])
    this.ordered = derivedOf(ordered, (index) => [name, 'o', index], id)
    this.counters = derivedOf(counted, (counter) => [counterName(name, counter)])
  }

  get(tx: ReadTransaction, id: KeyTuple): Promise<R | undefined> {
    return readRecord(tx, this.#lookupKey(id))
  }

  /** The records in the order of the ids, with undefined for each that does not exist. */
  async getMany(tx: ReadTransaction, ids: readonly KeyTuple[]): Promise<(R | undefined)[]> {
    const values = await tx.getMany(ids.map((id) => this.#lookupKey(id)))
    return values.map((bytes) => bytes && decodeValue<R>(bytes))
  }

  /** The records with these ids that exist, by id; for collections whose ids are one number. */
  async byIds(tx: ReadTransaction, ids: Iterable<number>): Promise<ReadonlyMap<number, R>> {
    const distinct = [...new Set(ids)]
    const keys = distinct.map((id) => [id])
    const found = await this.getMany(tx, keys)
    const entries = distinct.map((id, index) => [id, found[index]] as const)
    return new Map(entries.filter((entry): entry is readonly [number, R] => entry[1] !== undefined))
  }

  /** The records that exist of those that the items refer to, by id. */
  referredBy<T>(tx: ReadTransaction, items: readonly T[], idOf: (item: T) => number) {
    return this.byIds(tx, items.map(idOf))
  }

  async findBy(tx: ReadTransaction, index: U, key: KeyTuple): Promise<R | undefined> {
    const found = await tx.get(lookupKey([this.#name, 'u', index, ...key]))
    return found && readRecord(tx, found)
  }

  /**
   * All records whose ids begin with `prefix`.
   * @param from the next part of the first id; absent: from the first one on
   */
  async *all(tx: ReadTransaction, prefix: KeyTuple = [], from?: string): AsyncGenerator<R> {
    const { end } = rangeBelow([this.#name, 'r', ...prefix])
    const start = from === undefined ? recordKey(this.#name, prefix) : this.#lookupKey([...prefix, from])
    for await (const [, value] of tx.range({ start, end })) yield decodeValue<R>(value)
  }

  /** All records as the stored JSON, to pass on without parsing. */
  async *allJson(tx: ReadTransaction): AsyncGenerator<Bytes> {
    for await (const [, value] of tx.range(rangeBelow([this.#name, 'r']))) yield value
  }

  count(tx: ReadTransaction, counter: C, key: KeyTuple): Promise<number> {
    return readCounter(tx, counterName(this.#name, counter), key)
  }

  /** The counts of several keys, in their order. */
  async counts(tx: ReadTransaction, counter: C, keys: readonly KeyTuple[]): Promise<number[]> {
    const name = counterName(this.#name, counter)
    const values = await tx.getMany(keys.map((key) => counterKey(name, key)))
    return values.map(countIn)
  }

  async list(tx: ReadTransaction, index: O, listing: Listing): Promise<R[]> {
    const entries: IndexEntry[] = []
    for await (const entry of this.entries(tx, index, listing)) entries.push(entry)
    return this.load(tx, entries)
  }

  /**
   * One page of a listing, and the total of the listing. The total comes from the counter with the name of
   * the index, or from another one with the same keys.
   */
  page(tx: ReadTransaction, index: O & C, listing: Listing & Slice): Promise<Page<R>>
  page(tx: ReadTransaction, index: O, listing: Listing & Slice, counter: C): Promise<Page<R>>
  async page(
    tx: ReadTransaction,
    index: O,
    listing: Listing & Slice,
    counter: string = index,
  ): Promise<Page<R>> {
    const { offset, limit, reverse = false, from } = listing
    const counted = this.count(tx, counter as C, listing.prefix)
    if (offset < READ_FROM_END || from !== undefined) {
      const [items, total] = await Promise.all([this.list(tx, index, listing), counted])
      return { items, total }
    }
    // Entries before a page are read, too: from the end that is nearer, so that the last page costs no more
    // than the first.
    const total = await counted
    const after = total - offset - limit
    if (after >= offset) return { items: await this.list(tx, index, listing), total }
    const found = { offset: Math.max(0, after), limit: Math.max(0, Math.min(limit, total - offset)) }
    const items = await this.list(tx, index, { ...listing, ...found, reverse: !reverse })
    return { items: items.reverse(), total }
  }

  entries(tx: ReadTransaction, index: O, listing: Listing): AsyncIterable<IndexEntry> {
    return indexEntries(tx, this.#name, index, listing)
  }

  /** The key of a loaded record in an index that has one for each. */
  keyOf(index: O, record: R): KeyTuple {
    return keysIn(this.options.ordered![index](record))[0] ?? []
  }

  /**
   * The entry of a loaded record in a listing.
   * @param prefix that of the listing, with which the key of the record begins
   */
  entryOf(index: O, prefix: KeyTuple, record: R): IndexEntry {
    const id = this.options.id(record)
    const inIndex = [this.#name, 'o', index]
    const { start } = rangeBelow([...inIndex, ...prefix])
    return {
      order: encodeKey([...inIndex, ...this.keyOf(index, record), ...id]).subarray(start.length),
      recordKey: recordKey(this.#name, id),
    }
  }

  /** The parts of the key of an entry after the prefix of the listing, and then the id. */
  orderOf({ order }: IndexEntry): KeyTuple {
    return decodeKey(order)
  }

  /** The id of the record of an entry. */
  idOf({ recordKey }: IndexEntry): KeyTuple {
    return idIn(recordKey)
  }

  /** The same for collections whose ids are one number. */
  numberOf(entry: IndexEntry): number {
    const [number] = this.idOf(entry)
    return number as number
  }

  /** The records of the entries that still exist: entries from an earlier snapshot can have none. */
  async load(tx: ReadTransaction, entries: readonly IndexEntry[]): Promise<R[]> {
    const values = await tx.getMany(entries.map((entry) => entry.recordKey))
    return values.flatMap((bytes) => (bytes === undefined ? [] : [decodeValue<R>(bytes)]))
  }

  /**
   * Writes the fields that the schema has, and updates indexes and counters.
   * @returns the record before
   * @throws AllotError conflict when a unique index has another record at the same key
   */
  async save(tx: WriteTransaction, given: R): Promise<R | undefined> {
    const record = this.#checked(given)
    const before = await readRecord<R>(tx, recordKey(this.#name, this.options.id(record)))
    await this.#put(tx, before, record)
    return before
  }

  /** Like {@link save}, for a record whose id no record has ever had: the id is not read. */
  add(tx: WriteTransaction, record: R): Promise<void> {
    return this.replace(tx, undefined, record)
  }

  /**
   * Like {@link save}, without reading the record again.
   * @param before the record with this id, as this transaction has read it; undefined when there is none
   */
  async replace(tx: WriteTransaction, before: R | undefined, record: R): Promise<void> {
    await this.#put(tx, before, this.#checked(record))
  }

  /**
   * The record with the fields that the schema has.
   * @throws Error that names the record and the wrong member, such as one that no step of an upgrade has
   * added; never its value, which can be secret
   */
  #checked(record: R): R {
    const { success, output, issues } = v.safeParse(this.options.schema, record, { abortEarly: true })
    if (success) return output
    const id = JSON.stringify(this.options.id(record))
    throw new Error(
      `the ${wordsOf(this.#name)} ${id} cannot be saved: ${issuePath(issues[0])} is missing or wrong`,
    )
  }

  async #put(tx: WriteTransaction, before: R | undefined, record: R): Promise<void> {
    const key = recordKey(this.#name, this.options.id(record))
    await updateDerived(tx, this, before, record, key)
    tx.put(key, encodeValue(record))
  }

  /** @returns the removed record */
  async remove(tx: WriteTransaction, id: KeyTuple): Promise<R | undefined> {
    const key = this.#lookupKey(id)
    const before = await readRecord<R>(tx, key)
    if (before !== undefined) await this.#remove(tx, before, key)
    return before
  }

  /**
   * Like {@link remove}, without reading the record again.
   * @param before the record as this transaction has read it
   */
  removeLoaded(tx: WriteTransaction, before: R): Promise<void> {
    return this.#remove(tx, before, recordKey(this.#name, this.options.id(before)))
  }

  async #remove(tx: WriteTransaction, before: R, key: Bytes): Promise<void> {
    await updateDerived(tx, this, before, undefined, key)
    tx.delete(key)
  }

  /** An id that is too long for a key finds nothing. */
  #lookupKey(id: KeyTuple): Bytes {
    return recordKey(this.#name, id, lookupKey)
  }
}

const readRecord = async <R>(tx: ReadTransaction, key: Bytes): Promise<R | undefined> => {
  const bytes = await tx.get(key)
  return bytes && decodeValue<R>(bytes)
}
