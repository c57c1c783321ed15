import type { IndexEntry } from '../records/indexes.ts'
import { encodeKey, type KeyTuple, rangeBelow } from '../records/key-codec.ts'
import {
  type Bytes,
  type Entry,
  keyText,
  type ReadTransaction,
  type WriteTransaction,
} from '../storage/index.ts'
import { ID_LENGTH, PostingBlock } from './posting-block.ts'

/** Where the parts of one list of a compacted index are stored: see index.ts. */
export interface PostingList {
  readonly loose: Range
  readonly blocks: Range
  readonly compactionMark: Bytes
  /** The beginning of the keys of the collection's records. */
  readonly records: Bytes
}

interface Range {
  readonly start: Bytes
  readonly end: Bytes
}

export const postingList = (collection: string, index: string, list: KeyTuple): PostingList => ({
  loose: rangeBelow([collection, 'o', index, ...list]),
  blocks: rangeBelow(blocksPrefix(collection, index, list)),
  compactionMark: compactionMarkKey(collection, index, list),
  records: rangeBelow([collection, 'r']).start,
})

export const blocksPrefix = (collection: string, index: string, list: KeyTuple): KeyTuple => [
  collection,
  'p',
  index,
  ...list,
]

export const compactionMarkKey = (collection: string, index: string, list: KeyTuple): Bytes =>
  encodeKey([collection, 'g', index, ...list])

/** The value of a compaction mark at which the compactor begins with the first posting. */
export const COMPACTION_START: Bytes = new Uint8Array(0)

const TOMBSTONE: Bytes = new Uint8Array(0)
export const isTombstone = (value: Bytes): boolean => value.length === 0

export const recordKeyOf = (records: Bytes, order: Bytes): Bytes =>
  Buffer.concat([records, order.subarray(order.length - ID_LENGTH)])

const indexEntryOf = ({ records }: PostingList, order: Bytes): IndexEntry => ({
  order,
  recordKey: recordKeyOf(records, order),
})

export const orderOf = ({ loose }: PostingList, [key]: Entry): Bytes => key.subarray(loose.start.length)

/** Adds a posting: where a tombstone says that a block still has it, removing the tombstone is enough. */
export const addPosting = (
  tx: WriteTransaction,
  key: Bytes,
  stored: Bytes | undefined,
  recordKey: Bytes,
): void => {
  if (stored !== undefined && isTombstone(stored)) tx.delete(key)
  else tx.put(key, recordKey)
}

/** Removes a posting: one that is not loose is in a block, where only a tombstone can hide it. */
export const removePosting = (tx: WriteTransaction, key: Bytes, stored: Bytes | undefined): void => {
  if (stored === undefined) tx.put(key, TOMBSTONE)
  else if (!isTombstone(stored)) tx.delete(key)
}

export interface SearchResult {
  entries: IndexEntry[]
  /** The number of all matches; only where counting was asked for. */
  total: number
}

interface PostingQuery {
  /** In the case of the indexed texts; undefined finds every posting. */
  word: string | undefined
  /** Matches to return. */
  limit: number
  /** Whether to read on after `limit` matches, to count all of them. */
  isCounted: boolean
}

/** The first postings of a list that contain the word, in the order of their texts. */
export const searchPostings = async (
  tx: ReadTransaction,
  list: PostingList,
  query: PostingQuery,
): Promise<SearchResult> => {
  const loose = await searchLoose(tx, list, query)
  const blocks = await searchBlocks(tx, list, query, loose.removed)
  const orders = [...blocks.first, ...loose.first].sort(Buffer.compare).slice(0, query.limit)
  return { entries: orders.map((order) => indexEntryOf(list, order)), total: loose.total + blocks.total }
}

const searchLoose = async (
  tx: ReadTransaction,
  list: PostingList,
  { word, limit, isCounted }: PostingQuery,
) => {
  const first: Bytes[] = []
  const removed = new Set<string>()
  const bytes = word === undefined ? undefined : encodedWord(word)
  let total = 0
  for await (const entry of tx.range(list.loose)) {
    const order = orderOf(list, entry)
    if (isTombstone(entry[1])) removed.add(keyText(order))
    else if ((bytes === undefined || containsWord(order, bytes)) && total++ < limit) first.push(order)
    // Later tombstones concern postings that sort after the first `limit` matches.
    if (!isCounted && total >= limit) break
  }
  return { first, total, removed }
}

const searchBlocks = async (
  tx: ReadTransaction,
  list: PostingList,
  { word, limit, isCounted }: PostingQuery,
  removed: ReadonlySet<string>,
) => {
  const first: Bytes[] = []
  let total = 0
  const text = word === undefined ? undefined : encodedWord(word).toString('latin1')
  for await (const [, value] of tx.range(list.blocks)) {
    const block = new PostingBlock(value)
    for (const index of text === undefined ? block.indexes() : block.search(text)) {
      if (removed.size > 0 && removed.has(keyText(block.order(index)))) continue
      if (total++ < limit) first.push(block.order(index))
      if (!isCounted && total >= limit) return { first, total }
    }
  }
  return { first, total }
}

/** A word as it is in keys. Keys hold the bytes of texts unchanged, so nothing is decoded to search them. */
const encodedWord = (word: string): Buffer => Buffer.from(encodeKey([word]))

const containsWord = ({ buffer, byteOffset, length }: Bytes, word: Buffer): boolean =>
  Buffer.from(buffer, byteOffset, length - ID_LENGTH).includes(word)

/** Tells whether the texts of an index entry contain the word, which must be in the case of the texts. */
export const wordMatcher = (word: string): ((entry: IndexEntry) => boolean) => {
  const bytes = encodedWord(word)
  return ({ order }) => word === '' || containsWord(order, bytes)
}
