import type { Bytes } from '../storage/index.ts'
import { encodeKey, type KeyTuple } from './key-codec.ts'

/**
 * The keys of a store:
 *
 *     [collection, 'r', …id]                record, as JSON
 *     [collection, 'u', index, …key]        entry of a unique index: key of the record
 *     [collection, 'o', index, …key, …id]   entry of an ordered index: key of the record
 *     [collection:counter, …key]            counter: a number
 *     ['sequence', name]                    sequence: the first number that is not claimed
 *     ['mark', name]                        metadata of the store (metadata.ts)
 *
 * Search indexes add keys of their own (lib/search).
 */
export const recordKey = (collection: string, id: KeyTuple, encode = encodeKey): Bytes =>
  encode([collection, 'r', ...id])

export const uniqueKey = (collection: string, index: string, key: KeyTuple, encode = encodeKey): Bytes =>
  encode([collection, 'u', index, ...key])

export const orderedKey = (collection: string, index: string, key: KeyTuple, id: KeyTuple): Bytes =>
  encodeKey([collection, 'o', index, ...key, ...id])

export const counterName = (collection: string, counted: string): string => `${collection}:${counted}`

export const counterKey = (counter: string, key: KeyTuple, encode = encodeKey): Bytes =>
  encode([counter, ...key])

export const sequenceKey = (sequence: string): Bytes => encodeKey(['sequence', sequence])
