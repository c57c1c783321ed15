import { LRUCache } from 'lru-cache'
import { namedCache } from '../caches.ts'
import type { Bytes, Entry, KeyRange, ReadTransaction } from './driver.ts'
import { keyText } from './transactions.ts'

/** The result of a read, and the keys and ranges that it depends on. */
interface CachedRead {
  readonly value: unknown
  readonly keys: readonly string[]
  readonly ranges: readonly Range[]
  /** Bytes of the values that `get` and `getMany` read, and of the result as far as `load` was told. */
  readonly size: number
}

/** A read in progress. */
interface ActiveRead {
  readonly keys: Set<string>
  readonly ranges: ReadRange[]
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
    'replies',
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
   * @param sizeOf bytes of a result, besides those of the values that it was made of
   */
  async load<T>(
    cacheKey: string,
    read: (watch: (tx: ReadTransaction) => ReadTransaction) => Promise<T>,
    sizeOf: (result: T) => number = () => 0,
  ): Promise<T> {
    const reading: ActiveRead = { keys: new Set(), ranges: [], size: 0, writes: [...this.#writes] }
    this.#reads.add(reading)
    try {
      const value = await read((tx) => recordReads(tx, reading))
      // Requests for missing records would fill the cache, so undefined is not cached.
      if (value !== undefined) {
        reading.size += sizeOf(value)
        this.#store(cacheKey, value, reading)
      }
      return value
    } finally {
      this.#reads.delete(reading)
    }
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

  #store(cacheKey: string, value: unknown, reading: ActiveRead): void {
    const [keys, ranges] = [[...reading.keys], rangesOf(reading)]
    if (isOutdated(reading, ranges)) return
    this.#results.set(cacheKey, { value, keys, ranges, size: reading.size })
    // The cache rejects a result that is too large.
    if (this.#results.peek(cacheKey)?.value !== value) return
    for (const key of keys) getOrAdd(this.#byKey, key, () => new Set()).add(cacheKey)
    for (const range of ranges) this.#byRange.add(range, cacheKey)
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
    async *range(range) {
      const read = new ReadRange(range)
      ranges.push(read)
      for await (const entry of source.range(range)) {
        read.note(entry)
        yield entry
      }
      read.end()
    },
  }
}

/** A range as far as it was read: entries behind the last one that a read took cannot change its result. */
class ReadRange {
  readonly #range: KeyRange
  #last: Bytes | undefined
  #taken = 0
  #isComplete = false

  constructor(range: KeyRange) {
    this.#range = range
  }

  note([key]: Entry): void {
    this.#last = key
    this.#taken++
  }

  end(): void {
    this.#isComplete = this.#taken < (this.#range.limit ?? Number.POSITIVE_INFINITY)
  }

  /** Undefined when nothing was read. */
  get extent(): Range | undefined {
    const { reverse = false } = this.#range
    const [start, end] = [keyText(this.#range.start), keyText(this.#range.end)]
    if (this.#isComplete) return { start, end }
    if (this.#last === undefined) return undefined
    const last = keyText(this.#last)
    return reverse ? { start: last, end } : { start, end: `${last}\0` }
  }
}

/** The ranges of a read, each once. */
const rangesOf = ({ ranges }: ActiveRead): Range[] => {
  const distinct = new Map<string, Range>()
  for (const { extent } of ranges) if (extent !== undefined) distinct.set(rangeText(extent), extent)
  return [...distinct.values()]
}

/** The keys with `start <= key < end`, each as a string with one character per byte. */
export interface Range {
  /** The first key that can be in the range. */
  readonly start: string
  /** The first key after the range. */
  readonly end: string
}

interface NamedRange extends Range {
  readonly names: Set<string>
}

/** Ranges by the common prefix of their ends, and the lengths that these prefixes have. */
interface Bucket {
  readonly prefixes: Map<string, Map<string, NamedRange>>
  readonly lengths: Set<number>
}

/** Characters of a prefix that select its bucket. Most written keys share them with no range. */
const BUCKET_LENGTH = 8

/**
 * Finds the named ranges that contain a key. A range is stored by the common prefix of its ends, so a lookup
 * tries the key's prefixes of the few lengths that occur, and not every range.
 */
export class RangeIndex {
  readonly #buckets = new Map<string, Bucket>()

  /** Adds a range under a name; a name can have several ranges, and a range several names. */
  add(range: Range, name: string): void {
    const prefix = commonPrefix(range)
    const bucket = getOrAdd(this.#buckets, bucketOf(prefix), () => ({
      prefixes: new Map(),
      lengths: new Set(),
    }))
    bucket.lengths.add(prefix.length)
    const ranges = getOrAdd(bucket.prefixes, prefix, () => new Map<string, NamedRange>())
    getOrAdd(ranges, rangeText(range), () => ({ ...range, names: new Set() })).names.add(name)
  }

  /** Removes a range that was added with the same ends under the name. */
  remove(range: Range, name: string): void {
    const [prefix, text] = [commonPrefix(range), rangeText(range)]
    const bucket = this.#buckets.get(bucketOf(prefix))
    const ranges = bucket?.prefixes.get(prefix)
    const names = ranges?.get(text)?.names
    if (bucket === undefined || ranges === undefined || names === undefined) return
    names.delete(name)
    if (names.size === 0) ranges.delete(text)
    if (ranges.size === 0) bucket.prefixes.delete(prefix)
    if (bucket.prefixes.size === 0) this.#buckets.delete(bucketOf(prefix))
  }

  /** The names of all ranges that contain the key. */
  namesAt(key: string): string[] {
    const found: string[] = []
    addNamesAt(key, this.#buckets.get(SHORT_PREFIX), found)
    if (key.length >= BUCKET_LENGTH) addNamesAt(key, this.#buckets.get(bucketOf(key)), found)
    return found
  }
}

/** The bucket of prefixes that are too short for a bucket of their own. */
const SHORT_PREFIX = ''

const bucketOf = (prefix: string): string =>
  prefix.length < BUCKET_LENGTH ? SHORT_PREFIX : prefix.slice(0, BUCKET_LENGTH)

/** Adds the names of the bucket's ranges that contain the key. */
const addNamesAt = (key: string, bucket: Bucket | undefined, found: string[]): void => {
  for (const length of bucket?.lengths ?? []) {
    if (length > key.length) continue
    for (const { start, end, names } of bucket?.prefixes.get(key.slice(0, length))?.values() ?? [])
      if (start <= key && key < end) found.push(...names)
  }
}

const commonPrefix = ({ start, end }: Range): string => {
  let length = 0
  while (length < start.length && start[length] === end[length]) length++
  return start.slice(0, length)
}

/** A string that identifies the range. */
const rangeText = ({ start, end }: Range): string => `${start.length} ${start}${end}`

const getOrAdd = <V>(map: Map<string, V>, key: string, create: () => V): V => {
  const value = map.get(key) ?? create()
  map.set(key, value)
  return value
}
