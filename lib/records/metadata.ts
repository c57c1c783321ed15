import type { Bytes, Entry, ReadTransaction, WriteTransaction } from '../storage/driver.ts'
import { decodeValue, encodeValue } from './codec.ts'
import { encodeKey, rangeBelow } from './key-codec.ts'

/** A fact about the store itself. Marks stay where they are: they are no records, and are not carried elsewhere. */
export interface MetadataEntry<T> {
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
  /** The pass that it is in, counted from 0, and the last key that this has done, in hex. */
  pass: number
  after?: string
  /** Whether all steps are done, and the passes are those that derive. */
  isDeriving: boolean
  /** Names of the collections that are still to be derived anew. */
  derive: readonly string[]
}

/** The version of the layout of everything in the store. */
export const schemaVersion = metadataEntry<number>('schema')
export const migrating = metadataEntry<MigrationProgress>('migrating')
/** There while an import goes on: what is in the store is not the whole of it. */
export const importing = metadataEntry<{ since: string }>('importing')

export const metadata: readonly MetadataEntry<unknown>[] = [schemaVersion, migrating, importing]

/** Keys of this program begin with a letter. */
const EVERYTHING = { start: new Uint8Array(), end: Uint8Array.of(0xff) }

/** What is in the store besides marks. */
export async function* contents(tx: ReadTransaction): AsyncGenerator<Entry> {
  const marks = rangeBelow(['mark'])
  yield* tx.range({ ...EVERYTHING, end: marks.start })
  yield* tx.range({ ...EVERYTHING, start: marks.end })
}

export const isEmpty = async (tx: ReadTransaction): Promise<boolean> => {
  for await (const _ of contents(tx)) return false
  return true
}
