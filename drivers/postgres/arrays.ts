import type { Bytes } from '../../lib/storage/index.ts'

const OID = { bytea: 17, int8: 20 } as const
const HEADER = 20

/** A `bytea[]` as the server reads it: a text of hexadecimal digits would be twice as long, and slow to make. */
export const byteas = (elements: readonly (Bytes | undefined)[]): Buffer =>
  arrayOf(
    OID.bytea,
    elements.map((element) => element?.length),
    (array, at, index) => array.set(elements[index]!, at),
  )

/** An `int8[]`. */
export const integers = (elements: readonly number[]): Buffer =>
  arrayOf(
    OID.int8,
    elements.map(() => 8),
    (array, at, index) => void array.writeBigInt64BE(BigInt(elements[index]!), at),
  )

/** One dimension, counted from 1; an element without a length is null. */
const arrayOf = (
  type: number,
  lengths: readonly (number | undefined)[],
  write: (array: Buffer, at: number, index: number) => void,
): Buffer => {
  const size = lengths.reduce<number>((sum, length) => sum + 4 + (length ?? 0), HEADER)
  const array = Buffer.allocUnsafe(size)
  const hasNulls = lengths.includes(undefined) ? 1 : 0
  for (const [index, word] of [1, hasNulls, type, lengths.length, 1].entries())
    array.writeInt32BE(word, index * 4)
  let at = HEADER
  for (const [index, length] of lengths.entries()) {
    array.writeInt32BE(length ?? -1, at)
    at += 4
    if (length === undefined) continue
    write(array, at, index)
    at += length
  }
  return array
}

/** What the server writes as `\x00ff…`. */
export const bytesOf = (text: string): Bytes => Buffer.from(text.slice(2), 'hex')
