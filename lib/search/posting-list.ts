import { endianness } from 'node:os'
import type { IndexEntry } from '../records/indexes.ts'
import { decodeKey, encodeKey, type KeyTuple, rangeBelow } from '../records/key-codec.ts'
import {
  type Bytes,
  type Entry,
  keyText,
  type ReadTransaction,
  type WriteTransaction,
} from '../storage/index.ts'

/** The places in which one list of a compacted index is stored: see index.ts. */
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

/** The list in the key of a compaction mark. */
export const listIn = (key: Bytes): KeyTuple => {
  const [_collection, _kind, _index, ...list] = decodeKey(key)
  return list
}

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
  /** The word to find, in the case of the indexed texts; undefined finds every posting. */
  word: string | undefined
  /** Matches to return. */
  limit: number
  /** Whether to read on after `limit` matches, to count all of them. */
  isCounted: boolean
  /** Number of postings of the list: opening an iterator costs more than reading a short list. */
  postings: number
}

/** The first postings of a list that contain the word, in the order of their texts. */
export const searchPostings = async (
  tx: ReadTransaction,
  list: PostingList,
  query: PostingQuery,
): Promise<SearchResult> => {
  if (query.postings === 0) return { entries: [], total: 0 }
  const loose = await searchLoose(tx, list, query)
  // Loose postings are all visible, so when they are all postings, blocks have none that a tombstone does not
  // hide.
  const isLoose = loose.postings === query.postings
  const blocks = isLoose ? NO_MATCHES : await searchBlocks(tx, list, query, loose.removed)
  const orders = [...blocks.first, ...loose.first].sort(Buffer.compare).slice(0, query.limit)
  return { entries: orders.map((order) => indexEntryOf(list, order)), total: loose.total + blocks.total }
}

const NO_MATCHES = { first: [], total: 0 }

const searchLoose = async (
  tx: ReadTransaction,
  list: PostingList,
  { word, limit, isCounted }: PostingQuery,
) => {
  const first: Bytes[] = []
  const removed = new Set<string>()
  const bytes = encodedWord(word)
  let [total, postings] = [0, 0]
  for await (const entry of tx.range(list.loose)) {
    const order = orderOf(list, entry)
    if (isTombstone(entry[1])) removed.add(keyText(order))
    else {
      postings++
      if (containsWord(order, bytes) && total++ < limit) first.push(order)
    }
    // Later tombstones concern postings that sort after the first `limit` matches.
    if (!isCounted && total >= limit) break
  }
  return { first, total, removed, postings }
}

const searchBlocks = async (
  tx: ReadTransaction,
  list: PostingList,
  { word, limit, isCounted }: PostingQuery,
  removed: ReadonlySet<string>,
) => {
  const first: Bytes[] = []
  let total = 0
  const text = encodedWord(word)?.toString('latin1')
  for await (const [, value] of tx.range(list.blocks)) {
    const block = new PostingBlock(value)
    for (const index of block.search(text)) {
      if (removed.size > 0 && removed.has(keyText(block.order(index)))) continue
      if (total++ < limit) first.push(block.order(index))
      if (!isCounted && total >= limit) return { first, total }
    }
  }
  return { first, total }
}

/** A word as it is in keys. Keys hold the bytes of texts unchanged, so nothing is decoded to search them. */
const encodedWord = (word: string | undefined): Buffer | undefined =>
  word === undefined ? undefined : Buffer.from(encodeKey([word]))

const containsWord = ({ buffer, byteOffset, length }: Bytes, word: Buffer | undefined): boolean =>
  word === undefined || Buffer.from(buffer, byteOffset, length - ID_LENGTH).includes(word)

/** Tells whether the texts of an index entry contain the word, which must be in the case of the texts. */
export const wordMatcher = (word: string): ((entry: IndexEntry) => boolean) => {
  const bytes = encodedWord(word === '' ? undefined : word)
  return ({ order }) => containsWord(order, bytes)
}

/** Bytes at the end of an order that are the id of the record: one number. */
export const ID_LENGTH = encodeKey([1]).length

const UINT32_LENGTH = 4

/**
 * The offset of the first order in a block of this size; also where the end of the order of this index is
 * stored.
 */
const bodyOffset = (size: number): number => UINT32_LENGTH + size * UINT32_LENGTH

/**
 * The stored form of a block: the number of orders, the end of each, and then the orders one after another.
 */
export const encodeBlock = (orders: readonly Bytes[]): Bytes => {
  const start = bodyOffset(orders.length)
  const block = Buffer.allocUnsafe(orders.reduce((size, { length }) => size + length, start))
  block.writeUInt32LE(orders.length)
  let end = 0
  for (const [index, order] of orders.entries()) {
    block.set(order, start + end)
    end += order.length
    block.writeUInt32LE(end, bodyOffset(index))
  }
  return block
}

/** A block as it is read. */
export class PostingBlock {
  readonly size: number
  readonly #bytes: Buffer
  /** Offset of the orders, and the end of each, counted from there. */
  readonly #start: number
  readonly #ends: Uint32Array

  /** @throws RangeError when the bytes are not a block */
  constructor({ buffer, byteOffset, byteLength }: Bytes) {
    this.#bytes = Buffer.from(buffer, byteOffset, byteLength)
    this.size = this.#bytes.readUInt32LE()
    this.#start = bodyOffset(this.size)
    if (this.size === 0 || this.#start > byteLength) throw new RangeError('the bytes are not a posting block')
    // Copied, since a Uint32Array must begin at a multiple of four bytes.
    const ends = Buffer.from(new Uint8Array(this.#bytes.subarray(UINT32_LENGTH, this.#start)).buffer)
    if (endianness() === 'BE') ends.swap32()
    this.#ends = new Uint32Array(ends.buffer)
    if (this.#start + this.#ends.at(-1)! !== byteLength)
      throw new RangeError('the posting block is truncated')
  }

  /** The order of this index, counted from 0; it shares the memory of the block. */
  order(index: number): Bytes {
    const start = index === 0 ? 0 : this.#ends[index - 1]!
    return this.#bytes.subarray(this.#start + start, this.#start + this.#ends[index]!)
  }

  *orders(): Generator<Bytes> {
    for (let index = 0; index < this.size; index++) yield this.order(index)
  }

  /**
   * The indexes of the orders whose texts contain the word.
   * @param word one character per byte; undefined for all orders
   */
  search(word: string | undefined): Iterable<number> {
    if (word === undefined) return this.#ends.keys()
    const matches: number[] = []
    const text = this.#bytes.toString('latin1', this.#start)
    let index = 0
    for (let found = text.indexOf(word); found !== -1; ) {
      while (this.#ends[index]! <= found) index++
      const isInTexts = found + word.length <= this.#ends[index]! - ID_LENGTH
      if (isInTexts) matches.push(index)
      found = text.indexOf(word, isInTexts ? this.#ends[index]! : found + 1)
    }
    return matches
  }
}
