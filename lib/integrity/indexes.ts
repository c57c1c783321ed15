import type { AnyCollection } from '../records/collection.ts'
import type { Derived } from '../records/indexes.ts'
import { encodeValue } from '../records/layout.ts'
import { type Bytes, type Entry, keyText } from '../storage/index.ts'
import { parseCount, parseRecord } from './collections.ts'
import { batchesOf, deletion, describeKey, put, type Run, sectionOf } from './run.ts'

/** A record that is valid. */
export interface Stored {
  readonly key: Bytes
  readonly record: unknown
}

/** Compares an index or counters with all records of their collection. */
export interface Comparison {
  /** Takes further records. */
  add(records: readonly Stored[]): Promise<void>
  /** Call it after the last record. */
  end(): Promise<void>
}

/** Looks up each entry that a record implies. The number of entries tells whether the index has others. */
export const indexComparison = (run: Run, collection: AnyCollection, index: Derived<unknown>): Comparison => {
  const section = sectionOf(index.prefix)
  /** Keys of entries that lead elsewhere than they must. */
  const misled = new Set<string>()
  /** Number of entries that records imply and that are there. */
  let present = 0

  /** Whether the record that an entry leads to implies it. */
  const isImplied = ([entry, leadsTo]: Entry, value: Bytes | undefined): boolean => {
    const parsed = value && parseRecord(collection, leadsTo, value)
    return (
      parsed !== undefined &&
      'record' in parsed &&
      index.keysOf(parsed.record).some((key) => isEqual(key, entry))
    )
  }

  const reportElsewhere = async (entry: Bytes, record: Bytes, leadsTo: Bytes) => {
    const name = `the index entry ${describeKey(entry)}`
    if (isImplied([entry, leadsTo], leadsTo.length > 0 ? await run.tx.get(leadsTo) : undefined)) {
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
    const records = await run.tx.getMany(entries.map(([key, value]) => (value.length > 0 ? value : key)))
    for (const [at, entry] of entries.entries())
      if (!misled.has(keyText(entry[0])) && !isImplied(entry, records[at]))
        run.onFault({
          message: `the index entry ${describeKey(entry[0])} follows from no record`,
          repair: deletion(entry[0]),
        })
  }

  return {
    async add(records) {
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
    },
    async end() {
      let stored = 0
      for await (const entries of batchesOf(run, section)) stored += entries.length
      run.totals.entries += stored
      if (stored > present) for await (const entries of batchesOf(run, section)) await reportStrays(entries)
    },
  }
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
    async add(records) {
      for (const key of records.flatMap(({ record }) => keysOf(record)).map(keyText))
        counts.set(key, (counts.get(key) ?? 0) + 1)
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
