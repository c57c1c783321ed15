import type { Bytes, Entry, KeyRange } from './driver.ts'

/** A change that is not yet in the database; an undefined value is a deletion. */
export type PendingChange = readonly [key: Bytes, value: Bytes | undefined]

/** The order of keys. */
export const compareKeys = (left: Bytes, right: Bytes): number => Buffer.compare(left, right)

/** A key as a string with one character per byte, for maps and sets, which compare arrays by identity. */
export const keyText = (key: Bytes): string =>
  Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('latin1')

/** Puts and deletes that hide older data: a transaction's own writes, or a batch that is being written to disk. */
export class WriteBuffer {
  readonly #changes = new Map<string, PendingChange>()
  /** Kept sorted from the first range on, so that alternating puts and ranges do not sort everything each time. */
  #sorted: PendingChange[] | undefined

  get size(): number {
    return this.#changes.size
  }

  set(key: Bytes, value: Bytes | undefined): void {
    this.#set(keyText(key), [key, value])
  }

  get(text: string): PendingChange | undefined {
    return this.#changes.get(text)
  }

  /** Applies the changes of a newer buffer. */
  merge(newer: WriteBuffer): void {
    for (const [text, change] of newer.#changes) this.#set(text, change)
  }

  changes(): Iterable<PendingChange> {
    return this.#changes.values()
  }

  /** The changes with start <= key < end, in order. */
  within({ start, end }: KeyRange): PendingChange[] {
    this.#sorted ??= [...this.#changes.values()].sort(([left], [right]) => compareKeys(left, right))
    return this.#sorted.slice(lowerBound(this.#sorted, start), lowerBound(this.#sorted, end))
  }

  #set(text: string, change: PendingChange): void {
    if (this.#sorted !== undefined)
      this.#sorted.splice(lowerBound(this.#sorted, change[0]), this.#changes.has(text) ? 1 : 0, change)
    this.#changes.set(text, change)
  }
}

const lowerBound = (sorted: readonly PendingChange[], key: Bytes): number => {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compareKeys(sorted[middle]![0], key) < 0) low = middle + 1
    else high = middle
  }
  return low
}

/** The changes of all buffers within a range, in its order. The first buffer is the newest and wins. */
export const changesWithin = (layers: readonly WriteBuffer[], range: KeyRange): PendingChange[] => {
  const found = layers.map((layer) => layer.within(range)).filter((changes) => changes.length > 0)
  const changes = found.length > 1 ? merged(found).within(range) : (found[0] ?? [])
  return range.reverse ? changes.reverse() : changes
}

const merged = (newestFirst: readonly PendingChange[][]): WriteBuffer => {
  const layer = new WriteBuffer()
  for (const changes of [...newestFirst].reverse()) for (const [key, value] of changes) layer.set(key, value)
  return layer
}

/** The entries of a range as they will be when the changes are written. */
export async function* mergedRange(
  changes: readonly PendingChange[],
  older: AsyncIterable<Entry>,
  { reverse = false, limit = Number.POSITIVE_INFINITY }: KeyRange,
): AsyncIterable<Entry> {
  let remaining = limit
  for await (const entry of interleave(changes, older, reverse)) {
    yield entry
    if (--remaining <= 0) return
  }
}

async function* interleave(
  changes: readonly PendingChange[],
  older: AsyncIterable<Entry>,
  reverse: boolean,
): AsyncIterable<Entry> {
  let index = 0
  for await (const entry of older) {
    const next = firstChangeAfter(entry[0], changes, index, reverse)
    const isHidden = next > index && compareKeys(changes[next - 1]![0], entry[0]) === 0
    for (; index < next; index++) {
      const [key, value] = changes[index]!
      if (value !== undefined) yield [key, value]
    }
    if (!isHidden) yield entry
  }
  for (const [key, value] of changes.slice(index)) if (value !== undefined) yield [key, value]
}

/** The index of the first change, counted from `index`, that the range has after the key. */
const firstChangeAfter = (
  key: Bytes,
  changes: readonly PendingChange[],
  index: number,
  reverse: boolean,
): number => {
  let next = index
  for (; next < changes.length; next++) {
    const order = compareKeys(changes[next]![0], key)
    if (reverse ? order < 0 : order > 0) break
  }
  return next
}
