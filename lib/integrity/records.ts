import * as v from 'valibot'
import { decodeValue } from '../records/codec.ts'
import { decodeKey, encodeKey, type KeyTuple } from '../records/key-codec.ts'
import { recordKey } from '../records/keys.ts'
import { collections } from '../records/schema/index.ts'
import { type InvertedIndex, postingKeysOf } from '../search/inverted-index.ts'
import type { Bytes } from '../storage/driver.ts'

/** A collection as a recount sees it: its records are of no type until they are read. */
export interface CheckedCollection {
  readonly name: string
  readonly schema: v.GenericSchema
  id(record: unknown): KeyTuple
  readonly unique: readonly CheckedIndex[]
  readonly ordered: readonly CheckedIndex[]
  readonly counted: readonly CheckedIndex[]
  readonly spread: readonly CheckedInvertedIndex[]
}

/** An index that has a record in many places. */
export interface CheckedInvertedIndex {
  readonly index: string
  places(record: unknown): readonly KeyTuple[]
  readonly counted: number
  readonly isPacked: boolean
}

export interface CheckedIndex {
  readonly index: string
  place(record: unknown): KeyTuple | undefined
}

type Places = Readonly<Record<string, (record: never) => KeyTuple | undefined>>

const placedBy = (places: Places = {}): CheckedIndex[] =>
  Object.entries(places).map(([index, place]) => ({ index, place: (record) => place(record as never) }))

const scatteredBy = (indexes: readonly InvertedIndex<never>[] = []): CheckedInvertedIndex[] =>
  indexes.map(({ options }) => ({
    index: options.name,
    places: lastKnown((record) => postingKeysOf(options, record as never)),
    counted: options.listDepth,
    isPacked: options.isCompacted ?? false,
  }))

/** Entries and counters ask for the places of one record after each other. */
const lastKnown = <T>(work: (record: unknown) => T): ((record: unknown) => T) => {
  let [last, result]: [unknown, T?] = [undefined]
  return (record) => {
    if (last !== record) [last, result] = [record, work(record)]
    return result as T
  }
}

export const checkedCollections: readonly CheckedCollection[] = collections.map(({ options }) => {
  const { name, schema, id, unique, ordered, counted } = options as typeof options & Record<string, Places>
  return {
    name,
    schema,
    id: (record) => id(record as never),
    unique: placedBy(unique),
    ordered: placedBy(ordered),
    counted: placedBy(counted),
    spread: scatteredBy(options.search as never),
  }
})

/** A record that can be trusted, or why it cannot. */
export type ReadResult = { record: unknown; id: KeyTuple } | { message: string }

export const readRecord = (collection: CheckedCollection, key: Bytes, value: Bytes): ReadResult => {
  const broken = (why: string): ReadResult => ({ message: `the record ${describeKey(key)} ${why}` })
  let content: unknown
  try {
    content = decodeValue(value)
  } catch {
    return broken('is no JSON')
  }
  const parsed = v.safeParse(collection.schema, content)
  if (!parsed.success) return broken(`is no ${collection.name}: ${describe(parsed.issues[0])}`)
  const id = collection.id(parsed.output)
  if (Buffer.compare(recordKey(collection.name, id), key) !== 0)
    return broken(`is kept in the place of another: it calls itself ${JSON.stringify(id)}`)
  return { record: parsed.output, id }
}

const describe = (issue: v.BaseIssue<unknown>): string => {
  const path = (issue.path ?? []).map((part) => String(part.key)).join('.')
  return path === '' ? issue.message : `${path}: ${issue.message}`
}

/** A key for people: its members where it has any, else its bytes. */
export const describeKey = (key: Bytes): string => {
  const tuple = tupleOf(key)
  return tuple === undefined ? `0x${Buffer.from(key).toString('hex')}` : JSON.stringify(tuple)
}

/** The members of a key; undefined for one that is none of ours. */
export const tupleOf = (key: Bytes): KeyTuple | undefined => {
  try {
    const tuple = decodeKey(new Uint8Array(key))
    // What is no key of ours decodes to anything.
    return tuple.every(isPart) && Buffer.compare(encodeKey(tuple), key) === 0 ? tuple : undefined
  } catch {
    return undefined
  }
}

const isPart = (part: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof part)
