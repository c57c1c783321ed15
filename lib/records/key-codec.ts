import { invalid } from '../errors.ts'
import type { Bytes } from '../storage/index.ts'

/**
 * One part of a key. Booleans sort before numbers, and numbers before strings; strings sort by code point.
 * The least part is false.
 */
export type KeyPart = string | number | boolean
export type KeyTuple = readonly KeyPart[]

/** An index row of PostgreSQL holds at most 2,704 bytes. */
export const MAX_KEY_BYTES = 2600

/*
 * A key consists of its parts, with a zero byte between them:
 * - false is 06, true is 07;
 * - a number is 08 and the eight bytes of the float, the most significant first: all bits are inverted when
 *   the number is negative, otherwise the first bit is;
 * - a string is UTF-8 with 04 before each of U+0000 to U+0004, and 1b in front when it is empty or begins
 *   below U+001C. A surrogate outside of a pair has the three bytes of its code point, as in WTF-8.
 *
 * Invariant: different tuples have different bytes, and the bytes sort as the tuples do, for all strings. The
 * first byte of a part tells its type, all parts but strings have a fixed length, and a string ends at the
 * first 00 that is not escaped.
 */
const SEPARATOR = 0
const ESCAPE = 4
const FALSE = 6
const TRUE = 7
const NUMBER = 8
const NUMBER_BYTES = 9
const PREFIX = 0x1b

/** A UTF-16 unit takes at most three bytes, so a string that may fit is written without bounds checks. */
const target = Buffer.alloc(4 * MAX_KEY_BYTES + 64)

/** @throws AllotError invalid when the key would be longer than {@link MAX_KEY_BYTES}. */
export const encodeKey = (tuple: KeyTuple): Bytes => {
  const end = write(tuple)
  if (end > MAX_KEY_BYTES) throw invalid(`the names are too long: together more than ${MAX_KEY_BYTES} bytes`)
  return written(end)
}

/** Sorts after every key: UTF-8 has no byte ff. */
const ABOVE = Uint8Array.of(0xff)

/**
 * The key to look up a tuple by. For a tuple that is too long to be stored, it is a key that is not in any
 * store.
 */
export const lookupKey = (tuple: KeyTuple): Bytes => {
  const end = write(tuple)
  return end > MAX_KEY_BYTES ? ABOVE : written(end)
}

const written = (end: number): Bytes => {
  const key = Buffer.allocUnsafe(end)
  target.copy(key, 0, 0, end)
  return key
}

/** @returns the length of the key; more than {@link MAX_KEY_BYTES} when it was not written completely */
const write = (tuple: KeyTuple): number => {
  let end = 0
  for (let index = 0; index < tuple.length && end <= MAX_KEY_BYTES; index++) {
    if (index > 0) target[end++] = SEPARATOR
    end = writePart(tuple[index]!, end)
  }
  return end
}

const writePart = (part: KeyPart, offset: number): number => {
  if (typeof part === 'string') return writeString(part, offset)
  if (typeof part === 'number') return writeNumber(part, offset)
  target[offset] = part ? TRUE : FALSE
  return offset + 1
}

const writeString = (text: string, start: number): number => {
  const { length } = text
  if (length > MAX_KEY_BYTES) return Infinity
  let offset = start
  if (length === 0 || text.charCodeAt(0) <= PREFIX) target[offset++] = PREFIX
  for (let index = 0; index < length; index++) {
    const unit = text.charCodeAt(index)
    if (unit > ESCAPE && unit < 0x80) target[offset++] = unit
    else if (unit <= ESCAPE) {
      target[offset++] = ESCAPE
      target[offset++] = unit
    } else if (unit < 0x800) {
      target[offset++] = 0xc0 | (unit >> 6)
      target[offset++] = 0x80 | (unit & 0x3f)
    } else {
      const point = text.codePointAt(index)!
      if (point > 0xffff) index++
      offset = writeLongPoint(point, offset)
    }
  }
  return offset
}

/** Writes a code point that has three or four bytes. */
const writeLongPoint = (point: number, start: number): number => {
  let offset = start
  if (point > 0xffff) {
    target[offset++] = 0xf0 | (point >> 18)
    target[offset++] = 0x80 | ((point >> 12) & 0x3f)
  } else target[offset++] = 0xe0 | (point >> 12)
  target[offset++] = 0x80 | ((point >> 6) & 0x3f)
  target[offset++] = 0x80 | (point & 0x3f)
  return offset
}

/** -0 is written as 0, which it equals. */
const writeNumber = (value: number, offset: number): number => {
  target[offset] = NUMBER
  target.writeDoubleBE(value + 0, offset + 1)
  flip(target, offset + 1, value < 0)
  return offset + NUMBER_BYTES
}

/** Turns the bytes of a float into those of a key, and back. */
const flip = (bytes: Bytes, start: number, isNegative: boolean): void => {
  if (isNegative) for (let at = start; at < start + 8; at++) bytes[at]! ^= 0xff
  else bytes[start]! ^= 0x80
}

/** Decodes a key of {@link encodeKey}. Other bytes decode to some tuple whose key differs from them. */
export const decodeKey = (key: Bytes): KeyTuple => {
  const tuple: KeyPart[] = []
  let offset = 0
  while (offset < key.length) {
    const first = key[offset]!
    if (first === FALSE || first === TRUE) {
      tuple.push(first === TRUE)
      offset += 1
    } else if (first < PREFIX) {
      tuple.push(readNumber(key, offset))
      offset += NUMBER_BYTES
    } else {
      const start = first === PREFIX ? offset + 1 : offset
      offset = endOfString(key, start)
      tuple.push(isPlain ? readPlain(key, start, offset) : readString(key, start, offset))
    }
    offset++
  }
  return tuple
}

/** The parts of a key; undefined for bytes that {@link encodeKey} does not write. */
export const decodeKeyIfValid = (key: Bytes): KeyTuple | undefined => {
  try {
    const tuple = decodeKey(key)
    return Buffer.compare(encodeKey(tuple), key) === 0 ? tuple : undefined
  } catch {
    return undefined
  }
}

/** Whether the last string of {@link endOfString} is ASCII without escapes, as most are. */
let isPlain = true

const endOfString = (key: Bytes, start: number): number => {
  isPlain = true
  let offset = start
  for (; offset < key.length; offset++) {
    const byte = key[offset]!
    if (byte > ESCAPE && byte < 0x80) continue
    if (byte === SEPARATOR) return offset
    isPlain = false
    if (byte === ESCAPE) offset++
  }
  return key.length
}

const readPlain = (key: Bytes, start: number, end: number): string =>
  Buffer.from(key.buffer, key.byteOffset, key.length).toString('latin1', start, end)

const readString = (key: Bytes, start: number, end: number): string => {
  const units: number[] = []
  for (let offset = start; offset < end; offset++) {
    const byte = key[offset]!
    if (byte < 0x80) units.push(byte === ESCAPE ? key[++offset]! : byte)
    else if (byte < 0xe0) units.push(((byte & 0x1f) << 6) | (key[++offset]! & 0x3f))
    else if (byte < 0xf0)
      units.push(((byte & 0x0f) << 12) | ((key[++offset]! & 0x3f) << 6) | (key[++offset]! & 0x3f))
    else {
      const rest = ((key[++offset]! & 0x3f) << 12) | ((key[++offset]! & 0x3f) << 6) | (key[++offset]! & 0x3f)
      const above = (((byte & 0x07) << 18) | rest) - 0x10000
      units.push(0xd800 | (above >> 10), 0xdc00 | (above & 0x3ff))
    }
  }
  return String.fromCharCode(...units)
}

const float = Buffer.alloc(8)

const readNumber = (key: Bytes, offset: number): number => {
  float.set(key.subarray(offset + 1, offset + NUMBER_BYTES))
  flip(float, 0, float[0]! < 0x80)
  return float.readDoubleBE()
}

/**
 * The range of all longer keys that begin with the tuple: from prefix+00 to prefix+01, since a 00 follows
 * each part but the last, and no other tuple has a key that begins with the prefix and a 00. The range of a
 * tuple that is too long is empty.
 */
export const rangeBelow = (prefix: KeyTuple): { start: Bytes; end: Bytes } => {
  if (prefix.length === 0) return { start: new Uint8Array(0), end: ABOVE }
  const bytes = lookupKey(prefix)
  return bytes === ABOVE ? { start: ABOVE, end: ABOVE } : { start: append(bytes, 0), end: append(bytes, 1) }
}

const append = (bytes: Bytes, last: number): Bytes => {
  const longer = new Uint8Array(bytes.length + 1)
  longer.set(bytes)
  longer[bytes.length] = last
  return longer
}
