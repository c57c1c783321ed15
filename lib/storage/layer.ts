import type { Bytes, KeyRange } from './driver.ts'

/** A change that is not in the database yet; a value of undefined is a deletion. */
export type Pending = readonly [key: Bytes, value: Bytes | undefined]

/** Keys as unsigned bytes. */
export const compareKeys = (one: Bytes, other: Bytes): number => Buffer.compare(one, other)

/** A map needs keys that are compared by content: one character for each byte. */
export const keyText = (key: Bytes): string =>
  Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('latin1')

/** Puts and deletes over something older: a transaction's own writes, or a batch on its way to the disk. */
export class Layer {
  readonly #changes = new Map<string, Pending>()
  /** Kept from the first range on, so that work which puts and ranges in turns does not sort everything each time. */
  #sorted: Pending[] | undefined

  get size(): number {
    return this.#changes.size
  }

  set(key: Bytes, value: Bytes | undefined): void {
    this.#set(keyText(key), [key, value])
  }

  get(text: string): Pending | undefined {
    return this.#changes.get(text)
  }

  /** Takes over what a newer layer says. */
  absorb(newer: Layer): void {
    for (const [text, change] of newer.#changes) this.#set(text, change)
  }

  changes(): Iterable<Pending> {
    return this.#changes.values()
  }

  /** The changes with start <= key < end, in order. */
  within({ start, end }: KeyRange): Pending[] {
    this.#sorted ??= [...this.#changes.values()].sort(([one], [other]) => compareKeys(one, other))
    return this.#sorted.slice(firstFrom(this.#sorted, start), firstFrom(this.#sorted, end))
  }

  #set(text: string, change: Pending): void {
    if (this.#sorted !== undefined)
      this.#sorted.splice(firstFrom(this.#sorted, change[0]), this.#changes.has(text) ? 1 : 0, change)
    this.#changes.set(text, change)
  }
}

const firstFrom = (sorted: readonly Pending[], key: Bytes): number => {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compareKeys(sorted[middle]![0], key) < 0) low = middle + 1
    else high = middle
  }
  return low
}
