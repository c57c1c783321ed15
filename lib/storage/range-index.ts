/** Keys from `start` up to, and without, `end`, each as text of its bytes. */
export interface Range {
  readonly start: string
  readonly end: string
}

interface Named extends Range {
  readonly names: Set<string>
}

/** Characters of a beginning by which it is first looked for. Keys that are written mostly share them with no range. */
const HEAD = 8

/** The beginnings of one area, and how many there are of each length. */
interface Area {
  readonly beginnings: Map<string, Map<string, Named>>
  readonly lengths: Map<number, number>
}

/**
 * Ranges with names, found by a key within them. Each lies by what its two ends have in common, so that of many thousands
 * those are looked at that begin as the key does: a handful of lengths, and not every range.
 */
export class RangeIndex {
  readonly #areas = new Map<string, Area>()

  add({ start, end }: Range, name: string): void {
    const beginning = beginningOf(start, end)
    const { beginnings, lengths } = this.#areaFor(beginning)
    let ranges = beginnings.get(beginning)
    if (ranges === undefined) {
      ranges = new Map()
      beginnings.set(beginning, ranges)
      lengths.set(beginning.length, (lengths.get(beginning.length) ?? 0) + 1)
    }
    const text = rangeText({ start, end })
    const range = ranges.get(text) ?? { start, end, names: new Set() }
    range.names.add(name)
    ranges.set(text, range)
  }

  remove(range: Range, name: string): void {
    const beginning = beginningOf(range.start, range.end)
    const area = areaOf(beginning)
    const { beginnings, lengths } = this.#areas.get(area) ?? NOTHING
    const [ranges, text] = [beginnings.get(beginning), rangeText(range)]
    const held = ranges?.get(text)
    if (ranges === undefined || held === undefined) return
    held.names.delete(name)
    if (held.names.size > 0) return
    ranges.delete(text)
    if (ranges.size > 0) return
    beginnings.delete(beginning)
    const left = lengths.get(beginning.length)! - 1
    if (left > 0) lengths.set(beginning.length, left)
    else lengths.delete(beginning.length)
    if (beginnings.size === 0) this.#areas.delete(area)
  }

  /** The names of all ranges that the key lies in. */
  namesAt(key: string): string[] {
    const found: string[] = []
    for (const area of key.length < HEAD ? [SHORT] : [SHORT, key.slice(0, HEAD)]) {
      const { beginnings, lengths } = this.#areas.get(area) ?? NOTHING
      for (const length of lengths.keys()) {
        if (length > key.length) continue
        for (const { start, end, names } of beginnings.get(key.slice(0, length))?.values() ?? [])
          if (start <= key && key < end) found.push(...names)
      }
    }
    return found
  }

  #areaFor(beginning: string): Area {
    const name = areaOf(beginning)
    let area = this.#areas.get(name)
    if (area === undefined) {
      area = { beginnings: new Map(), lengths: new Map() }
      this.#areas.set(name, area)
    }
    return area
  }
}

const NOTHING: Area = { beginnings: new Map(), lengths: new Map() }

/** Where beginnings lie that are too short for an area of their own. */
const SHORT = ''

const areaOf = (beginning: string): string => (beginning.length < HEAD ? SHORT : beginning.slice(0, HEAD))

const beginningOf = (start: string, end: string): string => {
  let length = 0
  while (length < start.length && start[length] === end[length]) length++
  return start.slice(0, length)
}

/** Tells ranges apart. */
export const rangeText = ({ start, end }: Range): string => `${start.length} ${start}${end}`
