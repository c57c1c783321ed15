import { jsonOf, parseExactly } from '../integers.ts'
import type { Bytes } from '../storage/driver.ts'

/**
 * Values are JSON: readable with any tool, and no slower than the binary formats measured without shared structures. A value
 * that holds an integer beyond 2^53-1 begins with a space, so that reading every other value costs no more than JSON.parse.
 */
export const encodeValue = (value: unknown): Bytes => Buffer.from(jsonOf(value, { before: ' ' }))

export const decodeValue = <T>(bytes: Bytes): T => {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
  return (bytes[0] === SPACE ? parseExactly(text) : JSON.parse(text)) as T
}

const SPACE = 0x20
