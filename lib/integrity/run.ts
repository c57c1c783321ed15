import { setImmediate } from 'node:timers/promises'
import { decodeKeyIfValid, encodeKey, rangeBelow } from '../records/key-codec.ts'
import type { Bytes, Entry, KeyRange, ReadTransaction } from '../storage/index.ts'
import type { Fault } from './checks.ts'

/** How much a store has of everything. */
export interface Totals {
  records: number
  entries: number
  counters: number
}

/** One check of a store. */
export interface Run {
  readonly tx: ReadTransaction
  readonly onFault: (fault: Fault) => void
  readonly totals: Totals
  /** The highest number of each sequence that a record has. */
  readonly highest: Map<string, number>
}

/** Entries that are checked together, between two turns of the event loop. */
const BATCH_SIZE = 500

export async function* batchesOf({ tx }: Run, range: KeyRange): AsyncGenerator<Entry[]> {
  let batch: Entry[] = []
  for await (const entry of tx.range(range)) {
    if (batch.push(entry) < BATCH_SIZE) continue
    yield batch
    batch = []
    await setImmediate()
  }
  if (batch.length > 0) yield batch
}

/** Every key that begins with the prefix, and the prefix itself: a counter may have no further members. */
export const sectionOf = (prefix: readonly string[]): KeyRange => ({
  start: encodeKey(prefix),
  end: rangeBelow(prefix).end,
})

/** Copies the value, which a driver may hand out as a part of a larger buffer. */
export const put = (key: Bytes, value: Bytes): Fault['repair'] => {
  const copy = new Uint8Array(value)
  return async (tx) => {
    tx.put(key, copy)
    return true
  }
}

/** Copies the key likewise. */
export const deletion = (key: Bytes): Fault['repair'] => {
  const copy = new Uint8Array(key)
  return async (tx) => {
    tx.delete(copy)
    return true
  }
}

/** A key for people: its parts as JSON, or its bytes when it has none. */
export const describeKey = (key: Bytes): string => {
  const tuple = decodeKeyIfValid(key)
  return tuple === undefined ? `0x${Buffer.from(key).toString('hex')}` : JSON.stringify(tuple)
}
