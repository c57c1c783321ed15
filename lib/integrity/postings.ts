import type { KeyTuple } from '../records/key-codec.ts'
import { orderedKey } from '../records/layout.ts'
import {
  type InvertedIndexOptions,
  postingKeysOf,
  type StoredPostings,
  storedPostings,
} from '../search/index.ts'
import type { ComparedKey } from './comparison.ts'
import type { Derivation } from './derivations.ts'
import { describeKey, type Fault } from './faults.ts'

/**
 * A search index with posting blocks (lib/search/index.ts). The key of a posting ends with the id of its record, so that
 * values need not be compared.
 */
export const compactedIndex = (
  options: InvertedIndexOptions<unknown>,
  id: (record: unknown) => KeyTuple,
): Derivation => {
  const { collection, name } = options
  const postings = storedPostings(options)
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
    ranges: postings.ranges,
    fault: (difference) => postingFault(postings, difference),
  }
}

/** Repairs with a loose posting or a tombstone; blocks stay as they are. */
const postingFault = (postings: StoredPostings, { key, expected, actual }: ComparedKey): Fault => {
  const entry = `the index entry ${describeKey(key)}`
  if (actual > expected)
    return {
      message: `${entry} follows from no record`,
      async repair(tx) {
        await postings.remove(tx, key)
        return true
      },
    }
  return {
    message: actual < 0 ? `${entry} is a tombstone, but no block has the posting` : `${entry} is missing`,
    async repair(tx) {
      await postings.add(tx, key)
      return true
    },
  }
}
