import * as v from 'valibot'
import { describeIssue } from '../errors.ts'
import type { KeyTuple } from '../records/key-codec.ts'
import {
  counterKey,
  counterName,
  decodeValue,
  encodeValue,
  orderedKey,
  recordKey,
  uniqueKey,
} from '../records/layout.ts'
import { collections } from '../records/schema/index.ts'
import {
  decodeVersionedCount,
  encodeVersionedCount,
  type InvertedIndexOptions,
  postingKeysOf,
} from '../search/index.ts'
import type { Bytes } from '../storage/index.ts'
import { describeKey } from './run.ts'

type PlaceOf = (record: unknown) => KeyTuple | undefined
type Places = Readonly<Record<string, PlaceOf>>

/** An index or the counters of an index. */
export interface Derived {
  /** The first parts of its keys. */
  readonly prefix: readonly string[]
  /** The keys that a record has in it. */
  keysOf(record: unknown): readonly Bytes[]
}

export interface Counters extends Derived {
  /** @returns undefined for a value that is not a positive count */
  parse(value: Bytes): number | undefined
  encode(count: number): Bytes
}

/** A collection whose records have no type until they are parsed. */
export interface CheckedCollection {
  readonly name: string
  readonly schema: v.GenericSchema
  readonly id: (record: unknown) => KeyTuple
  readonly numbers?: { readonly sequence: string; of?(record: unknown): readonly number[] }
  readonly indexes: readonly Derived[]
  readonly counters: readonly Counters[]
  /** Search indexes with posting blocks (postings.ts). */
  readonly compacted: readonly InvertedIndexOptions<unknown>[]
}

/** The members of a collection's options that are read here. */
interface Options extends Omit<CheckedCollection, 'indexes' | 'counters' | 'compacted'> {
  readonly unique?: Places
  readonly ordered?: Places
  readonly counted?: Places
  readonly search?: readonly { readonly options: InvertedIndexOptions<unknown> }[]
}

const onePlace =
  (placeOf: PlaceOf) =>
  (record: unknown): readonly KeyTuple[] => {
    const place = placeOf(record)
    return place === undefined ? [] : [place]
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

const countersOf = (
  collection: string,
  counted: string,
  placesOf: (record: unknown) => readonly KeyTuple[],
  codec: Pick<Counters, 'parse' | 'encode'> = { parse: parseCount, encode: encodeValue },
): Counters => {
  const name = counterName(collection, counted)
  return {
    prefix: [name],
    keysOf: (record) => placesOf(record).map((place) => counterKey(name, place)),
    ...codec,
  }
}

const checkedCollection = (options: Options): CheckedCollection => {
  const { name, id, unique = {}, ordered = {}, counted = {}, search = [] } = options
  const searched = search.map((index) => index.options)
  const listed = [
    ...Object.entries(ordered).map(([index, placeOf]) => ({ index, placesOf: onePlace(placeOf) })),
    ...searched
      .filter(({ isCompacted }) => !isCompacted)
      .map((each) => ({ index: each.name, placesOf: (record: unknown) => postingKeysOf(each, record) })),
  ]
  return {
    ...options,
    indexes: [
      ...Object.entries(unique).map(([index, placeOf]) => ({
        prefix: [name, 'u', index],
        keysOf: (record: unknown) => onePlace(placeOf)(record).map((place) => uniqueKey(name, index, place)),
      })),
      ...listed.map(({ index, placesOf }) => ({
        prefix: [name, 'o', index],
        keysOf: (record: unknown) =>
          placesOf(record).map((place) => orderedKey(name, index, place, id(record))),
      })),
    ],
    counters: [
      ...Object.entries(counted).map(([each, placeOf]) => countersOf(name, each, onePlace(placeOf))),
      ...searched.map((each) => {
        const lists = (record: unknown) =>
          postingKeysOf(each, record).map((place) => place.slice(0, each.listDepth))
        return countersOf(name, each.name, lists, {
          parse: decodeVersionedCount,
          encode: encodeVersionedCount,
        })
      }),
    ],
    compacted: searched.filter(({ isCompacted }) => isCompacted),
  }
}

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
