import * as v from 'valibot'
import { describeIssue } from '../errors.ts'
import { type IndexKeys, keysIn } from '../records/indexes.ts'
import type { KeyTuple } from '../records/key-codec.ts'
import { counterKey, counterName, decodeValue, orderedKey, recordKey, uniqueKey } from '../records/layout.ts'
import { collections } from '../records/schema/index.ts'
import type { Bytes } from '../storage/index.ts'
import { describeKey } from './run.ts'

/** An index or the counters of an index. */
export interface Derived {
  /** The first parts of its keys. */
  readonly prefix: readonly string[]
  /** The keys that a record has in it. */
  keysOf(record: unknown): readonly Bytes[]
}

/** A collection whose records have no type until they are parsed. */
export interface CheckedCollection {
  readonly name: string
  readonly schema: v.GenericSchema
  readonly id: (record: unknown) => KeyTuple
  readonly numbers?: { readonly sequence: string; of?(record: unknown): readonly number[] }
  readonly indexes: readonly Derived[]
  readonly counters: readonly Derived[]
}

/** The members of a collection's options that are read here. */
interface Options extends Omit<CheckedCollection, 'indexes' | 'counters'> {
  readonly unique?: IndexKeys<unknown>
  readonly ordered?: IndexKeys<unknown>
  readonly counted?: IndexKeys<unknown>
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

const checkedCollection = (options: Options): CheckedCollection => {
  const { name, id, unique = {}, ordered = {}, counted = {} } = options
  return {
    ...options,
    indexes: [
      ...derivedOf(
        unique,
        (index) => [name, 'u', index],
        (index, key) => uniqueKey(name, index, key),
      ),
      ...derivedOf(
        ordered,
        (index) => [name, 'o', index],
        (index, key, record) => orderedKey(name, index, key, id(record)),
      ),
    ],
    counters: derivedOf(
      counted,
      (index) => [counterName(name, index)],
      (index, key) => counterKey(counterName(name, index), key),
    ),
  }
}

const derivedOf = (
  indexes: IndexKeys<unknown>,
  prefixOf: (index: string) => readonly string[],
  encode: (index: string, key: KeyTuple, record: unknown) => Bytes,
): Derived[] =>
  Object.entries(indexes).map(([index, keyOf]) => ({
    prefix: prefixOf(index),
    keysOf: (record) => keysIn(keyOf(record)).map((key) => encode(index, key, record)),
  }))

export const checkedCollections: readonly CheckedCollection[] = collections.map(({ options }) =>
  checkedCollection(options as unknown as Options),
)

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
