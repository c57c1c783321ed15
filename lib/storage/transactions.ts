import type { Bytes, Entry, KeyRange, ReadTransaction, WriteTransaction } from './driver.ts'
import { changesWithin, Layer, overlay } from './layer.ts'

/** A read transaction, with a way to end it: what is used after its work has settled must not pass unnoticed. */
export const guarded = (source: ReadTransaction): { tx: ReadTransaction; end: () => void } => {
  let ended = false
  const check = () => {
    if (ended) throw new Error('a transaction was used after its work had ended')
  }
  const tx: ReadTransaction = {
    get(key) {
      check()
      return source.get(checkedKey(key))
    },
    getMany(keys) {
      check()
      return source.getMany(keys.map(checkedKey))
    },
    range(range) {
      check()
      return watched(source.range(range), check)
    },
  }
  const end = () => {
    ended = true
  }
  return { tx, end }
}

/** Changes are kept in the buffer and seen by the transaction's own reads. */
export const buffered = (
  source: ReadTransaction,
  layers: readonly Layer[],
): { tx: WriteTransaction; end: () => void; buffer: Layer } => {
  const buffer = new Layer()
  const { tx, end } = guarded(layered(source, [buffer, ...layers]))
  let ended = false
  const change = (key: Bytes, value: Bytes | undefined) => {
    if (ended) throw new Error('a transaction was used after its work had ended')
    buffer.set(checkedKey(key), value)
  }
  return {
    buffer,
    tx: { ...tx, put: (key, value) => change(key, value), delete: (key) => change(key, undefined) },
    end() {
      ended = true
      end()
    },
  }
}

/** Reads through layers, the first being the newest, down to the source. */
const layered = (source: ReadTransaction, layers: readonly Layer[]): ReadTransaction => {
  const pending = (key: Bytes) => {
    for (const layer of layers) {
      const change = layer.get(key)
      if (change !== undefined) return change
    }
    return undefined
  }
  return {
    async get(key) {
      const change = pending(key)
      return change === undefined ? source.get(key) : change[1]
    },
    async getMany(keys) {
      const changes = keys.map(pending)
      const absent = keys.filter((_, at) => changes[at] === undefined)
      const older = absent.length === 0 ? [] : await source.getMany(absent)
      let next = 0
      return changes.map((change) => (change === undefined ? older[next++] : change[1]))
    },
    range(range) {
      const changes = changesWithin(layers, range)
      if (changes.length === 0) return source.range(range)
      const { limit: _, ...unlimited } = range
      return overlay(changes, source.range(unlimited), range)
    },
  }
}

async function* watched(entries: AsyncIterable<Entry>, check: () => void): AsyncIterable<Entry> {
  for await (const entry of entries) {
    check()
    yield entry
    check()
  }
}

const checkedKey = (key: Bytes): Bytes => {
  if (key.length === 0) throw new TypeError('a key must have at least one byte')
  return key
}

export const isEmptyRange = ({ start, end, limit }: KeyRange): boolean =>
  limit === 0 || Buffer.compare(start, end) >= 0
