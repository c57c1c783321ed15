import { rangeBelow } from '../records/key-codec.ts'
import { counterName } from '../records/keys.ts'
import { decodeVersionedCount } from '../search/inverted-index.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import { type CheckedCollection, checkedCollections, parseCount } from './records.ts'

/** Entries read so far, and an estimate of all of them. */
export type OnProgress = (progress: { done: number; total: number }) => void

/** @returns a function to call with the number of entries that were read since the last call */
export const progressMeter = async (
  tx: ReadTransaction,
  onProgress: OnProgress,
): Promise<(entries: number) => void> => {
  let total = 0
  for (const collection of checkedCollections) total += await estimateEntries(tx, collection)
  let done = 0
  return (entries) => {
    done += entries
    onProgress({ done, total: Math.max(done, total) })
  }
}

/** Estimates by the stored counters, which are few. They may be wrong, but will do for a progress bar. */
const estimateEntries = async (
  tx: ReadTransaction,
  { name, unique, ordered, counted, search }: CheckedCollection,
): Promise<number> => {
  const [counter] = Object.keys(counted)
  const records = counter === undefined ? 0 : await sumCounters(tx, counterName(name, counter), parseCount)
  let entries = records * (1 + Object.keys(unique).length + Object.keys(ordered).length)
  for (const index of search)
    entries += await sumCounters(tx, counterName(name, index.name), decodeVersionedCount)
  return entries
}

const sumCounters = async (
  tx: ReadTransaction,
  counter: string,
  parse: (value: Uint8Array) => number | undefined,
): Promise<number> => {
  let total = 0
  for await (const [, value] of tx.range(rangeBelow([counter]))) total += parse(value) ?? 0
  return total
}
