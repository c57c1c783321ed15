import { LRUCache } from 'lru-cache'
import {
  type Bytes,
  compareKeys,
  deferred,
  keyText,
  RangeIndex,
  StorageError,
} from '../../lib/storage/index.ts'
import type { Connections } from './connections.ts'
import { isLost, toStorageError } from './errors.ts'
import { MAX_BROKEN_CONNECTIONS } from './plain.ts'
import { isKeyQuery, keyQuery, keyResult, type Query, type QueryResult, runQueries } from './queries.ts'

export interface CachedResult {
  readonly query: Query
  readonly result: QueryResult
  /** A number from `tick`: the database was asked after every call of `tick` that returned a lower number. */
  readonly time: number
  /**
   * Whether this process has changed the range since. A read finds that out when it validates; a write would
   * be refused.
   */
  isOutdated?: boolean
}

export type ReadSet = Map<string, CachedResult>

/** Statements in flight at once. Queries that arrive meanwhile share the next statement. */
const CONCURRENCY = 2
/** Queries per statement. */
const MAX_BATCH_QUERIES = 500

interface ReadBatch {
  readonly queries: Map<string, Query>
  readonly expected: Map<string, CachedResult>
  readonly results: Promise<ReadSet>
  readonly settle: (results: Promise<ReadSet>) => void
}

/**
 * Earlier results of queries, and the way to fresh ones. Entries may be stale: their users validate them
 * before the transaction ends, so a stale entry costs a round trip and never produces a wrong result.
 */
export class QueryCache {
  readonly #connections: Connections
  readonly #results: LRUCache<string, CachedResult>
  readonly #ranges = new RangeIndex()
  #time = 0
  #waiting: ReadBatch[] = []
  #inFlight = 0

  /** @param maxBytes size of the cached results */
  constructor(connections: Connections, maxBytes: number) {
    this.#connections = connections
    this.#results = new LRUCache({
      maxSize: maxBytes,
      // Keeps one large result from evicting most others. lru-cache takes whole numbers from 1 only.
      maxEntrySize: Math.max(1, Math.floor(maxBytes / 64)),
      sizeCalculation: cachedSize,
      dispose: ({ query }) => {
        if (!isKeyQuery(query)) this.#ranges.remove(boundsOf(query), query.id)
      },
    })
  }

  /** Advances the logical clock. */
  tick(): number {
    return ++this.#time
  }

  get(id: string): CachedResult | undefined {
    return this.#results.get(id)
  }

  /** Keeps a result unless a later one is cached. */
  set(result: CachedResult): void {
    const cached = this.#results.peek(result.query.id)
    if (cached !== undefined && cached.time > result.time) return
    const { query } = result
    this.#results.set(query.id, result)
    if (!isKeyQuery(query) && this.#results.has(query.id)) this.#ranges.add(boundsOf(query), query.id)
  }

  /** Keeps what a write of this process has committed. */
  setChanges(changes: Iterable<readonly [key: Bytes, value: Bytes | undefined]>): void {
    const time = this.tick()
    for (const [key, value] of changes) {
      const query = keyQuery(key)
      this.set({ query, result: keyResult(key, value), time })
      for (const id of this.#ranges.namesAt(query.id)) {
        const range = this.#results.peek(id)
        if (range !== undefined) range.isOutdated = true
      }
    }
  }

  /**
   * Reads from the database and caches the results. Concurrent calls share a statement, whose snapshot is
   * later than all of these calls.
   * @param expected earlier results to validate
   * @returns the results of all `queries` and `expected` (and possibly of others), from one snapshot
   */
  fetch(queries: Iterable<Query>, expected: Iterable<CachedResult> = []): Promise<ReadSet> {
    const batch = this.#openBatch()
    for (const query of queries) batch.queries.set(query.id, query)
    for (const result of expected) expectResult(batch, result)
    return batch.results
  }

  #openBatch(): ReadBatch {
    const last = this.#waiting.at(-1)
    if (last !== undefined && last.queries.size + last.expected.size < MAX_BATCH_QUERIES) return last
    const batch = newBatch()
    this.#waiting.push(batch)
    // Calls of the same turn of the event loop join the batch.
    if (this.#inFlight < CONCURRENCY) setImmediate(() => this.#sendNext())
    return batch
  }

  async #sendNext(): Promise<void> {
    const batch = this.#inFlight < CONCURRENCY ? this.#waiting.shift() : undefined
    if (batch === undefined) return
    this.#inFlight++
    batch.settle(this.#run(batch))
    await batch.results.catch(() => undefined)
    this.#inFlight--
    void this.#sendNext()
  }

  async #run({ queries, expected }: ReadBatch): Promise<ReadSet> {
    const time = this.tick()
    const fresh = await this.#query([...queries.values()], [...expected.values()])
    const results: ReadSet = new Map()
    for (const [id, { query, result }] of expected) results.set(id, { query, result, time })
    for (const [id, result] of fresh) {
      const query = queries.get(id) ?? expected.get(id)!.query
      results.set(id, { query, result, time })
    }
    for (const [id, result] of results) if (fresh.has(id) || !this.#results.has(id)) this.set(result)
    return results
  }

  async #query(queries: Query[], expected: CachedResult[]): Promise<Map<string, QueryResult>> {
    for (let attempt = 1; ; attempt++)
      try {
        return await runQueries(this.#connections, this.#connections.statements, queries, expected)
      } catch (error) {
        // A connection of the pool that broke. A StorageError means that none could be had.
        const canRetry = isLost(error) && !(error instanceof StorageError) && attempt < MAX_BROKEN_CONNECTIONS
        if (!canRetry) throw toStorageError(undefined, error)
      }
  }
}

/** Ranges are read again. So is a key for which two calls expect different results. */
const expectResult = ({ queries, expected }: ReadBatch, cached: CachedResult): void => {
  const { query, result } = cached
  if (queries.has(query.id)) return
  const other = expected.get(query.id)
  if (!isKeyQuery(query) || (other !== undefined && !isSameResult(other.result, result)))
    queries.set(query.id, query)
  else if (other === undefined) expected.set(query.id, cached)
}

/** @param query of a range */
const boundsOf = ({ start, end }: Query) => ({ start: keyText(start), end: keyText(end!) })

const newBatch = (): ReadBatch => {
  const { promise: results, resolve: settle } = deferred<ReadSet>()
  // Each caller handles the rejection. When no caller waits any more, it must not end the process.
  results.catch(() => undefined)
  return { queries: new Map(), expected: new Map(), results, settle }
}

/** Estimated memory of a map entry and its objects, besides the bytes of keys and values. */
const ENTRY_OVERHEAD = 300

const cachedSize = ({ query, result }: CachedResult): number => {
  let size = ENTRY_OVERHEAD + query.id.length
  for (const [key, value] of result) size += key.length + value.length + ENTRY_OVERHEAD
  return size
}

export const isSameResult = (left: QueryResult, right: QueryResult): boolean =>
  left === right ||
  (left.length === right.length &&
    left.every(([key, value], index) => {
      const [otherKey, otherValue] = right[index]!
      return compareKeys(key, otherKey) === 0 && compareKeys(value, otherValue) === 0
    }))
