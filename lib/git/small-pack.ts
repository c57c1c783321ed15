import { inflateSync } from 'node:zlib'
import { MAX_HEADER_LINES, MAX_NAME, positionsIn } from './objects/parse.ts'
import { MAX_PATH } from './push-check.ts'

/**
 * Checks small packs, as most pushes have, in this process: the pre-receive hook of push-check.ts, which
 * checks all others, is many processes. Invariant: the objects of a pack that passes here have at most 1 MiB
 * together, and at most `git.maxPushSize`; those that are not deltas have no long names or headers. What a
 * delta makes of an object that is elsewhere is not read: it has 1 MiB at most.
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
const [TREE, BLOB, OFFSET_DELTA, REFERENCE_DELTA] = [2, 3, 6, 7]
const LINE_FEED = 10

/**
 * The bytes that a folder can add to a path, which is below each folder of a pack at worst.
 * @returns infinity for what the hook refuses
 */
const pathBytesIn = (type: number, content: Buffer): number => {
  if (type === BLOB) return 0
  if (type !== TREE) return hasLongHeader(content) ? Number.POSITIVE_INFINITY : 0
  let name = 0
  for (const { space, nul } of positionsIn(content)) name = Math.max(name, nul - space - 1)
  return name > MAX_NAME ? Number.POSITIVE_INFINITY : name + 1
}

/** Whether a commit or a tag has more lines of headers than it may have. */
const hasLongHeader = (content: Buffer): boolean => {
  let start = 0
  for (let lines = 0; lines <= MAX_HEADER_LINES; lines++) {
    const end = content.indexOf(LINE_FEED, start)
    // An empty line ends the headers.
    if (end <= start) return false
    start = end + 1
  }
  return true
}

/**
 * Bytes of all objects, of deltas and of their results.
 * @throws Error when the pack is damaged, or larger than the limits
 */
const sizesIn = (pack: Buffer): number => {
  const count = pack.readUInt32BE(8)
  if (count > MAX_OBJECTS) return Number.POSITIVE_INFINITY
  let [sum, path] = [0, 0]
  let position = HEADER_BYTES
  for (let index = 0; index < count; index++) {
    const entry = entryAt(pack, position)
    sum += entry.size
    if (sum > MAX_UNPACKED) return sum
    const { content, end } = inflateAt(pack, entry)
    if (entry.isDelta) sum += targetSizeOf(content)
    else path += pathBytesIn(entry.type, content)
    if (path > MAX_PATH) return Number.POSITIVE_INFINITY
    position = end
  }
  return position === pack.length - HASH_BYTES ? sum : Number.POSITIVE_INFINITY
}

interface Entry {
  readonly type: number
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
  if (type === REFERENCE_DELTA) return { type, isDelta: true, size, start: rest.end + HASH_BYTES }
  if (type === OFFSET_DELTA) return { type, isDelta: true, size, start: numberAt(pack, rest.end).end }
  return { type, isDelta: false, size, start: rest.end }
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
