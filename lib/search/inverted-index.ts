import { randomInt } from 'node:crypto'
import type { Bytes, ReadTransaction, WriteTransaction } from '../storage/driver.ts'
import { keyText } from '../storage/write-buffer.ts'
import { decodeValue, encodeValue } from '../records/codec.ts'
import type { IndexEntry } from '../records/collection.ts'
import { type KeyTuple, lookupKey } from '../records/key-codec.ts'
import { compactionMarkKey, counterKey, counterName, orderedKey } from '../records/keys.ts'
import {
  addPosting,
  COMPACTION_START,
  postingList,
  postingsOf,
  removePosting,
  searchPostings,
} from './posting-list.ts'

/** Many places for one record in one index, such as the parts of its name. */
export interface InvertedIndexOptions<R> {
  /** What the places are made from; while it stays the same, nothing is written. Undefined keeps the record out. */
  from: (record: R) => KeyTuple | undefined
  places: (from: KeyTuple) => readonly KeyTuple[]
  /** How many members of a place say what it is counted with. */
  counted: number
  /** Whether its lists are packed (posting-list.ts): what they are counted by names them, and the ids are one number. */
  isCompacted?: boolean
}

/** How many entries begin with a place, and a number that is another one after every change of them. */
export interface VersionedCount {
  count: number
  /** 0 where nothing was ever there. */
  stamp: number
}

export interface InvertedIndex<R> {
  /** Takes the entries and counts from those of one record to those of another in its place. */
  update(tx: WriteTransaction, before: R | undefined, record: R | undefined, recordKey: Bytes): Promise<void>
  count(tx: ReadTransaction, place: KeyTuple): Promise<VersionedCount>
  /** The entries of one list of a packed index, in their order. */
  postings(tx: ReadTransaction, head: KeyTuple): AsyncIterable<IndexEntry>
  /** The first entries of one list of a packed index whose texts have the word, and, where asked, how many have it. */
  find(
    tx: ReadTransaction,
    head: KeyTuple,
    word: string,
    most: number,
    isCounted: boolean,
  ): Promise<SearchResult>
}

export interface SearchResult {
  entries: IndexEntry[]
  total: number
}

const NOTHING: VersionedCount = { count: 0, stamp: 0 }

/** Stamps are drawn by lot, so that no two processes need to agree on the next one. */
const STAMPS = 2 ** 48 - 1

/** Entries lie where those of an ordered index of the same name would: [collection, 'o', index, …place, …id]. */
export const invertedIndex = <R>(
  collection: string,
  index: string,
  spread: InvertedIndexOptions<R>,
  id: (record: R) => KeyTuple,
): InvertedIndex<R> => {
  const { from, counted, isCompacted = false } = spread
  const keysOf = (record: R | undefined) =>
    new Map(
      postingKeysOf(spread, record).map((place) => {
        const key = orderedKey(collection, index, place, id(record!))
        return [keyText(key), { key, head: place.slice(0, counted) }]
      }),
    )
  const countKey = (place: KeyTuple) => counterKey(counterName(collection, index), place)

  /** Where it is said already, it may be said from where to go on. */
  const sayGrown = async (tx: WriteTransaction, head: KeyTuple) => {
    const key = compactionMarkKey(collection, index, head)
    if ((await tx.get(key)) === undefined) tx.put(key, COMPACTION_START)
  }

  const recount = async (
    tx: WriteTransaction,
    changed: readonly Changed[],
    held: readonly (Bytes | undefined)[],
  ) => {
    for (const [at, { by, head }] of changed.entries()) {
      const key = countKey(head)
      const count = stamped(held[at]).count + by
      if (count < 0)
        throw new Error(`counter ${collection}:${index} of ${head.join('/')} would become ${count}`)
      if (count === 0) tx.delete(key)
      else tx.put(key, encodeVersionedCount(count))
      if (isCompacted && count >= MIN_COMPACTED && randomInt(SELDOM) === 0) await sayGrown(tx, head)
    }
  }

  return {
    async update(tx, before, record, recordKey) {
      if (JSON.stringify(before && from(before)) === JSON.stringify(record && from(record))) return
      const [held, wanted] = [keysOf(before), keysOf(record)]
      const lost = [...held].flatMap(([text, entry]) => (wanted.has(text) ? [] : [entry]))
      const gained = [...wanted].flatMap(([text, entry]) => (held.has(text) ? [] : [entry]))
      const changed = changesOf(lost, gained)
      // What is there already tells whether an entry is in a pack.
      const entries = isCompacted ? [...lost, ...gained].map(({ key }) => key) : []
      const found = await tx.getMany([...entries, ...changed.map(({ head }) => countKey(head))])
      for (const [at, { key }] of lost.entries())
        if (isCompacted) removePosting(tx, key, found[at])
        else tx.delete(key)
      for (const [at, { key }] of gained.entries())
        if (isCompacted) addPosting(tx, key, found[lost.length + at], recordKey)
        else tx.put(key, recordKey)
      await recount(tx, changed, found.slice(entries.length))
    },
    count: async (tx, place) =>
      stamped(await tx.get(counterKey(counterName(collection, index), place, lookupKey))),
    postings: (tx, head) => postingsOf(tx, postingList(collection, index, head)),
    find: (tx, head, ...asked) => searchPostings(tx, postingList(collection, index, head), ...asked),
  }
}

/** A list is looked at again after so many changes, more or less; by lot, so that nobody need count them. */
const SELDOM = 1024
/** A shorter list is not worth it. */
export const MIN_COMPACTED = 256

interface Changed {
  head: KeyTuple
  by: number
}

const changesOf = (lost: readonly { head: KeyTuple }[], gained: readonly { head: KeyTuple }[]): Changed[] => {
  const changes = new Map<string, Changed>()
  const note = ({ head }: { head: KeyTuple }, by: number) => {
    const text = JSON.stringify(head)
    changes.set(text, { head, by: (changes.get(text)?.by ?? 0) + by })
  }
  for (const entry of lost) note(entry, -1)
  for (const entry of gained) note(entry, 1)
  return [...changes.values()]
}

export const postingKeysOf = <R>(
  { from, places }: InvertedIndexOptions<R>,
  record: R | undefined,
): readonly KeyTuple[] => {
  const source = record === undefined ? undefined : from(record)
  return source === undefined ? [] : places(source)
}

/** What is kept of a place: its count, and a new stamp. */
export const encodeVersionedCount = (count: number): Bytes => encodeValue([count, randomInt(1, STAMPS)])

/** The count in what is kept of a place; undefined when it is none. */
export const decodeVersionedCount = (value: Bytes): number | undefined => {
  try {
    const [count, stamp, ...rest] = decodeValue<unknown[]>(value)
    const isWhole = [count, stamp].every((one) => Number.isSafeInteger(one) && (one as number) > 0)
    return isWhole && rest.length === 0 ? (count as number) : undefined
  } catch {
    return undefined
  }
}

const stamped = (bytes: Bytes | undefined): VersionedCount => {
  if (bytes === undefined) return NOTHING
  const [count, stamp] = decodeValue<[number, number]>(bytes)
  return { count, stamp }
}
