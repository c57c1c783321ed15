import { orderedKey } from '../records/layout.ts'
import { type InvertedIndexOptions, postingKeysOf, storedPostings } from '../search/index.ts'
import { type Entry, keyText } from '../storage/index.ts'
import type { CheckedCollection } from './collections.ts'
import type { Comparison } from './indexes.ts'
import { batchesOf, deletion, describeKey, type Run, sectionOf } from './run.ts'

/** The keys of a search index with posting blocks. */
export const postingPrefixes = ({ collection, name }: InvertedIndexOptions<unknown>): string[][] =>
  ['o', 'p', 'g'].map((letter) => [collection, letter, name])

/** Compares a search index with posting blocks: loose postings, and those in blocks, less tombstones. */
export const postingComparison = (
  run: Run,
  { id }: CheckedCollection,
  options: InvertedIndexOptions<unknown>,
): Comparison => {
  const postings = storedPostings(options)
  /** How often records imply a posting, less how often it is stored. */
  const missing = new Map<string, number>()
  const count = (text: string, by: number) => {
    const sum = (missing.get(text) ?? 0) + by
    if (sum === 0) missing.delete(text)
    else missing.set(text, sum)
  }
  const readStored = async ({ prefix, entry, read }: (typeof postings.ranges)[number]) => {
    const reader = read((key, amount) => count(keyText(key), -amount))
    const readOne = ([key, value]: Entry) => {
      const found = reader(key, value)
      run.totals.entries += found ?? 1
      if (found === undefined)
        run.onFault({ message: `the ${entry} ${describeKey(key)} is malformed`, repair: deletion(key) })
    }
    for await (const entries of batchesOf(run, sectionOf(prefix))) entries.forEach(readOne)
  }
  return {
    async add(records) {
      for (const { record } of records)
        for (const place of postingKeysOf(options, record))
          count(keyText(orderedKey(options.collection, options.name, place, id(record))), 1)
    },
    async end() {
      for (const range of postings.ranges) await readStored(range)
      for (const [text, amount] of missing) {
        const key = Buffer.from(text, 'latin1')
        run.onFault({
          message: `the index entry ${describeKey(key)} ${amount > 0 ? 'is missing' : 'follows from no record'}`,
          async repair(tx) {
            await (amount > 0 ? postings.add(tx, key) : postings.remove(tx, key))
            return true
          },
        })
      }
    },
  }
}
