import type { Bytes } from '../storage/driver.ts'
import { encodeKey, type KeyTuple } from './key-codec.ts'

/** Where everything lies in a store: whoever writes a key and whoever recounts it read it here. */
export const recordKey = (collection: string, id: KeyTuple, encode = encodeKey): Bytes =>
  encode([collection, 'r', ...id])

export const uniqueKey = (collection: string, index: string, place: KeyTuple, encode = encodeKey): Bytes =>
  encode([collection, 'u', index, ...place])

export const orderedKey = (collection: string, index: string, place: KeyTuple, id: KeyTuple): Bytes =>
  encodeKey([collection, 'o', index, ...place, ...id])

export const counterName = (collection: string, counted: string): string => `${collection}:${counted}`

export const counterKey = (counter: string, key: KeyTuple, encode = encodeKey): Bytes =>
  encode([counter, ...key])

/** It holds the first number that is not claimed yet. */
export const sequenceKey = (sequence: string): Bytes => encodeKey(['sequence', sequence])
