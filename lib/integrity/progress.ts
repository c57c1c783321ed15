import { rangeBelow } from '../records/key-codec.ts'
import { counterName } from '../records/keys.ts'
import { decodeVersionedCount } from '../search/inverted-index.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import { type CheckedCollection, checkedCollections } from './records.ts'
import { wholeNumber } from './sequences.ts'

/**
 * About how many entries a recount will read: what the store's own counters say, which are far fewer. They may be wrong,
 * that is what is to be found out; but they will do for a bar that shows how long it takes.
 */
export const estimateEntries = async (tx: ReadTransaction): Promise<number> => {
  let entries = 0
  for (const collection of checkedCollections) entries += await entriesOf(tx, collection)
  return entries
}

const entriesOf = async (
  tx: ReadTransaction,
  { name, unique, ordered, counted: [counter], spread }: CheckedCollection,
): Promise<number> => {
  const records = counter === undefined ? 0 : await sum(tx, counterName(name, counter.index), wholeNumber)
  let entries = records * (1 + unique.length + ordered.length)
  for (const { index } of spread) entries += await sum(tx, counterName(name, index), decodeVersionedCount)
  return entries
}

const sum = async (
  tx: ReadTransaction,
  counter: string,
  numberIn: (value: Uint8Array) => number | undefined,
): Promise<number> => {
  let total = 0
  for await (const [, value] of tx.range(rangeBelow([counter]))) total += numberIn(value) ?? 0
  return total
}
