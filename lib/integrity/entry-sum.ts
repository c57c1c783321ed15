import type { Bytes } from '../storage/index.ts'

/**
 * Number and sum of entries, in any order: the sum of a hash of each. When entries differ, so does the sum,
 * but for one case in 2^64.
 */
export class EntrySum {
  count = 0
  /** Two halves of 32 bits. */
  #high = 0
  #low = 0

  add(key: Bytes, value: Bytes): void {
    let [one, two] = [key.length, 0]
    for (const bytes of [key, value])
      for (let at = 0; at < bytes.length; at++) {
        one = Math.imul(one ^ bytes[at]!, 0x9e3779b1)
        two = Math.imul(two ^ bytes[at]!, 0x5f356495)
      }
    // Each bit of both parts changes about half of the bits of each half.
    const high = mixed(one, two)
    this.count++
    this.#high = (this.#high + high) | 0
    this.#low = (this.#low + mixed(two, high)) | 0
  }

  equals(other: EntrySum): boolean {
    return this.count === other.count && this.#high === other.#high && this.#low === other.#low
  }
}

/** With the factors of MurmurHash3. */
const mixed = (one: number, two: number): number =>
  Math.imul(one ^ (one >>> 16), 0x85ebca6b) ^ Math.imul(two ^ (two >>> 13), 0xc2b2ae35)
