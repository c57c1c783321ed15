import type { IndexEntry } from '../records/indexes.ts'
import type { KeyPart, KeyTuple } from '../records/key-codec.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { type InvertedIndex, invertedIndex, type VersionedCount } from './inverted-index.ts'
import {
  type PostingList,
  postingList,
  postingsOf,
  type SearchResult,
  searchPostings,
} from './posting-list.ts'
import { foldCase, isTrigram, queryTrigrams, trigramsOf } from './tokens.ts'

interface TrigramIndexOptions<R> {
  collection: string
  name: string
  /**
   * The partition of a record, such as who may see it, and the texts that it is found and sorted by; undefined keeps the
   * record out of the index. A search covers one partition.
   */
  of: (record: R) => readonly [partition: KeyPart, texts: readonly string[]] | undefined
}

/** The shortest list that holds every record of a partition whose texts contain a word. */
interface Candidates extends VersionedCount {
  /** Whether each posting of the list contains the word, so that `count` is the number of matches. */
  isExact: boolean
  /** The postings of the list, in the order of the texts. */
  entries(): AsyncIterable<IndexEntry>
  /** The first `limit` postings that contain the word, and, if `isCounted`, the number of all that contain it. */
  find(limit: number, isCounted: boolean): Promise<SearchResult>
}

export interface TrigramIndex<R> extends Omit<InvertedIndex<R>, 'entries'> {
  candidates(tx: ReadTransaction, partition: KeyPart, word: string): Promise<Candidates>
}

/** Finds the records whose texts contain a word, in the order of the texts. */
export const trigramIndex = <R extends { id: number }>({
  collection,
  name,
  of,
}: TrigramIndexOptions<R>): TrigramIndex<R> => {
  const index = invertedIndex<R>({
    collection,
    name,
    source(record) {
      const [partition, texts] = of(record) ?? []
      return texts && [partition!, ...texts.map(foldCase)]
    },
    keys: (source) => trigramsOf(source.slice(1) as string[]).map((trigram) => [trigram, ...source]),
    listDepth: 2,
    isCompacted: true,
  })
  const listOf = (list: KeyTuple): PostingList => postingList(collection, name, list)

  return {
    ...index,
    async candidates(tx, partition, word) {
      const lists = queryTrigrams(word).map((trigram): KeyTuple => [trigram, partition])
      const counts = await Promise.all(lists.map((list) => index.count(tx, list)))
      const shortest = counts.reduce(
        (best, { count }, index) => (count < counts[best]!.count ? index : best),
        0,
      )
      const list = listOf(lists[shortest]!)
      return {
        ...counts[shortest]!,
        isExact: isTrigram(word),
        entries: () => postingsOf(tx, list),
        find: (limit, isCounted) => searchPostings(tx, list, { word: foldCase(word), limit, isCounted }),
      }
    },
  }
}
