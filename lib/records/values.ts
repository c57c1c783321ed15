import type { Bytes } from '../storage/driver.ts'

/** Values are JSON: readable with any tool, and no slower than the binary formats measured without shared structures. */
export const encodeValue = (value: unknown): Bytes => Buffer.from(JSON.stringify(value))

export const decodeValue = <T>(bytes: Bytes): T =>
  JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')) as T
