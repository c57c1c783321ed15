import type { AnyCollection } from '../records/collection.ts'
import { encodeValue, metadata, sequenceKey } from '../records/layout.ts'
import { collections, requireUpgraded } from '../records/schema/index.ts'
import type { Bytes, KeyRange, ReadTransaction } from '../storage/index.ts'
import { type Check, CheckedStore, type Fault } from './checks.ts'
import { parseCount, recordsOf, type Stored, validRecords } from './collections.ts'
import { counterComparison, indexComparison } from './indexes.ts'
import { batchesOf, describeKey, put, type Run, sectionOf, type Totals } from './run.ts'

/** Records read so far, and an estimate of all of them. */
export type OnCount = (progress: { done: number; total: number }) => void

/**
 * Checks a store within one snapshot (index.ts explains how).
 * @throws AllotError unavailable when the store has another layout
 */
export const verifyRecords = async (
  tx: ReadTransaction,
  checks: readonly Check[],
  onFault: (fault: Fault) => void,
  onProgress: OnCount = () => undefined,
): Promise<Totals> => {
  await requireUpgraded(tx)
  const store = new CheckedStore(tx, onFault)
  const run: Run = { tx, onFault, totals: { records: 0, entries: 0, counters: 0 }, highest: new Map() }
  const total = await estimateRecords(run)
  for (const collection of collections) {
    const own = checks.filter((each) => each.collection === collection.options.name)
    await checkCollection(run, collection, async (records) => {
      await Promise.all(own.flatMap((each) => records.map(({ record }) => each.run(record, store))))
      onProgress({ done: run.totals.records, total: Math.max(total, run.totals.records) })
    })
  }
  await checkSequences(run)
  await checkOtherKeys(run)
  store.compareAmounts()
  return run.totals
}

/** The indexes of a collection. */
const indexesOf = ({ unique, ordered }: AnyCollection) => [...unique, ...ordered]

/** The first counters of the collections tell about how many records there are. */
const estimateRecords = async (run: Run): Promise<number> => {
  let total = 0
  for (const { prefix } of collections.flatMap(({ counters }) => counters.slice(0, 1)))
    for await (const entries of batchesOf(run, sectionOf(prefix)))
      for (const [, value] of entries) total += parseCount(value) ?? 0
  return total
}

/** @param check called with the valid records */
const checkCollection = async (
  run: Run,
  collection: AnyCollection,
  check: (records: readonly Stored[]) => Promise<void>,
): Promise<void> => {
  const indexes = indexesOf(collection).map((index) => indexComparison(run, collection, index))
  const counters = collection.counters.map((each) => counterComparison(run, each))
  for await (const entries of recordsOf(run, collection)) {
    run.totals.records += entries.length
    const records = validRecords(collection, entries, run.onFault)
    for (const stored of records) {
      noteNumbers(run, collection, stored.record)
      for (const { add } of [...indexes, ...counters]) add(stored)
    }
    await check(records)
  }
  for (const { end } of [...counters, ...indexes]) await end()
}

const noteNumbers = ({ highest }: Run, { options }: AnyCollection, record: unknown): void => {
  const { numbers, id } = options
  if (numbers === undefined) return
  const used = numbers.of?.(record) ?? [id(record)[0] as number]
  highest.set(numbers.sequence, Math.max(highest.get(numbers.sequence) ?? 0, ...used))
}

const SEQUENCES = new Set(collections.flatMap(({ options }) => options.numbers?.sequence ?? []))

/** A sequence must be above every number that a record has, so that no number is given twice. */
const checkSequences = async ({ tx, onFault, highest }: Run): Promise<void> => {
  for (const sequence of SEQUENCES) {
    const key = sequenceKey(sequence)
    const value = await tx.get(key)
    const next = value === undefined ? 1 : parseCount(value)
    const last = highest.get(sequence) ?? 0
    if (next === undefined || next <= last)
      onFault({
        message: `the sequence ${describeKey(key)} continues at ${next ?? 'no number'}, but ${last} is already in use`,
        repair: put(key, encodeValue(last + 1)),
      })
  }
}

/** Only the key itself. */
const onlyKey = (key: Bytes): KeyRange => ({ start: key, end: Buffer.concat([key, Buffer.of(0)]) })

const KNOWN: readonly KeyRange[] = [
  ...collections.flatMap((collection) => [
    sectionOf([collection.options.name, 'r']),
    ...[...indexesOf(collection), ...collection.counters].map(({ prefix }) => sectionOf(prefix)),
  ]),
  ...[...[...SEQUENCES].map(sequenceKey), ...metadata.map(({ key }) => key)].map(onlyKey),
].sort((one, other) => Buffer.compare(one.start, other.start))

/** The end of all keys, also of those that no version of Allot writes, such as keys that begin with ff. */
const END = new Uint8Array(64).fill(0xff)

/** Reads what is between the ranges of known keys. */
const checkOtherKeys = async (run: Run): Promise<void> => {
  let start: Bytes = new Uint8Array(0)
  for (const { start: end, end: next } of [...KNOWN, { start: END, end: END }]) {
    for await (const entries of batchesOf(run, { start, end }))
      for (const [key] of entries)
        run.onFault({ message: `the key ${describeKey(key)} is not one of this version of Allot` })
    start = next
  }
}
