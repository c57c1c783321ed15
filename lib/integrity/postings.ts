import { type KeyTuple, rangeBelow } from '../records/key-codec.ts'
import { orderedKey } from '../records/keys.ts'
import { type InvertedIndexOptions, postingKeysOf } from '../search/inverted-index.ts'
import {
  addPosting,
  blocksPrefix,
  ID_LENGTH,
  isTombstone,
  PostingBlock,
  recordKeyOf,
  removePosting,
} from '../search/posting-list.ts'
import type { Bytes } from '../storage/index.ts'
import type { ComparedKey } from './comparison.ts'
import type { Derivation, StoredRange } from './derivations.ts'
import { decodeKeyIfValid, describeKey, type Fault } from './faults.ts'

/**
 * A search index with posting blocks (lib/search/index.ts). A posting counts 1, loose or in a block, and a tombstone
 * counts -1: the sum is 1 for each posting that follows from a record. The key of a posting ends with the id of its
 * record, so that values need not be compared.
 */
export const compactedIndex = (
  options: InvertedIndexOptions<unknown>,
  id: (record: unknown) => KeyTuple,
): Derivation => {
  const { collection, name, listDepth } = options
  return {
    kind: 'index',
    sources: [
      {
        collection,
        side: 'expected',
        emitFrom(record, _, emit) {
          for (const place of postingKeysOf(options, record))
            emit(orderedKey(collection, name, place, id(record)), 1)
        },
      },
    ],
    ranges: [
      { prefix: [collection, 'o', name], entry: 'posting', read: readLoose(collection) },
      { prefix: [collection, 'p', name], entry: 'posting block', read: readBlocks(collection, name) },
      { prefix: [collection, 'g', name], entry: 'compaction mark', read: readMarks(listDepth) },
    ],
    fault: (difference) => postingFault(collection, difference),
  }
}

const recordsOf = (collection: string): Bytes => rangeBelow([collection, 'r']).start

/** The value must be the key of the record, or empty for a tombstone. */
const readLoose = (collection: string): StoredRange['read'] => {
  const records = recordsOf(collection)
  return (emit) => (key, value) => {
    if (isTombstone(value)) emit(key, -1)
    else if (Buffer.compare(value, recordKeyOf(records, key)) === 0) emit(key, 1)
    else return undefined
    return 1
  }
}

/** A block is named after its first posting, and its postings sort behind those of the block before. */
const readBlocks = (collection: string, index: string): StoredRange['read'] => {
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
  (listDepth: number): StoredRange['read'] =>
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

/** Repairs with a loose posting or a tombstone; blocks stay as they are. */
const postingFault = (collection: string, { key, expected, actual }: ComparedKey): Fault => {
  const entry = `the index entry ${describeKey(key)}`
  if (actual > expected)
    return {
      message: `${entry} follows from no record`,
      async repair(tx) {
        removePosting(tx, key, await tx.get(key))
        return true
      },
    }
  return {
    message: actual < 0 ? `${entry} is a tombstone, but no block has the posting` : `${entry} is missing`,
    async repair(tx) {
      addPosting(tx, key, await tx.get(key), recordKeyOf(recordsOf(collection), key))
      return true
    },
  }
}
