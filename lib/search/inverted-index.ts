import { randomInt } from 'node:crypto'
import type { MaintainedIndex } from '../records/indexes.ts'
import { type KeyTuple, lookupKey } from '../records/key-codec.ts'
import { counterKey, counterName, decodeValue, encodeValue, orderedKey } from '../records/layout.ts'
import { type Bytes, keyText, type ReadTransaction, type WriteTransaction } from '../storage/index.ts'
import { addPosting, COMPACTION_START, compactionMarkKey, removePosting } from './posting-list.ts'

export interface InvertedIndexOptions<R> {
  /** Name of the collection whose records are indexed. */
  collection: string
  /** Name of the index, as it is in keys. */
  name: string
  /** The values that the postings of a record follow from; undefined keeps the record out of the index. */
  source: (record: R) => KeyTuple | undefined
  /** The key of each posting: its list, and after it what sorts the list. */
  keys: (source: KeyTuple) => readonly KeyTuple[]
  /** How many leading parts of a key name the list. */
  listDepth: number
  /**
   * Whether the compactor moves postings into blocks. The key of a posting then ends with the id, one number.
   */
  isCompacted?: boolean
}

/**
 * The number of postings of a list, and a version that differs after every change of a list that has some.
 */
export interface VersionedCount {
  count: number
  /** 0 for a list without postings. */
  version: number
}

/** A list with fewer postings is never marked for compaction. index.ts explains the numbers. */
export const MIN_COMPACTED = 256
/**
 * A long list is marked for compaction after about this many changes. Random, so that no counter of changes
 * is needed.
 */
const CHANGES_PER_COMPACTION = 1024

/**
 * Keeps lists of postings, one per token: a record has as many postings as `keys` returns for it. Its two
 * kinds, `WordIndex` and `TrigramIndex`, differ in how a list is stored and read.
 */
export abstract class InvertedIndex<R extends { id: number }> implements MaintainedIndex<R> {
  readonly options: InvertedIndexOptions<R>
  readonly #counter: string

  constructor(options: InvertedIndexOptions<R>) {
    this.options = options
    this.#counter = counterName(options.collection, options.name)
  }

  async update(
    tx: WriteTransaction,
    before: R | undefined,
    after: R | undefined,
    recordKey: Bytes,
  ): Promise<void> {
    const { source, isCompacted = false } = this.options
    if (JSON.stringify(before && source(before)) === JSON.stringify(after && source(after))) return
    const [old, current] = [postingsByKey(this.options, before), postingsByKey(this.options, after)]
    const removed = postingsOnlyIn(old, current)
    const added = postingsOnlyIn(current, old)
    const changes = countChanges(this.#counter, removed, added)
    // The value at the key of a loose posting says whether the posting is loose, in a block, or removed from
    // one.
    const probed = isCompacted ? [...removed, ...added].map(({ key }) => key) : []
    const found = await tx.getMany([...probed, ...changes.map(({ key }) => key)])
    for (const [index, { key }] of removed.entries())
      if (isCompacted) removePosting(tx, key, found[index])
      else tx.delete(key)
    for (const [index, { key }] of added.entries())
      if (isCompacted) addPosting(tx, key, found[removed.length + index], recordKey)
      else tx.put(key, recordKey)
    await this.#updateCounts(tx, changes, found.slice(probed.length))
  }

  async count(tx: ReadTransaction, list: KeyTuple): Promise<VersionedCount> {
    return versionedCount(await tx.get(counterKey(this.#counter, list, lookupKey)))
  }

  async #updateCounts(
    tx: WriteTransaction,
    changes: readonly CountChange[],
    before: readonly (Bytes | undefined)[],
  ): Promise<void> {
    const { collection, name, isCompacted } = this.options
    for (const [index, { key, list, by }] of changes.entries()) {
      const count = versionedCount(before[index]).count + by
      if (count < 0) throw new Error(`counter ${this.#counter} of ${list.join('/')} would become ${count}`)
      if (count === 0) tx.delete(key)
      else tx.put(key, encodeVersionedCount(count))
      if (isCompacted && count >= MIN_COMPACTED && randomInt(CHANGES_PER_COMPACTION) === 0)
        await markForCompaction(tx, compactionMarkKey(collection, name, list))
    }
  }
}

interface Posting {
  key: Bytes
  list: KeyTuple
}

const postingsByKey = <R extends { id: number }>(
  options: InvertedIndexOptions<R>,
  record: R | undefined,
): Map<string, Posting> =>
  new Map(
    postingKeysOf(options, record).map((place) => {
      const key = orderedKey(options.collection, options.name, place, [record!.id])
      return [keyText(key), { key, list: place.slice(0, options.listDepth) }]
    }),
  )

const postingsOnlyIn = (
  postings: ReadonlyMap<string, Posting>,
  other: ReadonlyMap<string, Posting>,
): Posting[] => [...postings].flatMap(([text, posting]) => (other.has(text) ? [] : [posting]))

/** The keys of a record's postings, without its id. */
export const postingKeysOf = <R>(
  { source, keys }: InvertedIndexOptions<R>,
  record: R | undefined,
): readonly KeyTuple[] => {
  const values = record === undefined ? undefined : source(record)
  return values === undefined ? [] : keys(values)
}

interface CountChange {
  key: Bytes
  list: KeyTuple
  by: number
}

const countChanges = (
  counter: string,
  removed: readonly Posting[],
  added: readonly Posting[],
): CountChange[] => {
  const changes = new Map<string, CountChange>()
  const note = ({ list }: Posting, by: number) => {
    const text = JSON.stringify(list)
    const change = changes.get(text)
    if (change === undefined) changes.set(text, { key: counterKey(counter, list), list, by })
    else change.by += by
  }
  for (const posting of removed) note(posting, -1)
  for (const posting of added) note(posting, 1)
  return [...changes.values()]
}

/** A mark that exists may hold the position of a compaction under way, so it stays as it is. */
const markForCompaction = async (tx: WriteTransaction, mark: Bytes) => {
  if ((await tx.get(mark)) === undefined) tx.put(mark, COMPACTION_START)
}

const MAX_VERSION = 2 ** 48 - 1

/**
 * The stored form of a counter, with a new version. Versions are random, so that processes need not agree on
 * the next.
 */
export const encodeVersionedCount = (count: number): Bytes => encodeValue([count, randomInt(1, MAX_VERSION)])

const versionedCount = (bytes: Bytes | undefined): VersionedCount => {
  const [count, version] = bytes === undefined ? [0, 0] : decodeValue<[number, number]>(bytes)
  return { count, version }
}

/** The count of a stored counter; undefined when the bytes are not a counter. */
export const decodeVersionedCount = (value: Bytes): number | undefined => {
  try {
    const [count, version, ...rest] = decodeValue<unknown[]>(value)
    const isValid = [count, version].every((part) => Number.isSafeInteger(part) && (part as number) > 0)
    return isValid && rest.length === 0 ? (count as number) : undefined
  } catch {
    return undefined
  }
}
