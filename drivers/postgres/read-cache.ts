import { LRUCache } from 'lru-cache'
import { type Bytes, compareKeys } from '../../lib/storage/index.ts'
import { keyQuery, type Query, type QueryResult } from './queries.ts'

/** An answer, and the moment that it is from: of two, the larger number is the later one. */
export interface CachedResult {
  readonly query: Query
  readonly answer: QueryResult
  readonly moment: number
}

/**
 * What the database answered before. Nothing here is trusted: it is where work begins, and what the work has gone by is
 * compared with the database in the same round trip that reads or writes for it. So what is wrong costs a round trip,
 * never an answer.
 */
export class ReadCache {
  readonly #known: LRUCache<string, CachedResult>
  #moment = 0

  /** @param size bytes that it may take */
  constructor(size: number) {
    this.#known = new LRUCache({ maxSize: size, maxEntrySize: size / 64, sizeCalculation: sizeOf })
  }

  /** A number for now. */
  next(): number {
    return ++this.#moment
  }

  get(id: string): CachedResult | undefined {
    return this.#known.get(id)
  }

  has(id: string): boolean {
    return this.#known.has(id)
  }

  note(known: CachedResult): void {
    const before = this.#known.peek(known.query.id)
    if (before === undefined || before.moment <= known.moment) this.#known.set(known.query.id, known)
  }

  forget(id: string): void {
    this.#known.delete(id)
  }

  /** What a write has left behind. */
  noteChanges(changes: Iterable<readonly [key: Bytes, value: Bytes | undefined]>): void {
    const moment = this.next()
    for (const [key, value] of changes)
      this.note({ query: keyQuery(key), answer: value === undefined ? [] : [[key, value]], moment })
  }
}

/** What a map and its objects take besides the bytes, roughly. */
const OVERHEAD = 300

export const sizeOf = ({ query, answer }: CachedResult): number => {
  let size = OVERHEAD + query.id.length
  for (const [key, value] of answer) size += key.length + value.length + OVERHEAD
  return size
}

export const isSame = (one: QueryResult, other: QueryResult): boolean =>
  one === other ||
  (one.length === other.length &&
    one.every(([key, value], at) => {
      const [otherKey, otherValue] = other[at]!
      return compareKeys(key, otherKey) === 0 && compareKeys(value, otherValue) === 0
    }))
