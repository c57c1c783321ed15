import { LRUCache } from 'lru-cache'
import type { Bytes, KeyRange, ReadTransaction } from './driver.ts'
import { type Range, RangeIndex, rangeText } from './range-index.ts'
import { keyText, type PendingChange } from './write-buffer.ts'

/** What a read came to, and all that it went by. */
interface CachedRead {
  readonly value: unknown
  readonly keys: readonly string[]
  readonly ranges: readonly Range[]
  /** Bytes of what was read. */
  readonly size: number
}

/** A read that is under way. */
interface ActiveRead {
  readonly begun: number
  readonly keys: Set<string>
  readonly ranges: Map<string, Range>
  size: number
}

/** A batch on its way to the database, or one that came there while somebody read who may not have seen it. */
interface ActiveWrite {
  readonly keys: ReadonlySet<string>
  ended: number
}

/**
 * Bytes that outcomes may take, as far as they can be told: those of keys, what an object takes or so, and twice what was
 * read, for what is made of it.
 */
const MAX_SIZE = 32 * 1024 * 1024
const ENTRY_OVERHEAD = 2000
const KEY_OVERHEAD = 300

/**
 * What named reads came to, kept for as long as nothing that they went by has been written: for a store that only this
 * process writes. A write drops what it touches before it leaves for the database, and what is read while it is under way
 * is not kept, so that no outcome is older than any answer before it.
 */
export class ReadCache {
  readonly #kept = new LRUCache<string, CachedRead>({
    maxSize: MAX_SIZE,
    sizeCalculation: ({ keys, ranges, size }, name) =>
      ENTRY_OVERHEAD +
      2 * (name.length + size) +
      keys.reduce((sum, key) => sum + key.length + KEY_OVERHEAD, KEY_OVERHEAD * ranges.length),
    dispose: (outcome, name) => this.#unlink(outcome, name),
  })
  readonly #byKey = new Map<string, Set<string>>()
  readonly #byRange = new RangeIndex()
  readonly #readings = new Set<ActiveRead>()
  readonly #flights = new Set<ActiveWrite>()
  #clock = 0

  /** What the read came to; undefined when that is not known any more. */
  get(name: string): unknown {
    return this.#kept.get(name)?.value
  }

  /**
   * Does the read and keeps what it comes to, if it may be kept.
   * @param read takes its snapshot before it first waits, and reads by what it is given around its transaction
   */
  async load<T>(
    name: string,
    read: (watch: (tx: ReadTransaction) => ReadTransaction) => Promise<T>,
  ): Promise<T> {
    const reading: ActiveRead = { begun: ++this.#clock, keys: new Set(), ranges: new Map(), size: 0 }
    this.#readings.add(reading)
    try {
      const value = await read((tx) => recordReads(tx, reading))
      // What anyone may ask for, and is not there, is not worth keeping.
      if (value !== undefined && this.#holds(reading)) this.#link(name, value, reading)
      return value
    } finally {
      this.#readings.delete(reading)
      this.#forgetFlights()
    }
  }

  /** Drops what goes by any of the keys, and keeps nothing that goes by them until they are written. */
  async invalidate(changes: Iterable<PendingChange>, write: () => Promise<void>): Promise<void> {
    const keys = new Set<string>()
    for (const [key] of changes) keys.add(keyText(key))
    const flight: ActiveWrite = { keys, ended: Number.POSITIVE_INFINITY }
    this.#flights.add(flight)
    for (const key of keys) this.#drop(key)
    try {
      await write()
    } finally {
      flight.ended = ++this.#clock
      this.#forgetFlights()
    }
  }

  #drop(key: string): void {
    for (const name of this.#byKey.get(key) ?? []) this.#kept.delete(name)
    for (const name of this.#byRange.namesAt(key)) this.#kept.delete(name)
  }

  /** Whether nothing that the reading went by was written while it went on. */
  #holds({ begun, keys, ranges }: ActiveRead): boolean {
    for (const flight of this.#flights) {
      if (flight.ended < begun) continue
      for (const key of keys) if (flight.keys.has(key)) return false
      for (const { start, end } of ranges.values())
        for (const key of flight.keys) if (start <= key && key < end) return false
    }
    return true
  }

  #link(name: string, value: unknown, reading: ActiveRead): void {
    const [keys, ranges] = [[...reading.keys], [...reading.ranges.values()]]
    this.#kept.set(name, { value, keys, ranges, size: reading.size })
    // What is too large is not kept.
    if (this.#kept.peek(name)?.value !== value) return
    for (const key of keys) namesIn(this.#byKey, key).add(name)
    for (const range of ranges) this.#byRange.add(range, name)
  }

  #unlink({ keys, ranges }: CachedRead, name: string): void {
    for (const key of keys) {
      const names = this.#byKey.get(key)
      names?.delete(name)
      if (names?.size === 0) this.#byKey.delete(key)
    }
    for (const range of ranges) this.#byRange.remove(range, name)
  }

  /** Those that came to an end before every reading under way began. */
  #forgetFlights(): void {
    // In the order of their beginning.
    const [first] = this.#readings
    const begun = first?.begun ?? Number.MAX_SAFE_INTEGER
    for (const flight of this.#flights) if (flight.ended < begun) this.#flights.delete(flight)
  }
}

const namesIn = (index: Map<string, Set<string>>, key: string): Set<string> => {
  const names = index.get(key) ?? new Set()
  index.set(key, names)
  return names
}

/** Notes all that is read; a range as a whole, however much of it is looked at. */
const recordReads = (source: ReadTransaction, reading: ActiveRead): ReadTransaction => {
  const { keys, ranges } = reading
  const measured = (value: Bytes | undefined) => {
    reading.size += value?.length ?? 0
    return value
  }
  return {
    async get(key) {
      keys.add(keyText(key))
      return measured(await source.get(key))
    },
    async getMany(wanted) {
      for (const key of wanted) keys.add(keyText(key))
      return (await source.getMany(wanted)).map(measured)
    },
    range(range: KeyRange) {
      const read = { start: keyText(range.start), end: keyText(range.end) }
      ranges.set(rangeText(read), read)
      return source.range(range)
    },
  }
}
