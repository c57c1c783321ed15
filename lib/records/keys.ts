import { fromBufferKey, toBufferKey } from 'ordered-binary'
import type { Bytes } from '../storage/driver.ts'

/** One member of a key. Numbers sort by value, strings by their UTF-8 bytes, false before true. */
export type KeyPart = string | number | boolean
export type KeyTuple = readonly KeyPart[]

/** The bytes of a tuple; they sort as the tuple does, member by member. */
export const encodeKey = (tuple: KeyTuple): Bytes => toBufferKey(tuple as KeyPart[])

/** The tuple that {@link encodeKey} was given. A tuple of one member comes back from ordered-binary without its array. */
export const decodeKey = (key: Bytes): KeyTuple => {
  const decoded = fromBufferKey(key as Buffer) as KeyPart | KeyPart[]
  return Array.isArray(decoded) ? decoded : [decoded]
}

/**
 * Every key that begins with the tuple and goes on after it. ordered-binary puts a zero byte between members, and no
 * member begins with one, so the keys below a prefix lie between prefix+00 and prefix+01.
 */
export const rangeBelow = (prefix: KeyTuple): { start: Bytes; end: Bytes } => {
  const bytes = encodeKey(prefix)
  return { start: append(bytes, 0), end: append(bytes, 1) }
}

const append = (bytes: Bytes, last: number): Bytes => {
  const longer = new Uint8Array(bytes.length + 1)
  longer.set(bytes)
  longer[bytes.length] = last
  return longer
}
