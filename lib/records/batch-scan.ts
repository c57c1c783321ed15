import type { Bytes, Entry, WriteTransaction } from '../storage/driver.ts'
import { decodeValue } from './codec.ts'
import type { Collection } from './collection.ts'
import { encodeKey, type KeyTuple, rangeBelow } from './key-codec.ts'
import { collections } from './schema/index.ts'

interface KeyBounds {
  start: Bytes
  end: Bytes
}

/** Entries that are gone through in bounded transactions, each of them exactly once, kills and restarts included. */
export interface BatchScan {
  /** Every key below a tuple, or between two keys. */
  over: KeyTuple | KeyBounds
  each(tx: WriteTransaction, key: Bytes, value: Bytes): unknown
  /** The name of the collection that must be derived anew because the store has this entry. */
  derives?: (value: Bytes) => string | undefined
}

/** How far a pass has come. */
export interface Passed {
  /** The last key that is done, in hex; undefined when there are no more. */
  last: string | undefined
  /** Names of the collections that are to be derived anew. */
  derive: string[]
}

const all = new Map(
  (collections as unknown as readonly Collection<unknown>[]).map((one) => [one.options.name, one]),
)

/** Removes everything that follows from the records of the collections, and then derives it from them again. */
export const derivationScans = (names: readonly string[]): BatchScan[] =>
  names
    .map((name) => all.get(name))
    .filter((collection) => collection !== undefined)
    .flatMap((collection) => {
      const { name } = collection.options
      return [
        ...[[name, 'u'], [name, 'o'], [name, 'p'], [name, 'g'], counters(name)].map(removing),
        { over: [name, 'r'], each: saveAgain(collection) },
      ]
    })

/** `name:…`: a semicolon comes after a colon. */
const counters = (name: string): KeyBounds => ({
  start: encodeKey([`${name}:`]),
  end: encodeKey([`${name};`]),
})

const removing = (over: BatchScan['over']): BatchScan => ({ over, each: (tx, key) => tx.delete(key) })

/** As if the record had never been there. */
const saveAgain =
  (collection: Collection<unknown>): BatchScan['each'] =>
  (tx, key, value) => {
    tx.delete(key)
    return collection.save(tx, decodeValue(value))
  }

/** Goes on with a pass from the key that was done last, in hex. */
export const scanBatch = async (
  tx: WriteTransaction,
  { over, each, derives }: BatchScan,
  after: string | undefined,
  atOnce: number,
): Promise<Passed> => {
  const { start, end } = 'start' in over ? over : rangeBelow(over)
  // No key lies between one and the same with a zero byte after it.
  const from = after === undefined ? start : Buffer.from(`${after}00`, 'hex')
  const entries: Entry[] = []
  for await (const entry of tx.range({ start: from, end, limit: atOnce })) entries.push(entry)
  for (const [key, value] of entries) await each(tx, key, value)
  return {
    last: entries.length < atOnce ? undefined : Buffer.from(entries.at(-1)![0]).toString('hex'),
    derive: derives === undefined ? [] : entries.flatMap(([, value]) => derives(value) ?? []),
  }
}
