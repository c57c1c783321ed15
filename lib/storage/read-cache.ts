import { LRUCache } from 'lru-cache'
import { namedCache } from '../caches.ts'
import type { Bytes, ReadTransaction } from './driver.ts'
import { getOrAdd, type Range, RangeIndex, rangeText } from './range-index.ts'
import { keyText } from './transactions.ts'

/** The result of a read, and the keys and ranges that it depends on. */
interface CachedRead {
  readonly value: unknown
  readonly keys: readonly string[]
  readonly ranges: readonly Range[]
  /** Bytes of the values that `get` and `getMany` read, and of the result as far as `load` was told. */
  readonly size: number
}

/** Another result that the cache keeps. */
export interface MadeOf {
  /** Its name in the cache. */
  readonly key: string
  /** What it is: when the cache has another one by now, what was made of it is not kept. */
  readonly value: unknown
}

/** How the result of a read is kept. */
export interface LoadOptions<T> {
  /** Bytes of the result, besides those of the values that it was made of. */
  readonly sizeOf?: (result: T) => number
  /** Other results that it was made of: it is kept as long as each of them can be, and not without one. */
  readonly madeOf?: readonly MadeOf[]
}

/** A read in progress. */
interface ActiveRead {
  readonly keys: Set<string>
  readonly ranges: Range[]
  size: number
  /** The keys of each write that ran at the same time, which the read may not have seen. */
  readonly writes: ReadonlySet<string>[]
}

/**
 * Estimated memory of the cache: keys, an overhead per object, and twice the bytes read, for the results made
 * of them.
 */
const MAX_SIZE = 64 * 1024 * 1024
const ENTRY_OVERHEAD = 2000
const KEY_OVERHEAD = 300

/**
 * Caches results of reads by cache key, for a database that only this process writes. A write removes the
 * results that depend on its keys before it begins, and a result that was read during such a write is not
 * cached. So a read never returns an older state than a read before it.
 */
export class ReadCache {
  readonly #results = namedCache(
    'reads',
    new LRUCache<string, CachedRead>({
      maxSize: MAX_SIZE,
      sizeCalculation: ({ keys, ranges, size }, cacheKey) =>
        ENTRY_OVERHEAD +
        2 * (cacheKey.length + size) +
        keys.reduce((sum, key) => sum + key.length + KEY_OVERHEAD, KEY_OVERHEAD * ranges.length),
      dispose: (result, cacheKey) => this.#unlink(result, cacheKey),
    }),
  )
  readonly #byKey = new Map<string, Set<string>>()
  readonly #byRange = new RangeIndex()
  readonly #reads = new Set<ActiveRead>()
  readonly #writes = new Set<ReadonlySet<string>>()

  /** The cached result; undefined when there is none. */
  get(cacheKey: string): unknown {
    return this.#results.get(cacheKey)?.value
  }

  /**
   * Runs a read and caches its result, unless a write during the read has changed it.
   * @param read takes its snapshot when it is called or later, and reads through the transaction that `watch`
   * returns
   */
  async load<T>(
    cacheKey: string,
    read: (watch: (tx: ReadTransaction) => ReadTransaction) => Promise<T>,
    { sizeOf = () => 0, madeOf = [] }: LoadOptions<T> = {},
  ): Promise<T> {
    const reading: ActiveRead = { keys: new Set(), ranges: [], size: 0, writes: [...this.#writes] }
    this.#reads.add(reading)
    try {
      const value = await read((tx) => recordReads(tx, reading))
      // Requests for missing records would fill the cache, so undefined is not cached.
      if (value !== undefined) {
        reading.size += sizeOf(value)
        this.#store(cacheKey, value, reading, madeOf)
      }
      return value
    } finally {
      this.#reads.delete(reading)
    }
  }

  /** Caches what was made of other results, and of nothing else that changes; `size` as in `sizeOf`. */
  keep(cacheKey: string, value: unknown, size: number, madeOf: readonly MadeOf[]): void {
    this.#store(cacheKey, value, { keys: new Set(), ranges: [], size, writes: [] }, madeOf)
  }

  /**
   * Removes the results that depend on the keys of a write which is about to be committed, and caches no such
   * result until the write has ended.
   * @param keys as texts
   * @returns ends the write
   */
  begin(keys: ReadonlySet<string>): () => void {
    this.#writes.add(keys)
    for (const reading of this.#reads) reading.writes.push(keys)
    for (const key of keys) this.#drop(key)
    return () => void this.#writes.delete(keys)
  }

  #drop(key: string): void {
    for (const cacheKey of this.#byKey.get(key) ?? []) this.#results.delete(cacheKey)
    for (const cacheKey of this.#byRange.namesAt(key)) this.#results.delete(cacheKey)
  }

  #store(cacheKey: string, value: unknown, reading: ActiveRead, madeOf: readonly MadeOf[]): void {
    const { keys, size } = reading
    const parts = madeOf.map(({ key }) => this.#results.peek(key))
    if (parts.some((part, index) => part?.value !== madeOf[index]!.value)) return
    for (const part of parts) for (const key of part!.keys) keys.add(key)
    const ranges = distinctRanges([...reading.ranges, ...parts.flatMap((part) => part!.ranges)])
    if (!isOutdated(reading, ranges)) this.#put(cacheKey, { value, keys: [...keys], ranges, size })
  }

  #put(cacheKey: string, result: CachedRead): void {
    this.#results.set(cacheKey, result)
    // The cache rejects a result that is too large.
    if (this.#results.peek(cacheKey) !== result) return
    for (const key of result.keys) getOrAdd(this.#byKey, key, () => new Set()).add(cacheKey)
    for (const range of result.ranges) this.#byRange.add(range, cacheKey)
  }

  #unlink({ keys, ranges }: CachedRead, cacheKey: string): void {
    for (const key of keys) {
      const cacheKeys = this.#byKey.get(key)
      cacheKeys?.delete(cacheKey)
      if (cacheKeys?.size === 0) this.#byKey.delete(key)
    }
    for (const range of ranges) this.#byRange.remove(range, cacheKey)
  }
}

/** Whether a write during the read has changed a key that it depends on. */
const isOutdated = ({ keys, writes }: ActiveRead, ranges: readonly Range[]): boolean =>
  writes.some((written) => {
    for (const key of keys) if (written.has(key)) return true
    for (const { start, end } of ranges) for (const key of written) if (start <= key && key < end) return true
    return false
  })

/** Records the keys and ranges that are read. */
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
    range(range) {
      ranges.push({ start: keyText(range.start), end: keyText(range.end) })
      return source.range(range)
    },
  }
}

/** Each range once. */
const distinctRanges = (ranges: readonly Range[]): Range[] => [
  ...new Map(ranges.map((range) => [rangeText(range), range])).values(),
]
