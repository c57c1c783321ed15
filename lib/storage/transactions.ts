import type { Bytes, Entry, KeyRange, ReadTransaction, WriteTransaction } from './driver.ts'
import { changesWithin, keyText, mergedRange, WriteBuffer } from './write-buffer.ts'

/** A read transaction that rejects every use after `end`, so that a callback cannot use it after it has settled. */
export const guarded = (source: ReadTransaction): { tx: ReadTransaction; end: () => void } => {
  const { check, end } = createGuard()
  const tx: ReadTransaction = {
    async get(key) {
      check()
      return source.get(checkedKey(key))
    },
    async getMany(keys) {
      check()
      return source.getMany(keys.map(checkedKey))
    },
    range: (range) => guardedRange(source, range, check),
  }
  return { tx, end }
}

/** A write transaction that collects its changes in a buffer, and whose reads include them. */
export const buffered = (
  source: ReadTransaction,
  layers: readonly WriteBuffer[],
): { tx: WriteTransaction; end: () => void; buffer: WriteBuffer } => {
  const buffer = new WriteBuffer()
  const reading = guarded(readThrough(source, [buffer, ...layers]))
  const { check, end } = createGuard()
  const tx: WriteTransaction = {
    ...reading.tx,
    put(key, value) {
      check()
      buffer.set(copyOf(checkedKey(key)), copyOf(value))
    },
    delete(key) {
      check()
      buffer.set(copyOf(checkedKey(key)), undefined)
    },
  }
  const endBoth = () => {
    reading.end()
    end()
  }
  return { buffer, tx, end: endBoth }
}

const createGuard = (): { check: () => void; end: () => void } => {
  let ended = false
  return {
    check() {
      if (ended) throw new Error('a transaction was used after its callback had settled')
    },
    end() {
      ended = true
    },
  }
}

/** Reads from the newest buffer that has the key, and otherwise from the source. */
const readThrough = (source: ReadTransaction, layers: readonly WriteBuffer[]): ReadTransaction => {
  const pending = (key: Bytes) => {
    const text = keyText(key)
    for (const layer of layers) {
      const change = layer.get(text)
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
      const absent = keys.filter((_, index) => changes[index] === undefined)
      const older = absent.length === 0 ? [] : await source.getMany(absent)
      let next = 0
      return changes.map((change) => (change === undefined ? older[next++] : change[1]))
    },
    range(range) {
      const changes = changesWithin(layers, range)
      if (changes.length === 0) return source.range(range)
      // Each change hides at most one older entry.
      const { limit = Number.POSITIVE_INFINITY } = range
      return mergedRange(changes, source.range({ ...range, limit: limit + changes.length }), range)
    },
  }
}

/** Written by hand since an async generator is slower: see prefetch.ts. */
const guardedRange = (source: ReadTransaction, range: KeyRange, check: () => void): AsyncIterable<Entry> => ({
  [Symbol.asyncIterator]() {
    let entries: AsyncIterator<Entry> | undefined
    const isEmpty = isEmptyRange(range)
    const leave = async (): Promise<IteratorReturnResult<undefined>> => {
      await entries?.return?.()
      return { done: true, value: undefined }
    }
    const refuse = async (error: unknown): Promise<never> => {
      await leave()
      throw error
    }
    return {
      next() {
        try {
          check()
        } catch (error) {
          return refuse(error)
        }
        if (isEmpty) return leave()
        entries ??= source.range(range)[Symbol.asyncIterator]()
        return entries.next()
      },
      return: leave,
    }
  },
})

const isEmptyRange = ({ start, end, limit }: KeyRange): boolean =>
  (limit !== undefined && limit <= 0) || Buffer.compare(start, end) >= 0

const checkedKey = (key: Bytes): Bytes => {
  if (key.length === 0) throw new TypeError('a key must have at least one byte')
  return key
}

/** Not `slice`, which for a Buffer shares the memory. */
const copyOf = (bytes: Bytes): Bytes => new Uint8Array(bytes)
