import { hash } from 'node:crypto'
import type { Bytes } from '../../storage/driver.ts'

/**
 * Two sides that must agree: what ought to be (from the records) and what is (in the store). A side is told of things in
 * any order. `amount` is how much of the key; `value` is what an index entry holds.
 */
export interface Sides {
  due(key: Bytes, amount: number, value?: Bytes): void
  held(key: Bytes, amount: number, value?: Bytes): void
}

const BUCKETS = 1024
/** Primes below 2^26: a product of two remainders stays exact, and no difference of amounts vanishes in all of them. */
const PRIMES = [67108859, 67108837, 67108819, 67108777] as const
const LANES = PRIMES.length

/**
 * Sums of fingerprints, by buckets of keys: the same sum on both sides means the same things on both, whatever their
 * number, in memory that does not grow. Which of them differ is for a second look at the buckets that do.
 */
export class SummedSides implements Sides {
  readonly #sums = new Float64Array(BUCKETS * LANES)
  readonly #told = new Uint32Array(BUCKETS)

  due(key: Bytes, amount: number, value?: Bytes): void {
    this.#add(key, amount, value)
  }

  held(key: Bytes, amount: number, value?: Bytes): void {
    this.#add(key, 0 - amount, value)
  }

  /** The buckets whose sides differ, and how many things were told of each. */
  differing(): { bucket: number; told: number }[] {
    const found: { bucket: number; told: number }[] = []
    for (let bucket = 0; bucket < BUCKETS; bucket++)
      if (PRIMES.some((prime, lane) => this.#sums[bucket * LANES + lane]! % prime !== 0))
        found.push({ bucket, told: this.#told[bucket]! })
    return found
  }

  #add(key: Bytes, amount: number, value: Bytes | undefined): void {
    const bucket = bucketOf(key)
    const print = fingerprint(key, value)
    this.#told[bucket]!++
    for (let lane = 0; lane < LANES; lane++) {
      const at = bucket * LANES + lane
      const prime = PRIMES[lane]!
      const part = print.readUInt32LE(lane * 4) >>> 6
      this.#sums[at] = (this.#sums[at]! + (amount % prime) * part) % prime
    }
  }
}

/** One key, with all that both sides said of it. */
export interface Compared {
  readonly key: Bytes
  due: number
  held: number
  /** For index entries: what the entry ought to hold, for each record that claims it, and what it holds. */
  readonly dueValues: Bytes[]
  heldValue: Bytes | undefined
}

/** The keys of a few buckets, one by one. */
export class ComparedSides implements Sides {
  readonly #buckets: ReadonlySet<number>
  readonly #keys = new Map<string, Compared>()

  constructor(buckets: ReadonlySet<number>) {
    this.#buckets = buckets
  }

  due(key: Bytes, amount: number, value?: Bytes): void {
    const one = this.#at(key)
    if (one === undefined) return
    one.due += amount
    if (value !== undefined) one.dueValues.push(copyOf(value))
  }

  held(key: Bytes, amount: number, value?: Bytes): void {
    const one = this.#at(key)
    if (one === undefined) return
    one.held += amount
    if (value !== undefined) one.heldValue = copyOf(value)
  }

  *differing(): Iterable<Compared> {
    for (const one of this.#keys.values()) if (!agrees(one)) yield one
  }

  #at(key: Bytes): Compared | undefined {
    if (!this.#buckets.has(bucketOf(key))) return undefined
    const text = Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('latin1')
    let one = this.#keys.get(text)
    if (one === undefined) {
      one = { key: copyOf(key), due: 0, held: 0, dueValues: [], heldValue: undefined }
      this.#keys.set(text, one)
    }
    return one
  }
}

const agrees = ({ due, held, dueValues: [value], heldValue }: Compared): boolean =>
  due === held &&
  (value === undefined || heldValue === undefined
    ? value === heldValue
    : Buffer.compare(value, heldValue) === 0)

/** By the key alone, so that all that is told of a key meets in one bucket. */
const bucketOf = (key: Bytes): number => {
  let mixed = 0x811c9dc5
  for (let at = 0; at < key.length; at++) mixed = Math.imul(mixed ^ key[at]!, 0x01000193)
  return (mixed ^ (mixed >>> 15)) & (BUCKETS - 1)
}

let scratch = Buffer.alloc(4096)

const fingerprint = (key: Bytes, value: Bytes | undefined): Buffer => {
  if (value === undefined) return hash('sha1', key, 'buffer')
  const length = key.length + value.length + 4
  if (length > scratch.length) scratch = Buffer.alloc(2 * length)
  scratch.set(key)
  scratch.set(value, key.length)
  // Where the one ends and the other begins.
  scratch.writeUInt32LE(key.length, length - 4)
  return hash('sha1', scratch.subarray(0, length), 'buffer')
}

/** What the driver hands out may be a part of something larger. */
const copyOf = (bytes: Bytes): Bytes => new Uint8Array(bytes)
