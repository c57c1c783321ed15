import type { KeyPart, KeyTuple } from '../records/key-codec.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { InvertedIndex, type VersionedCount } from './inverted-index.ts'
import { postingList, type SearchResult, searchPostings } from './posting-list.ts'
import { foldCase, queryTrigrams, TRIGRAM_LENGTH, trigramsOf } from './tokens.ts'

interface TrigramIndexOptions<R> {
  collection: string
  name: string
  /**
   * The partition of a record, such as who may see it, and the texts that it is found and sorted by;
   * undefined keeps the record out of the index. A search covers one partition.
   */
  of: (record: R) => readonly [partition: KeyPart, texts: readonly string[]] | undefined
}

/** The shortest list that holds every record of a partition whose texts contain a word. */
interface Candidates extends VersionedCount {
  /** Whether each posting of the list contains the word, so that `count` is the number of matches. */
  isExact: boolean
  /**
   * The first `limit` postings that contain the word, and, if `isCounted`, the number of all that contain it.
   */
  readonly find: (limit: number, isCounted: boolean) => Promise<SearchResult>
}

/** Finds the records whose texts contain a word, in the order of the texts. */
export class TrigramIndex<R extends { id: number }> extends InvertedIndex<R> {
  constructor({ collection, name, of }: TrigramIndexOptions<R>) {
    super({
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
  }

  /** The shortest list that can have records of the partition whose texts contain the word. */
  async candidates(tx: ReadTransaction, partition: KeyPart, word: string): Promise<Candidates> {
    const lists = queryTrigrams(word).map((trigram): KeyTuple => [trigram, partition])
    const counts = await Promise.all(lists.map((list) => this.count(tx, list)))
    const shortest = counts.reduce(
      (best, { count }, index) => (count < counts[best]!.count ? index : best),
      0,
    )
    const list = postingList(this.options.collection, this.options.name, lists[shortest]!)
    const text = foldCase(word)
    // A word that is itself a token has a list of its own, of exactly the texts that contain it.
    const isExact = [...text].length <= TRIGRAM_LENGTH
    const { count, version } = counts[shortest]!
    const query = { word: isExact ? undefined : text, postings: count }
    const find = (limit: number, isCounted: boolean) =>
      searchPostings(tx, list, { ...query, limit, isCounted })
    return { count, version, isExact, find }
  }
}
