import * as v from 'valibot'
import { describeIssue } from '../errors.ts'
import { decodeValue, encodeValue } from '../records/codec.ts'
import type { KeyTuple } from '../records/key-codec.ts'
import { recordKey, sequenceKey } from '../records/layout.ts'
import { collections, numbered } from '../records/schema/index.ts'
import type { InvertedIndex, InvertedIndexOptions } from '../search/index.ts'
import type { Bytes } from '../storage/index.ts'
import { describeKey, type Fault, putAction } from './faults.ts'

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
}

export const checkedCollections: readonly CheckedCollection[] = collections.map(({ options }) => {
  const search = (options.search ?? []) as unknown as readonly InvertedIndex<unknown>[]
  return {
    ...{ unique: {}, ordered: {}, counted: {} },
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
  readonly #sequences = numbered.map((records) => ({
    ...records,
    key: sequenceKey(records.sequence),
    /** The next number that the sequence gives; undefined when what is stored is not a number. */
    next: 1 as number | undefined,
    highest: 0,
  }))

  observeRecord(collection: string, record: unknown): void {
    for (const sequence of this.#sequences)
      if (sequence.collection === collection)
        sequence.highest = Math.max(sequence.highest, ...sequence.numbersOf(record))
  }

  /** @returns false when the key is not that of a sequence */
  observeSequence(key: Bytes, value: Bytes): boolean {
    const sequence = this.#sequences.find((each) => Buffer.compare(each.key, key) === 0)
    if (sequence !== undefined) sequence.next = parseCount(value)
    return sequence !== undefined
  }

  faults(): Fault[] {
    return this.#sequences
      .filter(({ next, highest }) => next === undefined || next <= highest)
      .map(({ key, next, highest }) => ({
        message: `the sequence ${describeKey(key)} continues at ${next ?? 'no number'}, but ${highest} is already in use`,
        repair: putAction(key, encodeValue(highest + 1)),
      }))
  }
}
