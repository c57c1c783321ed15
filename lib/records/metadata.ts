import type { Bytes, Entry, ReadTransaction, WriteTransaction } from '../storage/index.ts'
import { decodeValue, encodeValue } from './codec.ts'
import { encodeKey, rangeBelow } from './key-codec.ts'

/** A fact about the store itself, which is neither exported nor part of its contents. */
interface MetadataEntry<T> {
  readonly key: Bytes
  get(tx: ReadTransaction): Promise<T | undefined>
  set(tx: WriteTransaction, value: T): void
  clear(tx: WriteTransaction): void
}

const metadataEntry = <T>(name: string): MetadataEntry<T> => {
  const key = encodeKey(['mark', name])
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

/** How far a migration has come. */
export interface MigrationProgress {
  /** Index of the current scan, and the last key that it visited, in hex. */
  scan: number
  after?: string
  /** Whether all steps are done and the scans are those that derive indexes and counters. */
  isDeriving: boolean
  /** Names of the collections that must be derived again. */
  derive: readonly string[]
}

/** Number of the store's layout: see migrate.ts. */
export const schemaVersion = metadataEntry<number>('schema')
export const migrating = metadataEntry<MigrationProgress>('migrating')
/** Set while an import runs: the store holds only part of the imported records. */
export const importing = metadataEntry<{ since: string }>('importing')

export const metadata: readonly MetadataEntry<unknown>[] = [schemaVersion, migrating, importing]

/** All keys begin with a letter. */
const EVERYTHING = { start: new Uint8Array(), end: Uint8Array.of(0xff) }

/** Every entry of the store but the metadata. */
export async function* contents(tx: ReadTransaction): AsyncGenerator<Entry> {
  const { start, end } = rangeBelow(['mark'])
  yield* tx.range({ ...EVERYTHING, end: start })
  yield* tx.range({ ...EVERYTHING, start: end })
}

export const isEmpty = async (tx: ReadTransaction): Promise<boolean> => {
  for await (const _ of contents(tx)) return false
  return true
}
