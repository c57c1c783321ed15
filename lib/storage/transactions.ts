import type { Bytes, Entry, KeyRange, ReadTransaction, WriteTransaction } from './driver.ts'
import { guardedRange } from './ranges.ts'

/** A change that is not yet in the database; an undefined value is a deletion. */
export type PendingChange = readonly [key: Bytes, value: Bytes | undefined]

/** The order of keys. */
export const compareKeys = (left: Bytes, right: Bytes): number => Buffer.compare(left, right)

/** A key as a string with one character per byte, for maps and sets, which compare arrays by identity. */
export const keyText = (key: Bytes): string => {
  const bytes = key instanceof Buffer ? key : Buffer.from(key.buffer, key.byteOffset, key.byteLength)
  return bytes.toString('latin1')
}

/**
 * Puts and deletes that hide older data: a transaction's own writes, or a batch that is being written to
 * disk.
 */
export class WriteBuffer {
  readonly #changes = new Map<string, PendingChange>()
  /** The keys, as texts, in sorted runs: each is at least twice as long as the next one. */
  readonly #runs: string[][] = []
  /** The keys that came since the last range. */
  #added: string[] = []

  /** Number of keys that the buffer changes. */
  get size(): number {
    return this.#changes.size
  }

  /** Puts a value; undefined deletes the key. */
  set(key: Bytes, value: Bytes | undefined): void {
    this.#set(keyText(key), [key, value])
  }

  /** The change of a key. */
  get(text: string): PendingChange | undefined {
    return this.#changes.get(text)
  }

  /** Applies the changes of a newer buffer. */
  merge(newer: WriteBuffer): void {
    for (const [text, change] of newer.#changes) this.#set(text, change)
  }

  /** All changes, in the order in which their keys were first changed. */
  changes(): Iterable<PendingChange> {
    return this.#changes.values()
  }

  /** The changes with start <= key < end, in order. */
  within({ start, end }: KeyRange): PendingChange[] {
    this.#sortAdded()
    const [first, last] = [keyText(start), keyText(end)]
    const found = this.#runs.flatMap((run) => run.slice(lowerBound(run, first), lowerBound(run, last)))
    return found.sort().map((text) => this.#changes.get(text)!)
  }

  /** Each key is sorted a logarithmic number of times, however puts and ranges alternate. */
  #sortAdded(): void {
    if (this.#added.length === 0) return
    let run = this.#added.sort()
    while (this.#runs.length > 0 && this.#runs.at(-1)!.length < 2 * run.length)
      run = [...this.#runs.pop()!, ...run].sort()
    this.#runs.push(run)
    this.#added = []
  }

  #set(text: string, change: PendingChange): void {
    if (!this.#changes.has(text)) this.#added.push(text)
    this.#changes.set(text, change)
  }
}

/** Index of the first key that is not below the text. Texts of keys sort as the keys do. */
const lowerBound = (sorted: readonly string[], text: string): number => {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (sorted[middle]! < text) low = middle + 1
    else high = middle
  }
  return low
}

/** The changes of all buffers within a range, in its order. The first buffer is the newest and wins. */
const changesWithin = (layers: readonly WriteBuffer[], range: KeyRange): PendingChange[] => {
  const found = layers.map((layer) => layer.within(range)).filter((changes) => changes.length > 0)
  const merged = new WriteBuffer()
  if (found.length > 1) for (const [key, value] of found.reverse().flat()) merged.set(key, value)
  const changes = found.length > 1 ? merged.within(range) : (found[0] ?? [])
  return range.reverse ? changes.reverse() : changes
}

/** The entries of a range as they will be when the changes are written. */
async function* mergedRange(
  changes: readonly PendingChange[],
  older: AsyncIterable<Entry>,
  { reverse = false, limit = Number.POSITIVE_INFINITY }: KeyRange,
): AsyncIterable<Entry> {
  let remaining = limit
  for await (const entry of interleave(changes, older, reverse ? -1 : 1)) {
    yield entry
    if (--remaining <= 0) return
  }
}

async function* interleave(
  changes: readonly PendingChange[],
  older: AsyncIterable<Entry>,
  direction: 1 | -1,
): AsyncIterable<Entry> {
  let index = 0
  for await (const entry of older) {
    let isHidden = false
    for (; index < changes.length; index++) {
      const [key, value] = changes[index]!
      const order = compareKeys(key, entry[0]) * direction
      if (order > 0) break
      isHidden = order === 0
      if (value !== undefined) yield [key, value]
    }
    if (!isHidden) yield entry
  }
  for (const [key, value] of changes.slice(index)) if (value !== undefined) yield [key, value]
}

/** A transaction that ends with its callback. */
interface Guarded<T> {
  /** The transaction to pass to the callback. */
  tx: T
  /** Ends the transaction: its methods reject from now on. */
  end: () => void
}

interface Buffered extends Guarded<WriteTransaction> {
  /** The changes of the transaction so far. */
  buffer: WriteBuffer
}

/**
 * A read transaction that rejects every use after `end`, so that a callback cannot use it after it has
 * settled.
 */
export const guarded = (source: ReadTransaction): Guarded<ReadTransaction> => {
  const { check, end } = createGuard()
  return { tx: guardedReads(source, check), end }
}

/**
 * A write transaction that collects its changes in a buffer, and whose reads include them.
 * @param layers changes that the source does not have yet, the newest first
 */
export const buffered = (source: ReadTransaction, layers: readonly WriteBuffer[] = []): Buffered => {
  const buffer = new WriteBuffer()
  const { check, end } = createGuard()
  const set = (key: Bytes, value: Bytes | undefined) => {
    check()
    buffer.set(copyOf(checkedKey(key)), value)
  }
  const { get, getMany, range } = guardedReads(readThrough(source, [buffer, ...layers]), check)
  const tx: WriteTransaction = {
    get,
    getMany,
    range,
    put: (key, value) => set(key, copyOf(value)),
    delete: (key) => set(key, undefined),
  }
  return { buffer, tx, end }
}

const createGuard = (): { check: () => void; end: () => void } => {
  let hasEnded = false
  return {
    check() {
      if (hasEnded) throw new Error('a transaction was used after its callback had settled')
    },
    end() {
      hasEnded = true
    },
  }
}

/** These are not async functions, since an async function creates several promises for each key. */
const guardedReads = (source: ReadTransaction, check: () => void): ReadTransaction => ({
  get(key) {
    try {
      check()
      return source.get(checkedKey(key))
    } catch (error) {
      return Promise.reject(error)
    }
  },
  async getMany(keys) {
    check()
    return source.getMany(keys.map(checkedKey))
  },
  range: (range) => guardedRange(source, range, check),
})

/** Reads from the newest buffer that has the key, and otherwise from the source. */
const readThrough = (source: ReadTransaction, layers: readonly WriteBuffer[]): ReadTransaction => {
  const pending = (text: string) => {
    for (const layer of layers) {
      const change = layer.get(text)
      if (change !== undefined) return change
    }
    return undefined
  }
  return {
    get(key) {
      const change = pending(keyText(key))
      return change === undefined ? source.get(key) : Promise.resolve(change[1])
    },
    async getMany(keys) {
      const changes = keys.map((key) => pending(keyText(key)))
      const absent = keys.filter((_, index) => changes[index] === undefined)
      const older = absent.length === 0 ? [] : await source.getMany(absent)
      let next = 0
      return changes.map((change) => (change === undefined ? older[next++] : change[1]))
    },
    range(range) {
      const changes = changesWithin(layers, range)
      if (changes.length === 0) return source.range(range)
      // Each change hides at most one older entry.
      const { limit = Number.POSITIVE_INFINITY } = range
      return mergedRange(changes, source.range({ ...range, limit: limit + changes.length }), range)
    },
  }
}

const checkedKey = (key: Bytes): Bytes => {
  if (key.length === 0) throw new TypeError('a key must have at least one byte')
  return key
}

/** A copy of the bytes; `slice` of a Buffer would share the memory. */
const copyOf = (bytes: Bytes): Bytes => Buffer.from(bytes)
