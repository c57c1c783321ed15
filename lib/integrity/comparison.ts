import { type Bytes, keyText } from '../storage/index.ts'

/** Adds `amount` to a key; index entries also have the `value` that they hold. */
export type Emit = (key: Bytes, amount: number, value?: Bytes) => void

/** Compares the entries that the records imply with the stored ones. Both sides are emitted in any order. */
export interface Comparison {
  readonly expected: Emit
  readonly actual: Emit
}

const BUCKETS = 256
/**
 * Primes below 2^26: the product of two remainders is exact, and no difference of amounts is 0 modulo all of
 * them.
 */
const PRIMES = [67108859, 67108837, 67108819, 67108777] as const
const LANES = PRIMES.length
const ODD = [0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f] as const

/**
 * Compares both sides in constant memory: adds the fingerprints of expected entries and subtracts those of
 * stored ones, per bucket of keys. A bucket whose sums are all 0 agrees; the others need an
 * {@link ExactComparison}.
 */
export class FingerprintComparison implements Comparison {
  readonly #sums = new Float64Array(BUCKETS * LANES)
  readonly #sizes = new Uint32Array(BUCKETS)

  readonly expected: Emit = (key, amount, value) => this.#add(key, amount, value)
  readonly actual: Emit = (key, amount, value) => this.#add(key, -amount, value)

  /** The buckets whose sides differ; `size` counts the entries that were emitted into the bucket. */
  differingBuckets(): { bucket: number; size: number }[] {
    const found: { bucket: number; size: number }[] = []
    for (const [bucket, size] of this.#sizes.entries())
      if (PRIMES.some((prime, lane) => this.#sums[bucket * LANES + lane]! % prime !== 0))
        found.push({ bucket, size })
    return found
  }

  #add(key: Bytes, amount: number, value: Bytes | undefined): void {
    const bucket = bucketOf(key)
    if (value !== undefined) hashValue(key, value)
    this.#sizes[bucket]!++
    for (let lane = 0; lane < LANES; lane++) {
      const prime = PRIMES[lane]!
      const index = bucket * LANES + lane
      this.#sums[index] = (this.#sums[index]! + (amount % prime) * fingerprint(lane)) % prime
    }
  }
}

/** A key with everything that both sides emitted for it. */
export interface ComparedKey {
  readonly key: Bytes
  expected: number
  actual: number
  /** The values of the expected index entries: one for each record that claims the key. */
  readonly expectedValues: Bytes[]
  actualValue: Bytes | undefined
}

/** Compares the keys of a few buckets one by one, in memory that grows with them. */
export class ExactComparison implements Comparison {
  readonly #buckets = new Set<number>()
  readonly #keys = new Map<string, ComparedKey>()

  addBucket(bucket: number): void {
    this.#buckets.add(bucket)
  }

  readonly expected: Emit = (key, amount, value) => {
    const compared = this.#compared(key)
    if (compared === undefined) return
    compared.expected += amount
    if (value !== undefined) compared.expectedValues.push(new Uint8Array(value))
  }

  readonly actual: Emit = (key, amount, value) => {
    const compared = this.#compared(key)
    if (compared === undefined) return
    compared.actual += amount
    if (value !== undefined) compared.actualValue = new Uint8Array(value)
  };

  *differences(): Iterable<ComparedKey> {
    for (const compared of this.#keys.values()) if (!agrees(compared)) yield compared
  }

  /** Copies the key, since drivers may hand out a part of a larger buffer. */
  #compared(key: Bytes): ComparedKey | undefined {
    if (!this.#buckets.has(bucketOf(key))) return undefined
    const text = keyText(key)
    let compared = this.#keys.get(text)
    if (compared === undefined) {
      compared = {
        key: new Uint8Array(key),
        expected: 0,
        actual: 0,
        expectedValues: [],
        actualValue: undefined,
      }
      this.#keys.set(text, compared)
    }
    return compared
  }
}

const agrees = ({ expected, actual, expectedValues: [value], actualValue }: ComparedKey): boolean =>
  expected === actual &&
  (value === undefined || actualValue === undefined
    ? value === actualValue
    : Buffer.compare(value, actualValue) === 0)

/**
 * The state of the hash of the last key, and of its value. Own code, because a hash of node:crypto takes six
 * times as long for texts this short.
 */
let [first, second] = [0, 0]

const mix = (bytes: Bytes): void => {
  let [left, right] = [first, second]
  for (let index = 0; index < bytes.length; index++) {
    left = Math.imul(left ^ bytes[index]!, 0x01000193)
    right = Math.imul((right << 7) ^ (right >>> 25) ^ bytes[index]!, 0x5bd1e995)
  }
  first = left
  second = right
}

/** Depends on the key alone, so that everything that is emitted for a key meets in one bucket. */
const bucketOf = (key: Bytes): number => {
  first = 0x811c9dc5
  second = 0x3c6ef372
  mix(key)
  return avalanche(first ^ second) & (BUCKETS - 1)
}

/**
 * Goes on from the hash of the key, scrambled, so that two entries that exchange their values change the sum.
 */
const hashValue = (key: Bytes, value: Bytes): void => {
  first = avalanche(first + key.length)
  second = avalanche(second)
  mix(value)
}

/** 26 bits of the hash, different ones for each lane. */
const fingerprint = (lane: number): number =>
  avalanche(first ^ avalanche(Math.imul(second, ODD[lane]!) + lane)) >>> 6

/** Makes every bit of the result depend on every bit of the number. */
const avalanche = (number: number): number => {
  let mixed = Math.imul(number ^ (number >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}
