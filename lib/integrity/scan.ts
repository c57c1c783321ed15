import { setImmediate } from 'node:timers/promises'
import { encodeKey, rangeBelow } from '../records/key-codec.ts'
import type { Bytes, ReadTransaction } from '../storage/driver.ts'

/** @returns the number of entries that the value holds, for the progress bar; 1 unless a number is returned */
export type Visit = (key: Bytes, value: Bytes) => unknown

/** A range of keys and what is done with each of its entries. */
export interface Section {
  readonly start: Bytes
  readonly end: Bytes
  readonly visit: Visit
}

/** Every key that begins with the prefix, and the prefix itself: a counter may have no further members. */
export const section = (prefix: readonly string[], visit: Visit): Section => ({
  start: encodeKey(prefix),
  end: rangeBelow(prefix).end,
  visit,
})

const EVERYTHING = { start: new Uint8Array(0), end: new Uint8Array(64).fill(0xff) }

/** Entries between two turns of the event loop: a few milliseconds. */
const BATCH_SIZE = 500

/** Visits each section on its own. */
export const scanSections = async (
  tx: ReadTransaction,
  sections: readonly Section[],
  onRead: (entries: number) => void,
): Promise<void> => {
  for (const each of sections) await scanRange(tx, each, () => each.visit, onRead)
}

/** Visits the whole store as one range; `other` gets the entries that are in no section. */
export const scanStore = async (
  tx: ReadTransaction,
  sections: readonly Section[],
  other: Visit,
  onRead: (entries: number) => void,
): Promise<void> => {
  const sorted = [...sections].sort((left, right) => Buffer.compare(left.start, right.start))
  let index = 0
  const visitOf = (key: Bytes): Visit => {
    while (index < sorted.length && !isBelow(key, sorted[index]!.end)) index++
    const current = sorted[index]
    return current === undefined || isBelow(key, current.start) ? other : current.visit
  }
  await scanRange(tx, EVERYTHING, visitOf, onRead)
}

const scanRange = async (
  tx: ReadTransaction,
  { start, end }: { start: Bytes; end: Bytes },
  visitOf: (key: Bytes) => Visit,
  onRead: (entries: number) => void,
): Promise<void> => {
  let entries = 0
  for await (const [key, value] of tx.range({ start, end })) {
    const count = visitOf(key)(key, value)
    entries += typeof count === 'number' ? count : 1
    if (entries < BATCH_SIZE) continue
    onRead(entries)
    entries = 0
    await setImmediate()
  }
  onRead(entries)
}

/** Faster than Buffer.compare for bounds, which are short and differ early. */
const isBelow = (key: Bytes, end: Bytes): boolean => {
  let index = 0
  while (index < end.length && key[index] === end[index]) index++
  return index < end.length && (index === key.length || key[index]! < end[index]!)
}
