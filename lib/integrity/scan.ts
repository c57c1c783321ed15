import { setImmediate } from 'node:timers/promises'
import { encodeKey, rangeBelow } from '../records/key-codec.ts'
import type { Bytes, ReadTransaction } from '../storage/driver.ts'

/** A part of a store, and what is done with each of its entries. */
export interface RangeScan {
  readonly start: Bytes
  readonly end: Bytes
  /** @returns for how many it counts, where that is not one */
  visit(key: Bytes, value: Bytes): unknown
}

export const rangeScan = (prefix: readonly string[], take: RangeScan['visit']): RangeScan => ({
  // The prefix itself is a key too: a counter of no place.
  start: encodeKey(prefix),
  end: rangeBelow(prefix).end,
  visit: take,
})

/** The sections, and between them, before and after what nobody has declared: together the whole store. */
export const withGaps = (sections: readonly RangeScan[], take: RangeScan['visit']): RangeScan[] => {
  const sorted = [...sections].sort((one, other) => Buffer.compare(one.start, other.start))
  const all: RangeScan[] = []
  let start: Bytes = new Uint8Array(0)
  for (const section of sorted) {
    all.push({ start, end: section.start, visit: take }, section)
    start = section.end
  }
  return [...all, { start, end: LAST, visit: take }]
}

/** Above every key: no text and no number begins with these. */
const LAST = new Uint8Array(64).fill(0xff)

/** So many entries take a few milliseconds. */
const STEPS = 500

/** Sections that follow each other are read as one range: a store has more of them than a small one has entries. */
const JOINED = 12

/**
 * Two ranges at a time: the one is worked through while the other waits for the database.
 * @param step told now and then how many more entries were read; others have their turn then.
 */
export const scanRanges = async (
  tx: ReadTransaction,
  sections: readonly RangeScan[],
  step: (entries: number) => void,
): Promise<void> => {
  const left = joined(sections).values()
  await Promise.all([walkEach(tx, left, step), walkEach(tx, left, step)])
}

const joined = (sections: readonly RangeScan[]): RangeScan[][] => {
  const runs: RangeScan[][] = []
  for (const section of sections) {
    const run = runs.at(-1)
    const last = run?.at(-1)
    if (last !== undefined && run!.length < JOINED && Buffer.compare(last.end, section.start) === 0)
      run!.push(section)
    else runs.push([section])
  }
  return runs
}

const walkEach = async (
  tx: ReadTransaction,
  runs: Iterable<readonly RangeScan[]>,
  step: (entries: number) => void,
): Promise<void> => {
  let entries = 0
  for (const run of runs) {
    let at = 0
    for await (const [key, value] of tx.range({ start: run[0]!.start, end: run.at(-1)!.end })) {
      while (!isBelow(key, run[at]!.end)) at++
      const taken = run[at]!.visit(key, value)
      entries += typeof taken === 'number' && taken > 0 ? taken : 1
      if (entries < STEPS) continue
      step(entries)
      entries = 0
      await setImmediate()
    }
  }
  step(entries)
}

/** An end is short, and a key differs from it early: a call out of JavaScript would cost several times as much. */
const isBelow = (key: Bytes, end: Bytes): boolean => {
  let at = 0
  while (at < end.length && key[at] === end[at]) at++
  return at < end.length && (at === key.length || key[at]! < end[at]!)
}
