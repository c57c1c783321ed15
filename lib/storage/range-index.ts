/** Keys from `start` up to, and without, `end`, each as text of its bytes. */
export interface Range {
  readonly start: string
  readonly end: string
}

interface IndexedRange extends Range {
  readonly names: Set<string>
}

/** Characters of a beginning by which it is first looked for. Keys that are written mostly share them with no range. */
const PREFIX_LENGTH = 8

/** The beginnings of one area, and how many there are of each length. */
interface Bucket {
  readonly prefixes: Map<string, Map<string, IndexedRange>>
  readonly lengths: Map<number, number>
}

/**
 * Ranges with names, found by a key within them. Each lies by what its two ends have in common, so that of many thousands
 * those are looked at that begin as the key does: a handful of lengths, and not every range.
 */
export class RangeIndex {
  readonly #areas = new Map<string, Bucket>()

  add({ start, end }: Range, name: string): void {
    const prefix = commonPrefix(start, end)
    const { prefixes, lengths } = this.#areaFor(prefix)
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
    const area = bucketOf(prefix)
    const { prefixes, lengths } = this.#areas.get(area) ?? EMPTY_BUCKET
    const [ranges, text] = [prefixes.get(prefix), rangeText(range)]
    const held = ranges?.get(text)
    if (ranges === undefined || held === undefined) return
    held.names.delete(name)
    if (held.names.size > 0) return
    ranges.delete(text)
    if (ranges.size > 0) return
    prefixes.delete(prefix)
    const left = lengths.get(prefix.length)! - 1
    if (left > 0) lengths.set(prefix.length, left)
    else lengths.delete(prefix.length)
    if (prefixes.size === 0) this.#areas.delete(area)
  }

  /** The names of all ranges that the key lies in. */
  namesAt(key: string): string[] {
    const found: string[] = []
    for (const area of key.length < PREFIX_LENGTH
      ? [SHORT_PREFIX]
      : [SHORT_PREFIX, key.slice(0, PREFIX_LENGTH)]) {
      const { prefixes, lengths } = this.#areas.get(area) ?? EMPTY_BUCKET
      for (const length of lengths.keys()) {
        if (length > key.length) continue
        for (const { start, end, names } of prefixes.get(key.slice(0, length))?.values() ?? [])
          if (start <= key && key < end) found.push(...names)
      }
    }
    return found
  }

  #areaFor(prefix: string): Bucket {
    const name = bucketOf(prefix)
    let area = this.#areas.get(name)
    if (area === undefined) {
      area = { prefixes: new Map(), lengths: new Map() }
      this.#areas.set(name, area)
    }
    return area
  }
}

const EMPTY_BUCKET: Bucket = { prefixes: new Map(), lengths: new Map() }

/** Where beginnings lie that are too short for an area of their own. */
const SHORT_PREFIX = ''

const bucketOf = (prefix: string): string =>
  prefix.length < PREFIX_LENGTH ? SHORT_PREFIX : prefix.slice(0, PREFIX_LENGTH)

const commonPrefix = (start: string, end: string): string => {
  let length = 0
  while (length < start.length && start[length] === end[length]) length++
  return start.slice(0, length)
}

/** Tells ranges apart. */
export const rangeText = ({ start, end }: Range): string => `${start.length} ${start}${end}`
