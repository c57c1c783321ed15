import type { Entry, KeyRange } from './driver.ts'
import { compareKeys, type PendingChange, WriteBuffer } from './write-buffer.ts'

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
