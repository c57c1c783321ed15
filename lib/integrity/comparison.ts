import { add, type Sum, subtract } from '../integers.ts'
import type { Bytes } from '../storage/driver.ts'

/**
 * Two sides that must agree: what ought to be (from the records) and what is (in the store). A side is told of things in
 * any order. `amount` is how much of the key; `value` is what an index entry holds.
 */
export interface Comparison {
  expected(key: Bytes, amount: Sum, value?: Bytes): void
  actual(key: Bytes, amount: Sum, value?: Bytes): void
}

const BUCKET_COUNT = 256
/** Primes below 2^26: a product of two remainders stays exact, and no difference of amounts vanishes in all of them. */
const PRIMES = [67108859, 67108837, 67108819, 67108777] as const
const LANES = PRIMES.length
const LARGE = 2 ** 52

/**
 * Sums of fingerprints, by buckets of keys: the same sum on both sides means the same things on both, whatever their
 * number, in memory that does not grow. Which of them differ is for a second look at the buckets that do.
 */
export class FingerprintComparison implements Comparison {
  readonly #sums = new Float64Array(BUCKET_COUNT * LANES)
  readonly #told = new Uint32Array(BUCKET_COUNT)

  expected(key: Bytes, amount: Sum, value?: Bytes): void {
    this.#add(key, amount, value)
  }

  actual(key: Bytes, amount: Sum, value?: Bytes): void {
    this.#add(key, subtract(0, amount), value)
  }

  /** The buckets whose sides differ, and how many things were told of each. */
  differing(): { bucket: number; told: number }[] {
    const found: { bucket: number; told: number }[] = []
    for (let bucket = 0; bucket < BUCKET_COUNT; bucket++)
      if (PRIMES.some((prime, lane) => this.#sums[bucket * LANES + lane]! % prime !== 0))
        found.push({ bucket, told: this.#told[bucket]! })
    return found
  }

  #add(key: Bytes, amount: Sum, value: Bytes | undefined): void {
    const bucket = bucketOf(key)
    fingerprint(key, value)
    this.#told[bucket]!++
    for (let lane = 0; lane < LANES; lane++) {
      const at = bucket * LANES + lane
      const prime = PRIMES[lane]!
      // A remainder costs more than all the rest, and an entry counts once: sums are cut down only when they have grown.
      const part =
        amount === 1 || amount === -1
          ? amount * fingerprintLanes[lane]!
          : (remainder(amount, prime) * fingerprintLanes[lane]!) % prime
      const sum = this.#sums[at]! + part
      this.#sums[at] = sum > LARGE || sum < -LARGE ? sum % prime : sum
    }
  }
}

const remainder = (amount: Sum, prime: number): number =>
  typeof amount === 'number' ? amount % prime : Number(amount % BigInt(prime))

/** One key, with all that both sides said of it. */
export interface ComparedKey {
  readonly key: Bytes
  expected: Sum
  actual: Sum
  /** For index entries: what the entry ought to hold, for each record that claims it, and what it holds. */
  readonly expectedValues: Bytes[]
  actualValue: Bytes | undefined
}

/** The keys of a few buckets, one by one. */
export class ExactComparison implements Comparison {
  readonly #buckets: ReadonlySet<number>
  readonly #keys = new Map<string, ComparedKey>()

  constructor(buckets: ReadonlySet<number>) {
    this.#buckets = buckets
  }

  expected(key: Bytes, amount: Sum, value?: Bytes): void {
    const one = this.#at(key)
    if (one === undefined) return
    one.expected = add(one.expected, amount)
    if (value !== undefined) one.expectedValues.push(copyOf(value))
  }

  actual(key: Bytes, amount: Sum, value?: Bytes): void {
    const one = this.#at(key)
    if (one === undefined) return
    one.actual = add(one.actual, amount)
    // What is told and taken back again is not held.
    if (value !== undefined) one.actualValue = one.actual === 0 ? undefined : copyOf(value)
  }

  *differing(): Iterable<ComparedKey> {
    for (const one of this.#keys.values()) if (!agrees(one)) yield one
  }

  #at(key: Bytes): ComparedKey | undefined {
    if (!this.#buckets.has(bucketOf(key))) return undefined
    const text = Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('latin1')
    let one = this.#keys.get(text)
    if (one === undefined) {
      one = { key: copyOf(key), expected: 0, actual: 0, expectedValues: [], actualValue: undefined }
      this.#keys.set(text, one)
    }
    return one
  }
}

const agrees = ({ expected, actual, expectedValues: [value], actualValue }: ComparedKey): boolean =>
  expected === actual &&
  (value === undefined || actualValue === undefined
    ? value === actualValue
    : Buffer.compare(value, actualValue) === 0)

/** By the key alone, so that all that is told of a key meets in one bucket. */
const bucketOf = (key: Bytes): number => {
  mix(key, 0x811c9dc5, 0x3c6ef372)
  return avalanche(state[0]! ^ state[1]!) & (BUCKET_COUNT - 1)
}

/** Two halves of a mixture that goes on from where it was: a hash from a library costs six times as much on texts this short. */
const state = new Int32Array(2)
const mix = (bytes: Bytes, seed: number, other: number): void => {
  let [one, two] = [seed, other]
  for (let at = 0; at < bytes.length; at++) {
    one = Math.imul(one ^ bytes[at]!, 0x01000193)
    two = Math.imul((two << 7) ^ (two >>> 25) ^ bytes[at]!, 0x5bd1e995)
  }
  state[0] = one
  state[1] = two
}

/** Every bit of the number decides on every bit of the result. */
const avalanche = (number: number): number => {
  let mixed = Math.imul(number ^ (number >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}

/** 26 bits for each lane. */
const fingerprintLanes = new Uint32Array(LANES)

/** To be called right after {@link bucketOf} the same key, whose mixture it goes on with. */
const fingerprint = (key: Bytes, value: Bytes | undefined): void => {
  // Where the key ends and the value begins counts, and the key is spread before the value comes: two entries that have
  // changed their values must not give the same sum.
  if (value !== undefined) mix(value, avalanche(state[0]! + key.length), avalanche(state[1]!))
  const [one, two] = [state[0]!, state[1]!]
  for (let lane = 0; lane < LANES; lane++)
    fingerprintLanes[lane] = avalanche(one ^ avalanche(Math.imul(two, ODD[lane]!) + lane)) >>> 6
}
const ODD = [0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f]

/** What the driver hands out may be a part of something larger. */
const copyOf = (bytes: Bytes): Bytes => new Uint8Array(bytes)
