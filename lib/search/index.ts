/**
 * Search by a part of a name, or by words of a title. Both are ordinary indexes of a collection with several
 * keys for each record.
 *
 * The index `ngrams` has a key for each n-gram of the texts: each run of at most five characters, the empty
 * one included. The texts follow in the key, so that a listing is in their order, and its entries tell
 * whether they contain a longer word without their records being read; so do numbers after the texts, such as
 * the owner of a repository:
 *
 *     [...prefix, 'allot', 'allot', id]
 *     [...prefix, 'llot',  'allot', id]
 *     [...prefix, 'lo',    'allot', id]
 *
 * A word of up to five characters is an n-gram itself. A longer one is looked for in the shortest of the
 * listings of its n-grams of five characters, which the counter `longest` tells. In a million repositories,
 * the shortest listing of four characters is up to four times as long. With six characters, a repository
 * takes a quarter longer to write.
 */
import type { Collection, IndexEntry } from '../records/collection.ts'
import type { SeveralKeys } from '../records/indexes.ts'
import { encodeKey, type KeyTuple } from '../records/key-codec.ts'
import type { Entries } from '../records/merge.ts'
import type { ReadTransaction } from '../storage/index.ts'

/**
 * The form in which texts are indexed and compared: without case. That of a part of a text is a part of that
 * of the text, so a final sigma, which depends on what follows it, is folded like any other.
 */
export const foldCase = (text: string): string => text.toLowerCase().replaceAll('ς', 'σ')

/** Characters of the longest n-gram. */
const MAX_LENGTH = 5

/** The different runs of a length of characters. */
const runsOf = (texts: readonly string[], length: number): string[] => {
  const runs = texts.flatMap((text) => {
    const characters = [...text]
    const ends = characters.slice(length - 1)
    return ends.map((_, start) => characters.slice(start, start + length).join(''))
  })
  return [...new Set(runs)]
}

/**
 * The keys of the index `ngrams`; undefined keeps the record out of it.
 * @param numbers that entries tell besides the texts
 */
export const ngramKeys = (
  prefix: KeyTuple,
  texts: readonly string[] | undefined,
  numbers: readonly number[] = [],
): SeveralKeys | undefined =>
  texts && {
    of: [...prefix, ...texts, ...numbers],
    each() {
      const folded = texts.map(foldCase)
      const ngrams = ['', ...[1, 2, 3, 4, MAX_LENGTH].flatMap((length) => runsOf(folded, length))]
      return ngrams.map((ngram) => [...prefix, ngram, ...folded, ...numbers])
    },
  }

/** The keys of the counter `longest`; undefined keeps the record out of it. */
export const longestKeys = (
  prefix: KeyTuple,
  texts: readonly string[] | undefined,
): SeveralKeys | undefined =>
  texts && {
    of: [...prefix, ...texts],
    each: () => runsOf(texts.map(foldCase), MAX_LENGTH).map((ngram) => [...prefix, ngram]),
  }

type Searched = Pick<Collection<never, string, 'ngrams', 'longest'>, 'entries' | 'count'>

/**
 * The entries below a prefix whose texts contain a word, in the order of the texts.
 * @param numbers how many follow the texts in the keys
 */
export const searchEntries = async (
  tx: ReadTransaction,
  collection: Searched,
  prefix: KeyTuple,
  word: string,
  numbers = 0,
): Promise<Entries> => {
  const folded = foldCase(word)
  const entriesOf = (ngram: string) => collection.entries(tx, 'ngrams', { prefix: [...prefix, ngram] })
  if ([...folded].length <= MAX_LENGTH) return entriesOf(folded)
  const longest = runsOf([folded], MAX_LENGTH)
  const counts = await Promise.all(
    longest.map((ngram) => collection.count(tx, 'longest', [...prefix, ngram])),
  )
  return containing(word, entriesOf(longest[counts.indexOf(Math.min(...counts))]!), numbers)
}

/** Bytes of a number in a key, after the one that separates it from what comes before. */
const NUMBER_LENGTH = encodeKey(['', 1]).length - encodeKey(['']).length

/**
 * The entries whose texts contain the word; the texts, without case, some numbers and the id are all of their
 * order.
 */
export async function* containing(word: string, entries: Entries, numbers = 0): AsyncGenerator<IndexEntry> {
  // Keys hold the bytes of texts unchanged, so that nothing is decoded.
  const bytes = word === '' ? Buffer.alloc(0) : encodeKey([foldCase(word)])
  const afterTexts = bytes.length + (numbers + 1) * NUMBER_LENGTH
  for await (const entry of entries) {
    // The order is a Uint8Array: no Buffer is made for each of thousands of entries.
    const at = Buffer.prototype.indexOf.call(entry.order, bytes)
    if (at !== -1 && at + afterTexts <= entry.order.length) yield entry
  }
}

/** Characters of a word that are indexed; two words that differ only after them are the same token. */
const MAX_WORD_LENGTH = 64

/** The different words of a text, without case: runs of letters, marks and digits. */
export const tokenize = (text: string): string[] => {
  const words = foldCase(text).match(/[\p{L}\p{M}\p{N}]+/gu) ?? []
  return [...new Set(words.map((word) => [...word].slice(0, MAX_WORD_LENGTH).join('')))]
}
