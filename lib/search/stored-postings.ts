import { decodeKeyIfValid, rangeBelow } from '../records/key-codec.ts'
import type { Bytes, WriteTransaction } from '../storage/index.ts'
import type { InvertedIndexOptions } from './inverted-index.ts'
import {
  addPosting,
  blocksPrefix,
  ID_LENGTH,
  isTombstone,
  PostingBlock,
  recordKeyOf,
  removePosting,
} from './posting-list.ts'

/**
 * Reads the stored postings of a compacted index, for the integrity check. A posting counts 1, loose or in a
 * block, and a tombstone counts -1. Invariant: the amounts of each key add up to 1 when the index has the
 * posting, and to 0 otherwise.
 */
export interface StoredPostings {
  readonly ranges: readonly PostingRange[]
  /** Adds a posting that is missing, or removes a tombstone that hides nothing. Blocks stay as they are. */
  add(tx: WriteTransaction, key: Bytes): Promise<void>
  /** Removes a posting. Blocks stay as they are. */
  remove(tx: WriteTransaction, key: Bytes): Promise<void>
}

interface PostingRange {
  readonly prefix: readonly string[]
  /** Name of an entry in messages. */
  readonly entry: string
  /**
   * @param emit called with the key of each posting, as if it were loose, and its amount
   * @returns a reader for one pass, which gets the entries in the order of their keys and returns how many
   *   postings each holds; undefined when it is malformed
   */
  read(emit: EmitPosting): (key: Bytes, value: Bytes) => number | undefined
}

type EmitPosting = (key: Bytes, amount: number) => void

export const storedPostings = ({
  collection,
  name,
  listDepth,
}: Pick<InvertedIndexOptions<never>, 'collection' | 'name' | 'listDepth'>): StoredPostings => {
  const records = rangeBelow([collection, 'r']).start
  return {
    ranges: [
      { prefix: [collection, 'o', name], entry: 'posting', read: readLoose(records) },
      { prefix: [collection, 'p', name], entry: 'posting block', read: readBlocks(collection, name) },
      { prefix: [collection, 'g', name], entry: 'compaction mark', read: readMarks(listDepth) },
    ],
    add: async (tx, key) => addPosting(tx, key, await tx.get(key), recordKeyOf(records, key)),
    remove: async (tx, key) => removePosting(tx, key, await tx.get(key)),
  }
}

/** The value must be the key of the record, or empty for a tombstone. */
const readLoose =
  (records: Bytes): PostingRange['read'] =>
  (emit) =>
  (key, value) => {
    if (isTombstone(value)) emit(key, -1)
    else if (Buffer.compare(value, recordKeyOf(records, key)) === 0) emit(key, 1)
    else return undefined
    return 1
  }

/** A block is named after its first posting, and its postings sort after those of the previous block. */
const readBlocks = (collection: string, index: string): PostingRange['read'] => {
  const blocks = rangeBelow(blocksPrefix(collection, index, [])).start
  const loose = rangeBelow([collection, 'o', index]).start
  return (emit) => {
    let last: Bytes = loose
    return (key, value) => {
      const orders = ordersIn(value)
      if (orders === undefined || !endsWith(key, orders[0]!)) return undefined
      const list = key.subarray(blocks.length, key.length - orders[0]!.length)
      const postings = orders.map((order) => Buffer.concat([loose, list, order]))
      if (!isAscending([last, ...postings])) return undefined
      for (const posting of postings) emit(posting, 1)
      last = postings.at(-1)!
      return postings.length
    }
  }
}

/** A mark is named after a list and adds no posting. */
const readMarks =
  (listDepth: number): PostingRange['read'] =>
  () =>
  (key) =>
    decodeKeyIfValid(key)?.length === 3 + listDepth ? 0 : undefined

const ordersIn = (block: Bytes): Bytes[] | undefined => {
  try {
    const orders = [...new PostingBlock(block).orders()]
    return orders.every(({ length }) => length > ID_LENGTH) ? orders : undefined
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

const endsWith = (key: Bytes, order: Bytes): boolean =>
  order.length < key.length && Buffer.compare(key.subarray(key.length - order.length), order) === 0

const isAscending = (keys: readonly Bytes[]): boolean =>
  keys.every((key, index) => index === 0 || Buffer.compare(keys[index - 1]!, key) < 0)
