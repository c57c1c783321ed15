import { inflateSync } from 'node:zlib'
import { MAX_HEADER_LINES, MAX_NAME, positionsIn } from './objects/parse.ts'
import type { GitReader, ReadAccess } from './objects/reader.ts'
import { MAX_PATH } from './push-check.ts'

/**
 * Checks small packs, as most pushes have, in this process: the pre-receive hook of push-check.ts, which
 * checks all others, is many processes. Invariant: the objects of a pack that passes here have at most 1 MiB
 * together, and at most `git.maxPushSize`, and no long names or headers, also those that deltas make.
 */

// With these limits, the check takes some milliseconds at most.
/** Bytes of a pack. */
export const MAX_SMALL_PACK = 64 * 1024
const MAX_OBJECTS = 256
/** Bytes of the objects of a pack, when they are unpacked. */
const MAX_UNPACKED = 1024 * 1024

/** Finds the object that a delta changes, which the pack need not have; of a file, not the content. */
export type FindBase = (id: string) => Promise<Content | undefined>

/** An object, with the number of its type in packs. */
interface Content {
  readonly type: number
  readonly content: Buffer
}

/**
 * Whether a push needs no further check of its unpacked size.
 * @param pack of the push, empty when it only deletes references; undefined when it is not known
 * @param maxPushSize in bytes; undefined: not limited
 */
export const isSmallPush = async (
  pack: Buffer | undefined,
  maxPushSize = MAX_UNPACKED,
  findBase: FindBase = async () => undefined,
): Promise<boolean> => {
  if (pack === undefined) return false
  if (pack.length === 0) return true
  try {
    return (await sizesIn(pack, findBase)) <= Math.min(maxPushSize, MAX_UNPACKED)
  } catch {
    // git says what is wrong with it.
    return false
  }
}

export type BaseReader = Pick<GitReader, 'infos' | 'object'>

/** @param reader of the repository; undefined where none is open: the hook checks pushes with such deltas */
export const baseIn =
  (reader: BaseReader | undefined, access: ReadAccess): FindBase =>
  async (id) => {
    const [info] = (await reader?.infos(access, [id])) ?? []
    if (reader === undefined || info === undefined || info.size > MAX_UNPACKED) return undefined
    if (info.type === 'blob') return { type: BLOB, content: Buffer.alloc(0) }
    const object = await reader.object(access, id)
    return object && { type: info.type === 'tree' ? TREE : COMMIT, content: object.content }
  }

/** The format of a pack (gitformat-pack): a header, entries, and the hash of all that. */
const [HEADER_BYTES, HASH_BYTES] = [12, 20]
const [COMMIT, TREE, BLOB, OFFSET_DELTA, REFERENCE_DELTA] = [1, 2, 3, 6, 7]
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
const sizesIn = async (pack: Buffer, findBase: FindBase): Promise<number> => {
  const count = pack.readUInt32BE(8)
  if (count > MAX_OBJECTS) return Number.POSITIVE_INFINITY
  let [sum, path] = [0, 0]
  let position = HEADER_BYTES
  const baseOf = async ({ base }: Entry, at: (distance: number) => Content | undefined) => {
    if (base === undefined) return undefined
    const found = typeof base === 'string' ? await findBase(base) : at(base)
    if (found === undefined) throw new Error('the base of a delta is not known here')
    return found
  }
  /** By their positions: a delta that names its base so comes after it. */
  const objects = new Map<number, Content>()
  for (let index = 0; index < count; index++) {
    const entry = entryAt(pack, position)
    sum += entry.size
    if (sum > MAX_UNPACKED) return sum
    const { content, end } = inflateAt(pack, entry)
    if (entry.base !== undefined) sum += targetSizeOf(content)
    if (sum > MAX_UNPACKED) return sum
    const base = await baseOf(entry, (distance) => objects.get(position - distance))
    const object = base === undefined ? { type: entry.type, content } : changed(base, content)
    path += pathBytesIn(object.type, object.content)
    if (path > MAX_PATH) return Number.POSITIVE_INFINITY
    objects.set(position, object)
    position = end
  }
  return position === pack.length - HASH_BYTES ? sum : Number.POSITIVE_INFINITY
}

/**
 * What a delta makes of its base: of files, only the type is known.
 * @throws Error when it is malformed
 */
const changed = ({ type, content: base }: Content, delta: Buffer): Content => {
  if (type === BLOB) return { type, content: base }
  const target = numberAt(delta, numberAt(delta, 0).end)
  const parts: Buffer[] = []
  let [size, end] = [0, target.end]
  while (end < delta.length) {
    const code = delta.readUInt8(end++)
    const part =
      code < 128 ? { from: delta, start: end, bytes: code, end: end + code } : copyAt(base, delta, code, end)
    parts.push(part.from.subarray(part.start, part.start + part.bytes))
    size += part.bytes
    if (size > target.value) break
    end = part.end
  }
  const content = size === target.value ? Buffer.concat(parts) : undefined
  if (content?.length !== target.value) throw new Error('the delta makes another size than it says')
  return { type, content }
}

/** A copy of bytes of the base: the code says which bytes of the offset and of the size follow. */
const copyAt = (from: Buffer, delta: Buffer, code: number, position: number) => {
  let [start, bytes, end] = [0, 0, position]
  for (let at = 0; at < 4; at++) if (code & (1 << at)) start += delta.readUInt8(end++) * 256 ** at
  for (let at = 0; at < 3; at++) if (code & (16 << at)) bytes += delta.readUInt8(end++) * 256 ** at
  return { from, start, bytes: bytes || 0x10000, end }
}

interface Entry {
  readonly type: number
  /** Of a delta, the id of its base, or how far before it its base begins; undefined for others. */
  readonly base: string | number | undefined
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
  const { end } = rest
  if (type === REFERENCE_DELTA)
    return { type, base: pack.toString('hex', end, end + HASH_BYTES), size, start: end + HASH_BYTES }
  if (type !== OFFSET_DELTA) return { type, base: undefined, size, start: end }
  const { value, end: start } = distanceAt(pack, end)
  return { type, base: value, size, start }
}

/** Seven bits in each byte, the highest first; each further byte adds one: no number has two forms. */
const distanceAt = (bytes: Buffer, position: number): { value: number; end: number } => {
  let byte = bytes.readUInt8(position)
  let [value, end] = [byte & 127, position + 1]
  while (byte >= 128) {
    byte = bytes.readUInt8(end++)
    value = (value + 1) * 128 + (byte & 127)
  }
  return { value, end }
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
