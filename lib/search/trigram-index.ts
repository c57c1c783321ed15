import type { KeyPart, KeyTuple } from '../records/key-codec.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { InvertedIndex, type VersionedCount } from './inverted-index.ts'
import { postingList, type SearchResult, searchPostings } from './posting-list.ts'

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
  /** The first `limit` postings that contain the word, and, if `isCounted`, the number of all that contain it. */
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

/** Characters of the longest token; shorter ones are indexed too, so that short words are found. */
const TRIGRAM_LENGTH = 3

/** Characters of a word that are indexed; two words that differ only after them are the same token. */
const MAX_WORD_LENGTH = 64

/**
 * The form in which texts are indexed and compared: without case. That of a part of a text is a part of that of the text, so a
 * final sigma, which depends on what follows it, is folded like any other.
 */
export const foldCase = (text: string): string => text.toLowerCase().replaceAll('ς', 'σ')

/** Every substring of the texts of at most three characters, including the empty one, which every text contains. */
export const trigramsOf = (texts: readonly string[]): string[] => {
  const trigrams = new Set([''])
  for (const text of texts) {
    const characters = [...foldCase(text)]
    for (let start = 0; start < characters.length; start++)
      for (let length = 1; length <= TRIGRAM_LENGTH && start + length <= characters.length; length++)
        trigrams.add(characters.slice(start, start + length).join(''))
  }
  return [...trigrams]
}

/** The longest trigrams of a word: a text that contains the word contains each of them. */
const queryTrigrams = (word: string): string[] => {
  const characters = [...foldCase(word)]
  if (characters.length <= TRIGRAM_LENGTH) return [characters.join('')]
  const starts = characters.slice(TRIGRAM_LENGTH - 1)
  return [...new Set(starts.map((_, start) => characters.slice(start, start + TRIGRAM_LENGTH).join('')))]
}

/** The different words of a text, without case: runs of letters, marks and digits. */
export const tokenize = (text: string): string[] => {
  const words = foldCase(text).match(/[\p{L}\p{M}\p{N}]+/gu) ?? []
  return [...new Set(words.map((word) => [...word].slice(0, MAX_WORD_LENGTH).join('')))]
}
