import type { Bytes, Entry, ReadTransaction, WriteTransaction } from '../storage/driver.ts'
import { encodeKey, rangeBelow } from './keys.ts'
import { decodeValue, encodeValue } from './values.ts'

/** A fact about the store itself. Marks stay where they are: they are no records, and are not carried elsewhere. */
export interface Mark<T> {
  readonly key: Bytes
  get(tx: ReadTransaction): Promise<T | undefined>
  set(tx: WriteTransaction, value: T): void
  clear(tx: WriteTransaction): void
}

const mark = <T>(name: string): Mark<T> => {
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

/** How far a migration has come: the pass, counted from 0, and the last key that it has done, in hex. */
export interface Progress {
  pass: number
  after?: string
}

/** The version of the layout of everything in the store. */
export const schemaVersion = mark<number>('schema')
export const migrating = mark<Progress>('migrating')
/** There while an import goes on: what is in the store is not the whole of it. */
export const importing = mark<{ since: string }>('importing')

export const marks: readonly Mark<unknown>[] = [schemaVersion, migrating, importing]

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
