import { endianness } from 'node:os'
import { encodeKey } from '../records/key-codec.ts'
import type { Bytes } from '../storage/index.ts'

/** Bytes at the end of an order that are the id of the record: one number. */
export const ID_LENGTH = encodeKey([1]).length

const UINT32_LENGTH = 4

/** The offset of the first order in a block of this size; also where the end of the order of this index is stored. */
const bodyOffset = (size: number): number => UINT32_LENGTH + size * UINT32_LENGTH

/** The stored form of a block: the number of orders, the end of each, and then the orders one after another. */
export const encodeBlock = (orders: readonly Bytes[]): Bytes => {
  const start = bodyOffset(orders.length)
  const block = Buffer.allocUnsafe(orders.reduce((size, { length }) => size + length, start))
  block.writeUInt32LE(orders.length)
  let end = 0
  for (const [index, order] of orders.entries()) {
    block.set(order, start + end)
    end += order.length
    block.writeUInt32LE(end, bodyOffset(index))
  }
  return block
}

/** A block as it is read. */
export class PostingBlock {
  readonly size: number
  readonly #bytes: Buffer
  /** Offset of the orders, and the end of each, counted from there. */
  readonly #start: number
  readonly #ends: Uint32Array

  /** @throws RangeError when the bytes are not a block */
  constructor({ buffer, byteOffset, byteLength }: Bytes) {
    this.#bytes = Buffer.from(buffer, byteOffset, byteLength)
    this.size = this.#bytes.readUInt32LE()
    this.#start = bodyOffset(this.size)
    if (this.size === 0 || this.#start > byteLength) throw new RangeError('the bytes are not a posting block')
    // Copied, since a Uint32Array must begin at a multiple of four bytes.
    const ends = Buffer.from(new Uint8Array(this.#bytes.subarray(UINT32_LENGTH, this.#start)).buffer)
    if (endianness() === 'BE') ends.swap32()
    this.#ends = new Uint32Array(ends.buffer)
    if (this.#start + this.#ends.at(-1)! !== byteLength)
      throw new RangeError('the posting block is truncated')
  }

  /** The order of this index, counted from 0; it shares the memory of the block. */
  order(index: number): Bytes {
    const start = index === 0 ? 0 : this.#ends[index - 1]!
    return this.#bytes.subarray(this.#start + start, this.#start + this.#ends[index]!)
  }

  indexes(): Iterable<number> {
    return this.#ends.keys()
  }

  *orders(): Generator<Bytes> {
    for (let index = 0; index < this.size; index++) yield this.order(index)
  }

  /**
   * The indexes of the orders whose texts contain the word.
   * @param word one character per byte
   */
  search(word: string): number[] {
    const matches: number[] = []
    const text = this.#bytes.toString('latin1', this.#start)
    let index = 0
    for (let found = text.indexOf(word); found !== -1; ) {
      while (this.#ends[index]! <= found) index++
      const isInTexts = found + word.length <= this.#ends[index]! - ID_LENGTH
      if (isInTexts) matches.push(index)
      found = text.indexOf(word, isInTexts ? this.#ends[index]! : found + 1)
    }
    return matches
  }
}
