import { inflateSync } from 'node:zlib'

/**
 * Checks small packs, as most pushes have, in this process: the pre-receive hook of push.ts, which checks all
 * others, is four processes. Invariant: the objects of a pack that passes here have at most 1 MiB together,
 * and at most `git.maxPushSize`.
 */

// With these limits, the check takes some milliseconds at most.
/** Bytes of a pack. */
export const MAX_SMALL_PACK = 64 * 1024
const MAX_OBJECTS = 256
/** Bytes of the objects of a pack, when they are unpacked. */
const MAX_UNPACKED = 1024 * 1024

/**
 * Whether a push needs no further check of its unpacked size.
 * @param pack of the push, empty when it only deletes references; undefined when it is not known
 * @param maxPushSize in bytes; undefined: not limited
 */
export const isSmallPush = (pack: Buffer | undefined, maxPushSize = MAX_UNPACKED): boolean => {
  if (pack === undefined) return false
  if (pack.length === 0) return true
  try {
    return sizesIn(pack) <= Math.min(maxPushSize, MAX_UNPACKED)
  } catch {
    // git says what is wrong with it.
    return false
  }
}

/** The format of a pack (gitformat-pack): a header, entries, and the hash of all that. */
const [HEADER_BYTES, HASH_BYTES] = [12, 20]
const [OFFSET_DELTA, REFERENCE_DELTA] = [6, 7]

/**
 * Bytes of all objects, of deltas and of their results.
 * @throws Error when the pack is damaged, or larger than the limits
 */
const sizesIn = (pack: Buffer): number => {
  const count = pack.readUInt32BE(8)
  if (count > MAX_OBJECTS) return Number.POSITIVE_INFINITY
  let sum = 0
  let position = HEADER_BYTES
  for (let index = 0; index < count; index++) {
    const entry = entryAt(pack, position)
    sum += entry.size
    if (sum > MAX_UNPACKED) return sum
    const { content, end } = inflateAt(pack, entry)
    if (entry.isDelta) sum += targetSizeOf(content)
    position = end
  }
  return position === pack.length - HASH_BYTES ? sum : Number.POSITIVE_INFINITY
}

interface Entry {
  readonly isDelta: boolean
  /** Bytes of the unpacked content. */
  readonly size: number
  /** Position of the content. */
  readonly start: number
}

/** Type and size: four bits of the size in the first byte, seven in each further one. */
const entryAt = (pack: Buffer, position: number): Entry => {
  const first = pack.readUInt8(position)
  const type = (first >> 4) & 7
  const rest = first < 128 ? { value: 0, end: position + 1 } : numberAt(pack, position + 1)
  const size = rest.value * 16 + (first & 15)
  if (type === REFERENCE_DELTA) return { isDelta: true, size, start: rest.end + HASH_BYTES }
  if (type === OFFSET_DELTA) return { isDelta: true, size, start: numberAt(pack, rest.end).end }
  return { isDelta: false, size, start: rest.end }
}

/** Seven bits in each byte, the lowest first. The highest bit says that another byte follows. */
const numberAt = (bytes: Buffer, position: number): { value: number; end: number } => {
  let value = 0
  for (let end = position, scale = 1; ; end++, scale *= 128) {
    const byte = bytes.readUInt8(end)
    value += (byte & 127) * scale
    if (byte < 128) return { value, end: end + 1 }
  }
}

/** A delta begins with the sizes of its base and of its target. */
const targetSizeOf = (delta: Buffer): number => numberAt(delta, numberAt(delta, 0).end).value

const inflateAt = (pack: Buffer, { size, start }: Entry): { content: Buffer; end: number } => {
  const options = { info: true, maxOutputLength: Math.max(size, 1) }
  // With `info` the result has the engine, too, which the types leave out.
  const inflated = inflateSync(pack.subarray(start), options) as unknown as {
    buffer: Buffer
    engine: { bytesWritten: number }
  }
  if (inflated.buffer.length !== size) throw new Error('the size of an object is not the one before it')
  return { content: inflated.buffer, end: start + inflated.engine.bytesWritten }
}
