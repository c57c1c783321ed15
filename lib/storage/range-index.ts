/** The keys with `start <= key < end`, each as a string with one character per byte. */
export interface Range {
  readonly start: string
  readonly end: string
}

interface IndexedRange extends Range {
  readonly names: Set<string>
}

/** Characters of a prefix that select its bucket. Most written keys share them with no range. */
const PREFIX_LENGTH = 8

/** Ranges by their common prefix, and the number of prefixes of each length. */
interface Bucket {
  readonly prefixes: Map<string, Map<string, IndexedRange>>
  readonly lengths: Map<number, number>
}

/**
 * Finds the named ranges that contain a key. A range is stored by the common prefix of its ends, so a lookup tries the
 * key's prefixes of the few lengths that occur, and not every range.
 */
export class RangeIndex {
  readonly #buckets = new Map<string, Bucket>()

  add({ start, end }: Range, name: string): void {
    const prefix = commonPrefix(start, end)
    const { prefixes, lengths } = this.#bucketFor(prefix)
    let ranges = prefixes.get(prefix)
    if (ranges === undefined) {
      ranges = new Map()
      prefixes.set(prefix, ranges)
      lengths.set(prefix.length, (lengths.get(prefix.length) ?? 0) + 1)
    }
    const text = rangeText({ start, end })
    const range = ranges.get(text) ?? { start, end, names: new Set() }
    range.names.add(name)
    ranges.set(text, range)
  }

  remove(range: Range, name: string): void {
    const prefix = commonPrefix(range.start, range.end)
    const bucket = bucketOf(prefix)
    const { prefixes, lengths } = this.#buckets.get(bucket) ?? EMPTY_BUCKET
    const [ranges, text] = [prefixes.get(prefix), rangeText(range)]
    const indexed = ranges?.get(text)
    if (ranges === undefined || indexed === undefined) return
    indexed.names.delete(name)
    if (indexed.names.size > 0) return
    ranges.delete(text)
    if (ranges.size > 0) return
    prefixes.delete(prefix)
    const remaining = lengths.get(prefix.length)! - 1
    if (remaining > 0) lengths.set(prefix.length, remaining)
    else lengths.delete(prefix.length)
    if (prefixes.size === 0) this.#buckets.delete(bucket)
  }

  /** The names of all ranges that contain the key. */
  namesAt(key: string): string[] {
    const found: string[] = []
    addNamesAt(key, this.#buckets.get(SHORT_PREFIX), found)
    if (key.length >= PREFIX_LENGTH) addNamesAt(key, this.#buckets.get(bucketOf(key)), found)
    return found
  }

  #bucketFor(prefix: string): Bucket {
    const name = bucketOf(prefix)
    let bucket = this.#buckets.get(name)
    if (bucket === undefined) {
      bucket = { prefixes: new Map(), lengths: new Map() }
      this.#buckets.set(name, bucket)
    }
    return bucket
  }
}

const EMPTY_BUCKET: Bucket = { prefixes: new Map(), lengths: new Map() }

/** The bucket of prefixes that are too short for a bucket of their own. */
const SHORT_PREFIX = ''

const bucketOf = (prefix: string): string =>
  prefix.length < PREFIX_LENGTH ? SHORT_PREFIX : prefix.slice(0, PREFIX_LENGTH)

/** Adds the names of the bucket's ranges that contain the key. */
const addNamesAt = (key: string, { prefixes, lengths }: Bucket = EMPTY_BUCKET, found: string[]): void => {
  for (const length of lengths.keys()) {
    if (length > key.length) continue
    for (const { start, end, names } of prefixes.get(key.slice(0, length))?.values() ?? [])
      if (start <= key && key < end) found.push(...names)
  }
}

const commonPrefix = (start: string, end: string): string => {
  let length = 0
  while (length < start.length && start[length] === end[length]) length++
  return start.slice(0, length)
}

/** A string that identifies the range. */
export const rangeText = ({ start, end }: Range): string => `${start.length} ${start}${end}`
