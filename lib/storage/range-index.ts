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
export const rangeText = ({ start, end }: Range): string => `${start.length} ${start}${end}`

export const getOrAdd = <V>(map: Map<string, V>, key: string, create: () => V): V => {
  const value = map.get(key) ?? create()
  map.set(key, value)
  return value
}
