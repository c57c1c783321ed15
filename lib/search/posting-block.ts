import { endianness } from 'node:os'
import type { Bytes } from '../storage/driver.ts'

/**
 * Many entries of an index under one key: their number, where each of them ends, and then the entries, one after the
 * other and in their order. A database takes as long over one entry of its own as this takes over hundreds, and a word is
 * looked for in all of them at once.
 */
export const encodeBlock = (orders: readonly Bytes[]): Bytes => {
  const head = bodyAt(orders.length)
  const pack = Buffer.allocUnsafe(orders.reduce((size, { length }) => size + length, head))
  pack.writeUInt32LE(orders.length)
  let end = 0
  for (const [at, order] of orders.entries()) {
    pack.set(order, head + end)
    end += order.length
    pack.writeUInt32LE(end, bodyAt(at))
  }
  return pack
}

const NUMBER = 4

/** Where the entries of a pack of so many begin; also where the end of the entry of that number is written. */
const bodyAt = (size: number): number => NUMBER + size * NUMBER

/** A pack as it is read. */
export class PostingBlock {
  readonly size: number
  readonly #bytes: Buffer
  /** Where the entries begin, and where each of them ends after that. */
  readonly #body: number
  readonly #ends: Uint32Array

  /** @throws RangeError when the bytes are no pack */
  constructor({ buffer, byteOffset, byteLength }: Bytes) {
    this.#bytes = Buffer.from(buffer, byteOffset, byteLength)
    this.size = this.#bytes.readUInt32LE()
    this.#body = bodyAt(this.size)
    if (this.size === 0 || this.#body > byteLength) throw new RangeError('this is not what a pack is like')
    // They are read at once from a multiple of four, in the order of the machine.
    const ends = Buffer.from(new Uint8Array(this.#bytes.subarray(NUMBER, this.#body)).buffer)
    if (endianness() === 'BE') ends.swap32()
    this.#ends = new Uint32Array(ends.buffer)
    if (this.#body + this.#ends.at(-1)! !== byteLength) throw new RangeError('this pack was cut')
  }

  /** The entry of this number, counted from 0; it shares its bytes with the pack. */
  order(at: number): Bytes {
    return this.#bytes.subarray(this.#body + this.#beginningOf(at), this.#body + this.#ends[at]!)
  }

  *orders(): Generator<Bytes> {
    for (let at = 0; at < this.size; at++) yield this.order(at)
  }

  /**
   * The numbers of the entries that have the word, but for their last `rest` bytes, which are no text.
   *
   * @param word a character for each byte
   */
  search(word: string, rest: number): number[] {
    const found: number[] = []
    const text = this.#bytes.toString('latin1', this.#body)
    let at = 0
    for (let hit = text.indexOf(word); hit !== -1; ) {
      while (this.#ends[at]! <= hit) at++
      const isWithin = hit + word.length <= this.#ends[at]! - rest
      if (isWithin) found.push(at)
      hit = text.indexOf(word, isWithin ? this.#ends[at]! : hit + 1)
    }
    return found
  }

  #beginningOf(at: number): number {
    return at === 0 ? 0 : this.#ends[at - 1]!
  }
}
