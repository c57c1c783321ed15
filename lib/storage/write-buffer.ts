import type { Bytes, Entry, KeyRange } from './driver.ts'

/** A change that is not in the database yet; a value of undefined is a deletion. */
export type PendingChange = readonly [key: Bytes, value: Bytes | undefined]

/** Keys as unsigned bytes. */
export const compareKeys = (left: Bytes, right: Bytes): number => Buffer.compare(left, right)

/** A map needs keys that are compared by content: one character for each byte. */
export const keyText = (key: Bytes): string =>
  Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('latin1')

/** Puts and deletes over something older: a transaction's own writes, or a batch on its way to the disk. */
export class WriteBuffer {
  readonly #changes = new Map<string, PendingChange>()
  /** Kept from the first range on, so that work which puts and ranges in turns does not sort everything each time. */
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

  /** Takes over what a newer layer says. */
  merge(newer: WriteBuffer): void {
    for (const [text, change] of newer.#changes) this.#set(text, change)
  }

  changes(): Iterable<PendingChange> {
    return this.#changes.values()
  }

  /** The changes with start <= key < end, in order. */
  within({ start, end }: KeyRange): PendingChange[] {
    this.#sorted ??= [...this.#changes.values()].sort(([one], [other]) => compareKeys(one, other))
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

/** What the layers say together, the first of them being the newest; in the order of the range. */
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

/** The entries of a range as they will be once the changes are written. */
export async function* mergedRange(
  changes: readonly PendingChange[],
  older: AsyncIterable<Entry>,
  { reverse = false, limit = Number.POSITIVE_INFINITY }: KeyRange,
): AsyncIterable<Entry> {
  let left = limit
  for await (const entry of interleave(changes, older, reverse)) {
    yield entry
    if (--left <= 0) return
  }
}

async function* interleave(
  changes: readonly PendingChange[],
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
