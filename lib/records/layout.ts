import type { Bytes, Entry, ReadTransaction, WriteTransaction } from '../storage/index.ts'
import { decodeKey, encodeKey, type KeyTuple, rangeBelow } from './key-codec.ts'

/**
 * The keys of a store:
 *
 *     [collection, 'r', …id]                record, as JSON
 *     [collection, 'u', index, …key]        entry of a unique index: key of the record
 *     [collection, 'o', index, …key, …id]   entry of an ordered index: key of the record
 *     [collection:counter, …key]            counter: a number
 *     ['sequence', name]                    sequence: the next number
 *     ['metadata', name]                    metadata of the store, which are not exported
 *
 * An index may have several entries for each record, as those that are searched do (lib/search).
 */
export const recordKey = (collection: string, id: KeyTuple, encode = encodeKey): Bytes =>
  encode([collection, 'r', ...id])

/** The id in the key of a record. */
export const idIn = (key: Bytes): KeyTuple => {
  const [_collection, _kind, ...id] = decodeKey(key)
  return id
}

/** The name of a collection in messages, such as `package file`. */
export const wordsOf = (collection: string): string =>
  collection.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)

export const counterName = (collection: string, counted: string): string => `${collection}:${counted}`

export const counterKey = (counter: string, key: KeyTuple, encode = encodeKey): Bytes =>
  encode([counter, ...key])

export const sequenceKey = (sequence: string): Bytes => encodeKey(['sequence', sequence])

/** The name in the key of a sequence. */
export const sequenceIn = (key: Bytes): string => {
  const [_sequence, name] = decodeKey(key)
  return name as string
}

/**
 * Encodes a value as JSON, which any tool can read, and which measured no slower than binary formats without
 * shared structures.
 */
export const encodeValue = (value: unknown): Bytes => Buffer.from(JSON.stringify(value))

export const decodeValue = <T>(bytes: Bytes): T => {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
  return JSON.parse(text) as T
}

/**
 * A value that is stored about the store itself: its layout, or an import under way.
 */
interface MetadataEntry<T> {
  readonly key: Bytes
  get(tx: ReadTransaction): Promise<T | undefined>
  set(tx: WriteTransaction, value: T): void
  clear(tx: WriteTransaction): void
}

const metadataEntry = <T>(name: string): MetadataEntry<T> => {
  const key = encodeKey(['metadata', name])
  return {
    key,
    async get(tx) {
      const bytes = await tx.get(key)
      return bytes && decodeValue<T>(bytes)
    },
    set: (tx, value) => tx.put(key, encodeValue(value)),
    clear: (tx) => tx.delete(key),
  }
}

/** Who owns what a store counts: its own accounts (`createAllot`), or names of the host (`createQuota`). */
export type OwnerKind = 'accounts' | 'names'

/** The options `quota.defaultGroups` and `quota.defaultTotal`. */
interface QuotaDefaults {
  readonly defaultGroups: string[]
  readonly defaultTotal?: number | undefined
}

/**
 * Number of the store's layout: see upgrade.ts. No step can rename it, because it is read before a step runs.
 */
export const storedLayout = metadataEntry<number>('layout')
/** The layout before an upgrade, set while it runs: the store holds records and indexes of both layouts. */
export const upgradedFrom = metadataEntry<number>('upgrade')
/** Set while an import runs: the store holds only part of the imported records. */
export const importing = metadataEntry<{ since: string }>('import')

/** Who owns what the store counts; absent until it is opened for the first time. */
export const storedOwners = metadataEntry<OwnerKind>('owners')
/** The options of the limits of owners without a group, as of the last start of a server. */
export const storedDefaults = metadataEntry<QuotaDefaults>('defaults')

export const metadata: readonly MetadataEntry<unknown>[] = [
  ...[storedLayout, upgradedFrom, importing, storedOwners, storedDefaults],
]

/** Every entry of the store but the metadata. */
export async function* entries(tx: ReadTransaction): AsyncGenerator<Entry> {
  const all = rangeBelow([])
  const { start, end } = rangeBelow(['metadata'])
  yield* tx.range({ start: all.start, end: start })
  yield* tx.range({ start: end, end: all.end })
}

export const isEmpty = async (tx: ReadTransaction): Promise<boolean> => {
  for await (const _ of entries(tx)) return false
  return true
}
