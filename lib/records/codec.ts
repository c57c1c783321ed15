import { jsonOf, parseExactly } from '../integers.ts'
import type { Bytes } from '../storage/index.ts'

/**
 * Encodes a value as JSON, which any tool can read, and which measured no slower than binary formats without shared
 * structures. A value with an integer above 2^53-1 begins with a space: only such a value needs the slower exact parser.
 */
export const encodeValue = (value: unknown): Bytes => Buffer.from(jsonOf(value, { before: ' ' }))

export const decodeValue = <T>(bytes: Bytes): T => {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
  return (bytes[0] === SPACE ? parseExactly(text) : JSON.parse(text)) as T
}

const SPACE = 0x20
