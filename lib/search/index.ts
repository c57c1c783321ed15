/**
 * Search indexes: find the records whose texts contain a word, without reading the records.
 *
 * A record collection that is searched names its indexes (`search` in lib/records/collection.ts) and calls
 * `update` in the transaction that changes a record. Two kinds of {@link InvertedIndex} exist:
 *
 * - {@link WordIndex} has one list of postings per token that the caller chooses, such as each word of a
 *   title.
 * - {@link TrigramIndex} finds a word anywhere in a name. It has a list per trigram (three successive
 *   characters) of the name, and lists for its shorter substrings. "allot" is in the lists of `''`, a, l, o,
 *   t, al, ll, lo, ot, all, llo, lot.
 *
 * A **posting** is one entry of a list: it says that one record has the token. Its **order** is the part of
 * its key after the list, namely the texts of the record and its id, so a list is sorted by text, and whether
 * a text contains a longer word is decided by looking at the posting alone. To find "allot", the search takes
 * the shortest of the lists all, llo and lot, and keeps the postings whose order contains "allot".
 *
 * A list may have a hundred thousand postings, and reading them one key at a time is slow. So a trigram index
 * stores most of a list in **blocks** of up to 512 postings under one key. A change never rewrites a block;
 * it writes a **loose** posting, as an ordinary index does, or a **tombstone** when the posting that goes is
 * in a block:
 *
 *                      key                                       value
 *     loose posting    [collection, 'o', index, …list, …order]   key of the record
 *     tombstone        [collection, 'o', index, …list, …order]   no bytes
 *     block            [collection, 'p', index, …list, …order    orders of many postings,
 *                                              of its first]     ascending
 *     compaction mark  [collection, 'g', index, …list]           order to continue after
 *     counter          [collection:index, …list]                 [postings, version]
 *
 * A reader merges both, in order; a tombstone hides the equal posting of a block:
 *
 *     blocks   │ ada  ben  cat │      │ eva  fay │
 *     loose         ben†          dan               gus
 *     result     ada       cat    dan   eva  fay    gus
 *
 * The **compactor** moves loose postings into blocks in the background. A change to a list that is long
 * enough sets, with a small probability, the list's compaction mark, so that no counter of changes is needed.
 * Each step of the compactor takes one marked list, the next loose postings after the position in the mark,
 * and the blocks that these fall into; it deletes both and writes new blocks:
 *
 *     step     take ben†, dan and the first block    →    │ ada  cat  dan │  │ eva  fay │    gus
 *                                                                       mark: after dan
 *
 * The mark keeps the position because deleted keys are slow to iterate over again. It is removed when no
 * loose posting follows it, and at the first step when fewer than `minLoose` are loose. Postings that become
 * loose before the position wait for the next mark.
 *
 * The numbers trade the cost of a search against that of a compaction:
 *
 * - 512 postings in a block (`blockSize`): with orders of some 30 bytes, a block is about 16 KiB. A search
 *   reads a list of 100,000 postings as 200 values; larger blocks would save little, and make each rewrite
 *   larger.
 * - 256 postings (`MIN_COMPACTED`) before a list is compacted: a search reads half a block of single keys
 *   fast enough.
 * - One mark in about 1024 changes (`CHANGES_PER_COMPACTION`), so a search merges about as many loose
 *   postings as two blocks hold, and a compaction pays for a thousand changes. A step moves 1000 loose
 *   postings and rewrites 32 blocks at most (`DEFAULT_LIMITS`), so its transaction stays within milliseconds.
 *
 * Invariants: a posting is loose or in one block, never in both, unless the loose entry is a tombstone; the
 * order of the first posting of a block is the end of the block's key; blocks of a list do not overlap; the
 * counter of a list is its number of postings, and its version changes with every change of the list.
 * lib/integrity checks all of these, except that the version changes.
 */
export { Compactor } from './compactor.ts'
export {
  decodeVersionedCount,
  encodeVersionedCount,
  InvertedIndex,
  type InvertedIndexOptions,
  postingKeysOf,
} from './inverted-index.ts'
export { type SearchResult, wordMatcher } from './posting-list.ts'
export { type StoredPostings, storedPostings } from './stored-postings.ts'
export { foldCase, tokenize } from './tokens.ts'
export { TrigramIndex } from './trigram-index.ts'
export { WordIndex } from './word-index.ts'
