import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'

/** Where a block begins in its table, and how many bytes it has before its trailer. */
interface Place {
  readonly offset: number
  readonly size: number
}

/** Bytes that are read at once, unless a block has more. */
const WINDOW_BYTES = 256 * 1024
/** A table ends with the places of the two blocks before, zeros, and a magic number. */
const FOOTER_BYTES = 48
const MAGIC = 0xdb4775248b80fb57n
/** Follows each block: a byte that says whether it is compressed, and a sum over the block and that byte. */
const TRAILER_BYTES = 5

/**
 * Checks the checksum of each block of tables, which LevelDB writes and classic-level never reads. Skips a
 * table that LevelDB removes while the check runs.
 * @param tables what LevelDB says of its tables: a line such as ` 17:2097152['a' .. 'b']` of each
 */
export const checkTables = async (
  folder: string,
  tables: string,
  onDamage: (message: string) => void,
): Promise<void> => {
  for (const [, number] of tables.matchAll(/^ (\d+):/gm)) {
    const file = join(folder, `${number!.padStart(6, '0')}.ldb`)
    const handle = await open(file).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
    const report = (offset: number) => onDamage(`the file ${file} is damaged at byte ${offset}`)
    if (handle) await checkTable(handle, report).finally(() => handle.close())
  }
}

const checkTable = async (handle: FileHandle, report: (offset: number) => void): Promise<void> => {
  const { size } = await handle.stat()
  const read = readerOf(handle, size)
  /** The block, until the next one is read; undefined when it is damaged, which is reported. */
  const check = async (place: Place): Promise<Buffer | undefined> => {
    const bytes = await read(place.offset, place.size + TRAILER_BYTES)
    const isRight = bytes !== undefined && sumOf(bytes.subarray(0, -4)) === bytes.readUInt32LE(place.size + 1)
    if (!isRight) report(place.offset)
    return isRight ? bytes : undefined
  }
  const end = Math.max(0, size - FOOTER_BYTES)
  const footer = await read(end, FOOTER_BYTES)
  if (footer?.readBigUInt64LE(FOOTER_BYTES - 8) !== MAGIC) return report(end)
  const cursor = new Cursor(footer)
  const [filters, data] = [cursor.place(), cursor.place()]
  if (endOf(filters) !== data.offset || endOf(data) !== end) return report(end)
  for (const list of [filters, data]) {
    const block = await check(list)
    if (block === undefined) continue
    const content = block.subarray(0, list.size)
    for (const place of placesIn(block[list.size] === 0 ? content : uncompressed(content))) await check(place)
  }
}

const endOf = ({ offset, size }: Place): number => offset + size + TRAILER_BYTES

/** Reads in windows. Bytes are valid until the next call; undefined when the table does not have all. */
const readerOf = (handle: FileHandle, size: number) => {
  let buffer = Buffer.allocUnsafe(WINDOW_BYTES)
  let [start, end] = [0, 0]
  return async (offset: number, length: number): Promise<Buffer | undefined> => {
    if (offset + length > size) return undefined
    if (offset < start || offset + length > end) {
      if (length > buffer.length) buffer = Buffer.allocUnsafe(length)
      // What the disk cannot read is damaged.
      const { bytesRead } = await handle
        .read(buffer, 0, buffer.length, offset)
        .catch(() => ({ bytesRead: 0 }))
      ;[start, end] = [offset, offset + bytesRead]
    }
    return offset + length > end ? undefined : buffer.subarray(offset - start, offset - start + length)
  }
}

/** Reads numbers of the formats of LevelDB and Snappy. */
class Cursor {
  readonly bytes: Buffer
  at = 0

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  /** Little-endian, in as many bytes as it needs. */
  varint(): number {
    let [value, scale] = [0, 1]
    for (; this.bytes[this.at]! >= 0x80; scale *= 0x80) value += (this.bytes[this.at++]! - 0x80) * scale
    return value + (this.bytes[this.at++] ?? 0) * scale
  }

  place(): Place {
    return { offset: this.varint(), size: this.varint() }
  }
}

/** The places that a block lists, as the values of its entries. */
const placesIn = (block: Buffer): Place[] => {
  const places: Place[] = []
  const cursor = new Cursor(block)
  const restarts = block.readUInt32LE(block.length - 4)
  while (cursor.at < block.length - 4 * (restarts + 1)) {
    cursor.varint()
    const [keyLength, valueLength] = [cursor.varint(), cursor.varint()]
    const value = cursor.at + keyLength
    cursor.at = value
    places.push(cursor.place())
    cursor.at = value + valueLength
  }
  return places
}

/** Decompresses Snappy: literal bytes, and copies of bytes before. */
const uncompressed = (bytes: Buffer): Buffer => {
  const cursor = new Cursor(bytes)
  const whole = Buffer.allocUnsafe(cursor.varint())
  for (let to = 0; cursor.at < bytes.length; ) {
    const tag = bytes[cursor.at++]!
    let length = tag >> 2
    const kind = tag & 3
    if (kind === 0) {
      const extra = Math.max(0, length - 59)
      if (extra > 0) length = bytes.readUIntLE(cursor.at, extra)
      cursor.at += extra
      bytes.copy(whole, to, cursor.at, cursor.at + ++length)
      cursor.at += length
      to += length
      continue
    }
    const width = kind === 3 ? 4 : kind
    let distance = bytes.readUIntLE(cursor.at, width)
    cursor.at += width
    if (kind === 1) distance += (tag >> 5) << 8
    // A copy may overlap what it writes.
    for (length = kind === 1 ? 4 + (length & 7) : length + 1; length > 0; length--, to++)
      whole[to] = whole[to - distance]!
  }
  return whole
}

/** CRC-32C of each byte. */
const CRC = Int32Array.from({ length: 256 }, (_, byte) => {
  let sum = byte
  for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? 0x82f63b78 : 0)
  return sum
})

/** CRC-32C, rotated and shifted as LevelDB stores it. */
const sumOf = (bytes: Uint8Array): number => {
  let sum = -1
  for (let at = 0; at < bytes.length; at++) sum = CRC[(sum ^ bytes[at]!) & 0xff]! ^ (sum >>> 8)
  sum = ~sum
  return (((sum >>> 15) | (sum << 17)) + 0xa282ead8) >>> 0
}
