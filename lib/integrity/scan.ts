import { setImmediate } from 'node:timers/promises'
import * as v from 'valibot'
import { describeIssue } from '../errors.ts'
import { encodeKey, type KeyTuple, rangeBelow } from '../records/key-codec.ts'
import { counterName, decodeValue, encodeValue, recordKey, sequenceKey } from '../records/layout.ts'
import { collections } from '../records/schema/index.ts'
import { decodeVersionedCount, type InvertedIndexOptions } from '../search/index.ts'
import type { Bytes, ReadTransaction } from '../storage/index.ts'
import { describeKey, type Fault, putAction } from './checks.ts'

type IndexKeys = Readonly<Record<string, (record: unknown) => KeyTuple | undefined>>

/** A collection whose records have no type until they are parsed. */
export interface CheckedCollection {
  readonly name: string
  readonly schema: v.GenericSchema
  readonly id: (record: unknown) => KeyTuple
  readonly unique: IndexKeys
  readonly ordered: IndexKeys
  readonly counted: IndexKeys
  readonly search: readonly InvertedIndexOptions<unknown>[]
  readonly numbers?: { readonly sequence: string; of?(record: unknown): readonly number[] }
}

/** The members that a collection may leave out. */
const NO_INDEXES = { unique: {}, ordered: {}, counted: {} }

export const checkedCollections: readonly CheckedCollection[] = collections.map(({ options }) => {
  const search = (options.search ?? []) as unknown as readonly { options: InvertedIndexOptions<unknown> }[]
  return {
    ...NO_INDEXES,
    ...(options as unknown as Omit<CheckedCollection, 'search'>),
    search: search.map((index) => index.options),
  }
})

export const parseRecord = (
  { name, schema, id: idOf }: CheckedCollection,
  key: Bytes,
  value: Bytes,
): { record: unknown } | { message: string } => {
  const broken = (reason: string) => ({ message: `the record ${describeKey(key)} ${reason}` })
  let content: unknown
  try {
    content = decodeValue(value)
  } catch {
    return broken('is not JSON')
  }
  const { success, output, issues } = v.safeParse(schema, content)
  if (!success) return broken(`is not a valid ${name}: ${describeIssue(issues[0])}`)
  const id = idOf(output)
  if (Buffer.compare(recordKey(name, id), key) !== 0)
    return broken(`is stored under the wrong key: its id is ${JSON.stringify(id)}`)
  return { record: output }
}

/** A positive integer, as counters and sequences hold it; undefined for anything else. */
export const parseCount = (value: Bytes): number | undefined => {
  try {
    const number = decodeValue<unknown>(value)
    return typeof number === 'number' && Number.isSafeInteger(number) && number > 0 ? number : undefined
  } catch {
    return undefined
  }
}

/** Checks that each sequence is above every number that a record has, so that no number is given twice. */
export class SequenceCheck {
  readonly #sequences = new Map(
    checkedCollections
      .flatMap(({ numbers }) => (numbers === undefined ? [] : numbers.sequence))
      .map((sequence) => [
        sequence,
        {
          key: sequenceKey(sequence),
          /** The next number that the sequence gives; undefined when the stored value is not a number. */
          next: 1 as number | undefined,
          highest: 0,
        },
      ]),
  )

  observeRecord({ numbers, id }: CheckedCollection, record: unknown): void {
    if (numbers === undefined) return
    const sequence = this.#sequences.get(numbers.sequence)!
    sequence.highest = Math.max(sequence.highest, ...(numbers.of?.(record) ?? [id(record)[0] as number]))
  }

  /** @returns false when the key is not that of a sequence */
  observeSequence(key: Bytes, value: Bytes): boolean {
    for (const sequence of this.#sequences.values())
      if (Buffer.compare(sequence.key, key) === 0) {
        sequence.next = parseCount(value)
        return true
      }
    return false
  }

  faults(): Fault[] {
    return [...this.#sequences.values()]
      .filter(({ next, highest }) => next === undefined || next <= highest)
      .map(({ key, next, highest }) => ({
        message: `the sequence ${describeKey(key)} continues at ${next ?? 'no number'}, but ${highest} is already in use`,
        repair: putAction(key, encodeValue(highest + 1)),
      }))
  }
}

/**
 * @returns the number of entries that the value holds, for the progress bar; 1 unless a number is returned
 */
type Visit = (key: Bytes, value: Bytes) => unknown

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

/** The range of all keys, also of those that no version of Allot writes, such as keys that begin with ff. */
const ALL_BYTES = { start: new Uint8Array(0), end: new Uint8Array(64).fill(0xff) }

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
  await scanRange(tx, ALL_BYTES, visitOf, onRead)
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

/** Entries read so far, and an estimate of all of them. */
export type OnCount = (progress: { done: number; total: number }) => void

/** @returns a function to call with the number of entries that were read since the last call */
export const progressMeter = async (
  tx: ReadTransaction,
  onProgress: OnCount,
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
