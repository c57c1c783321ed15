import type { AnyCollection } from '../records/collection.ts'
import type { Derived } from '../records/indexes.ts'
import { encodeValue } from '../records/layout.ts'
import { type Bytes, type Entry, keyText } from '../storage/index.ts'
import { parseCount, recordsOf, type Stored, validRecords } from './collections.ts'
import { EntrySum } from './entry-sum.ts'
import { batchesOf, deletion, describeKey, put, type Run, sectionOf } from './run.ts'

/** Compares what an index or counters have with what all records of their collection imply. */
interface Comparison {
  add(record: Stored): void
  /** Call it after the last record. */
  end(): Promise<void>
}

/** Compares sums over an index, and when they differ, each entry. */
export const indexComparison = (run: Run, collection: AnyCollection, index: Derived<unknown>): Comparison => {
  const implied = new EntrySum()
  return {
    add({ key, record }) {
      for (const entry of index.keysOf(record)) implied.add(entry, key)
    },
    async end() {
      const stored = new EntrySum()
      for await (const entries of batchesOf(run, sectionOf(index.prefix)))
        for (const [key, value] of entries) stored.add(key, value)
      run.totals.entries += stored.count
      if (!stored.equals(implied)) await compareEntries(run, collection, index, stored.count)
    },
  }
}

/**
 * Looks up each entry that records imply, and when the index has others, the record of each of its entries.
 * @param stored how many entries the index has
 */
const compareEntries = async (
  run: Run,
  collection: AnyCollection,
  index: Derived<unknown>,
  stored: number,
): Promise<void> => {
  const isImplied = impliedIn(run, collection, index)
  /** Keys of entries that lead elsewhere than they must. */
  const misled = new Set<string>()
  /** Number of entries that records imply and that are there. */
  let present = 0

  const reportElsewhere = async (entry: Bytes, record: Bytes, leadsTo: Bytes) => {
    const name = `the index entry ${describeKey(entry)}`
    if (await isImplied([entry, leadsTo])) {
      const claims = [leadsTo, record].sort(Buffer.compare).map(describeKey)
      return run.onFault({ message: `${name} is claimed by several records: ${claims.join(', ')}` })
    }
    if (!misled.has(keyText(entry))) present++
    misled.add(keyText(entry))
    run.onFault({
      message: `${name} must lead to the record ${describeKey(record)}, but leads elsewhere`,
      repair: put(entry, record),
    })
  }

  const reportStrays = async (entries: readonly Entry[]) => {
    const implied = await Promise.all(entries.map(isImplied))
    for (const [at, [key]] of entries.entries())
      if (!implied[at] && !misled.has(keyText(key)))
        run.onFault({
          message: `the index entry ${describeKey(key)} follows from no record`,
          repair: deletion(key),
        })
  }

  const reportMissing = async (records: readonly Stored[]) => {
    const expected = records.flatMap(({ key, record }) =>
      index.keysOf(record).map((entry) => ({ entry, key })),
    )
    const found = await run.tx.getMany(expected.map(({ entry }) => entry))
    for (const [at, { entry, key }] of expected.entries()) {
      const leadsTo = found[at]
      if (leadsTo === undefined)
        run.onFault({
          message: `the index entry ${describeKey(entry)} of the record ${describeKey(key)} is missing`,
          repair: put(entry, key),
        })
      else if (isEqual(leadsTo, key)) present++
      else await reportElsewhere(entry, key, leadsTo)
    }
  }

  for await (const entries of recordsOf(run, collection))
    await reportMissing(validRecords(collection, entries))
  if (stored === present) return
  for await (const entries of batchesOf(run, sectionOf(index.prefix))) await reportStrays(entries)
}

/** Tells whether the record that an entry leads to implies it. */
const impliedIn =
  ({ tx }: Run, collection: AnyCollection, { keysOf }: Derived<unknown>) =>
  async ([entry, leadsTo]: Entry): Promise<boolean> => {
    const value = leadsTo.length > 0 ? await tx.get(leadsTo) : undefined
    if (value === undefined) return false
    const valid = validRecords(collection, [[leadsTo, value]])
    return valid.some(({ record }) => keysOf(record).some((key) => isEqual(key, entry)))
  }

/** Counts the records again. */
export const counterComparison = (run: Run, { prefix, keysOf }: Derived<unknown>): Comparison => {
  const counts = new Map<string, number>()
  const compare = (key: Bytes, stored: number | undefined) => {
    const expected = counts.get(keyText(key)) ?? 0
    counts.delete(keyText(key))
    if (stored === expected) return
    const state = stored === undefined ? 'malformed' : stored
    run.onFault({
      message: `the counter ${describeKey(key)} is ${state}, but the records give ${expected}`,
      repair: expected === 0 ? deletion(key) : put(key, encodeValue(expected)),
    })
  }
  return {
    add({ record }) {
      for (const key of keysOf(record).map(keyText)) counts.set(key, (counts.get(key) ?? 0) + 1)
    },
    async end() {
      for await (const entries of batchesOf(run, sectionOf(prefix))) {
        run.totals.counters += entries.length
        for (const [key, value] of entries) compare(key, parseCount(value))
      }
      for (const key of counts.keys()) compare(Buffer.from(key, 'latin1'), 0)
    },
  }
}

const isEqual = (one: Bytes, other: Bytes): boolean => Buffer.compare(one, other) === 0
