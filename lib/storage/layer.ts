import type { Bytes, Entry, KeyRange } from './driver.ts'

/** A change that is not in the database yet; a value of undefined is a deletion. */
export type Pending = readonly [key: Bytes, value: Bytes | undefined]

/** Keys as unsigned bytes. */
export const compareKeys = (one: Bytes, other: Bytes): number => Buffer.compare(one, other)

/** Puts and deletes over something older: a transaction's own writes, or a batch on its way to the disk. */
export class Layer {
  readonly #changes = new Map<string, Pending>()
  #sorted: Pending[] | undefined

  get size(): number {
    return this.#changes.size
  }

  set(key: Bytes, value: Bytes | undefined): void {
    this.#changes.set(textOf(key), [key, value])
    this.#sorted = undefined
  }

  get(key: Bytes): Pending | undefined {
    return this.#changes.get(textOf(key))
  }

  /** Takes over what a newer layer says. */
  absorb(newer: Layer): void {
    for (const [text, change] of newer.#changes) this.#changes.set(text, change)
    this.#sorted = undefined
  }

  changes(): Iterable<Pending> {
    return this.#changes.values()
  }

  /** The changes with start <= key < end, in order. */
  within({ start, end }: KeyRange): Pending[] {
    this.#sorted ??= [...this.#changes.values()].sort(([one], [other]) => compareKeys(one, other))
    return this.#sorted.slice(firstFrom(this.#sorted, start), firstFrom(this.#sorted, end))
  }
}

/** A map needs keys that are compared by content. */
const textOf = (key: Bytes): string =>
  Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('latin1')

const firstFrom = (sorted: readonly Pending[], key: Bytes): number => {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compareKeys(sorted[middle]![0], key) < 0) low = middle + 1
    else high = middle
  }
  return low
}

/** What the layers say together, the first of them being the newest; in the order of the range. */
export const changesWithin = (layers: readonly Layer[], range: KeyRange): Pending[] => {
  const merged = new Layer()
  for (const layer of [...layers].reverse())
    for (const [key, value] of layer.within(range)) merged.set(key, value)
  const changes = merged.within(range)
  return range.reverse ? changes.reverse() : changes
}

/** The entries of a range as they will be once the changes are written. */
export async function* overlay(
  changes: readonly Pending[],
  older: AsyncIterable<Entry>,
  { reverse, limit }: KeyRange,
): AsyncIterable<Entry> {
  let left = limit ?? Number.POSITIVE_INFINITY
  for await (const [key, value] of interleave(changes, older, reverse === true)) {
    if (left-- <= 0) return
    yield [key, value]
  }
}

async function* interleave(
  changes: readonly Pending[],
  older: AsyncIterable<Entry>,
  reverse: boolean,
): AsyncIterable<Entry> {
  let at = 0
  for await (const entry of older) {
    let hidden = false
    for (; at < changes.length; at++) {
      const [key, value] = changes[at]!
      const order = reverse ? compareKeys(entry[0], key) : compareKeys(key, entry[0])
      if (order > 0) break
      if (order === 0) hidden = true
      if (value !== undefined) yield [key, value]
    }
    if (!hidden) yield entry
  }
  for (const [key, value] of changes.slice(at)) if (value !== undefined) yield [key, value]
}
