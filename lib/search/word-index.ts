import { type IndexEntry, indexEntries } from '../records/indexes.ts'
import type { KeyTuple } from '../records/key-codec.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { InvertedIndex, type InvertedIndexOptions } from './inverted-index.ts'

/**
 * Lists the records that have a whole token, such as a word of a title. Its lists are not compacted, so that
 * one is read as an ordinary index is.
 */
export class WordIndex<R extends { id: number }> extends InvertedIndex<R> {
  constructor(options: Omit<InvertedIndexOptions<R>, 'isCompacted'>) {
    super({ ...options, isCompacted: false })
  }

  /** The postings of one list, in order. */
  entries(tx: ReadTransaction, list: KeyTuple, { reverse = false } = {}): AsyncIterable<IndexEntry> {
    return indexEntries(tx, this.options.collection, this.options.name, { prefix: list, reverse })
  }
}
