/** Keys from `start` up to, and without, `end`, each as text of its bytes. */
export interface Range {
  readonly start: string
  readonly end: string
}

interface Named extends Range {
  readonly names: Set<string>
}

/**
 * Ranges with names, found by a key within them. Each lies by what its two ends have in common, so that of many thousands
 * those are looked at that begin as the key does: a handful of lengths, and not every range.
 */
export class RangeIndex {
  readonly #byBeginning = new Map<string, Map<string, Named>>()
  /** How many beginnings there are of each length. */
  readonly #lengths = new Map<number, number>()

  add({ start, end }: Range, name: string): void {
    const beginning = beginningOf(start, end)
    let ranges = this.#byBeginning.get(beginning)
    if (ranges === undefined) {
      ranges = new Map()
      this.#byBeginning.set(beginning, ranges)
      this.#lengths.set(beginning.length, (this.#lengths.get(beginning.length) ?? 0) + 1)
    }
    const text = textOf(start, end)
    const range = ranges.get(text) ?? { start, end, names: new Set() }
    range.names.add(name)
    ranges.set(text, range)
  }

  remove({ start, end }: Range, name: string): void {
    const beginning = beginningOf(start, end)
    const ranges = this.#byBeginning.get(beginning)
    const range = ranges?.get(textOf(start, end))
    if (ranges === undefined || range === undefined) return
    range.names.delete(name)
    if (range.names.size > 0) return
    ranges.delete(textOf(start, end))
    if (ranges.size > 0) return
    this.#byBeginning.delete(beginning)
    const left = this.#lengths.get(beginning.length)! - 1
    if (left > 0) this.#lengths.set(beginning.length, left)
    else this.#lengths.delete(beginning.length)
  }

  /** The names of all ranges that the key lies in. */
  namesAt(key: string): string[] {
    const found: string[] = []
    for (const length of this.#lengths.keys()) {
      if (length > key.length) continue
      for (const { start, end, names } of this.#byBeginning.get(key.slice(0, length))?.values() ?? [])
        if (start <= key && key < end) found.push(...names)
    }
    return found
  }
}

const beginningOf = (start: string, end: string): string => {
  let length = 0
  while (length < start.length && start[length] === end[length]) length++
  return start.slice(0, length)
}

const textOf = (start: string, end: string): string => `${start.length} ${start}${end}`
