import type { Bytes, Entry, WriteTransaction } from '../storage/driver.ts'
import type { Collection } from './collection.ts'
import { encodeKey, rangeBelow } from './keys.ts'
import { collections } from './schema.ts'
import { decodeValue } from './values.ts'

/** Entries that are gone through in bounded transactions, each of them exactly once, kills and restarts included. */
export interface Pass {
  over: { start: Bytes; end: Bytes }
  each(tx: WriteTransaction, key: Bytes, value: Bytes): unknown
}

const all = new Map(
  (collections as unknown as readonly Collection<unknown>[]).map((one) => [one.options.name, one]),
)

/** Removes everything that follows from the records of the collections, and then derives it from them again. */
export const derivingPasses = (names: readonly string[]): Pass[] =>
  names
    .map((name) => all.get(name))
    .filter((collection) => collection !== undefined)
    .flatMap((collection) => {
      const { name } = collection.options
      return [
        ...[indexes(name, 'u'), indexes(name, 'o'), counters(name)].map(removing),
        { over: rangeBelow([name, 'r']), each: saveAnew(collection) },
      ]
    })

const indexes = (name: string, kind: 'u' | 'o') => rangeBelow([name, kind])

/** `name:…`: a semicolon comes after a colon. */
const counters = (name: string) => ({ start: encodeKey([`${name}:`]), end: encodeKey([`${name};`]) })

const removing = (over: Pass['over']): Pass => ({ over, each: (tx, key) => tx.delete(key) })

/** As if the record had never been there. */
const saveAnew =
  (collection: Collection<unknown>): Pass['each'] =>
  (tx, key, value) => {
    tx.delete(key)
    return collection.save(tx, decodeValue(value))
  }

/**
 * Goes on with a pass from the key that was done last, in hex.
 * @returns the last key that is done by now; undefined when there are no more.
 */
export const goThrough = async (
  tx: WriteTransaction,
  { over, each }: Pass,
  after: string | undefined,
  atOnce: number,
): Promise<string | undefined> => {
  // No key lies between one and the same with a zero byte after it.
  const start = after === undefined ? over.start : Buffer.from(`${after}00`, 'hex')
  const entries: Entry[] = []
  for await (const entry of tx.range({ start, end: over.end, limit: atOnce })) entries.push(entry)
  for (const [key, value] of entries) await each(tx, key, value)
  return entries.length < atOnce ? undefined : Buffer.from(entries.at(-1)![0]).toString('hex')
}
