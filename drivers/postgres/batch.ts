import { type Bytes, deferred, keyText, WriteBuffer } from '../../lib/storage/index.ts'
import type { Connections } from './connections.ts'
import type { Deadline } from './deadline.ts'
import { isConflict, isLockShortage, isLost, tooManyConflicts, toStorageError } from './errors.ts'
import { backoff, LockWaits, MAX_BROKEN_CONNECTIONS, recoverOutcome, tooManyBroken } from './plain.ts'
import type { Writer } from './primary.ts'
import { isKeyQuery, keyQuery, keyResult, nextKey, type Query, type QueryResult } from './queries.ts'
import { isSameResult, type QueryCache, type ReadSet } from './query-cache.ts'
import { byteaArray, bytesOf, type Row, splitChanges } from './statements.ts'

/** `stale`: the database has other results than the read set, and nothing was written. */
export type BatchResult = 'committed' | 'stale' | { error: unknown }

/** Keys read and written by one batch. */
const MAX_BATCH_KEYS = 2000
/**
 * Times that a batch is sent unchanged: a concurrent transaction need not have changed what the batch has
 * read.
 */
const MAX_SENDS = 20
/** First column of the rows of the commit statement. */
const ROW = { COMMITTED: '0', STALE_KEY: '1' }

/** Write transactions that are committed together: the union of their changes and of their read sets. */
export class Batch {
  readonly changes = new WriteBuffer()
  readonly #settlement = deferred<BatchResult>()
  readonly result = this.#settlement.promise
  readonly settle = this.#settlement.resolve
  readonly #connections: Connections
  readonly #cache: QueryCache
  readonly #readSet: ReadSet = new Map()
  readonly #deadlines: Deadline[] = []
  /** Two transactions have read different results for one query, so one of the results is stale. */
  #hasContradiction = false

  constructor(connections: Connections, cache: QueryCache) {
    this.#connections = connections
    this.#cache = cache
  }

  get isFull(): boolean {
    return this.changes.size + this.#readSet.size > MAX_BATCH_KEYS
  }

  add(readSet: ReadSet, changes: WriteBuffer, deadline: Deadline): void {
    this.#deadlines.push(deadline)
    for (const [id, known] of readSet) {
      const other = this.#readSet.get(id)
      if (other === undefined) this.#readSet.set(id, known)
      else if (!isSameResult(other.result, known.result)) this.#hasContradiction = true
    }
    this.changes.merge(changes)
  }

  /**
   * Validates and commits in one round trip. A batch without changes is committed, too: only a commit proves
   * that the server is still the primary, whose reads the transactions rely on.
   * @param onConflict called after each conflict with a concurrent transaction, before the batch is sent
   * again
   */
  async commit(onConflict: () => Promise<void>): Promise<BatchResult> {
    try {
      if (this.#hasContradiction) return 'stale'
      const result = await this.#sendUntilDecided(onConflict)
      if (result === 'committed') this.#cache.setChanges(this.changes.changes())
      return result
    } catch (cause) {
      return { error: toStorageError(undefined, cause) }
    }
  }

  async #sendUntilDecided(onConflict: () => Promise<void>): Promise<'committed' | 'stale'> {
    const ranges = rangesOf(this.#readSet)
    const expected = expectedParameters(this.#readSet, ranges)
    const { putKeys, putValues, deletes } = splitChanges(this.changes.changes())
    const changes = [putKeys, putValues, deletes].map(byteaArray)
    const lockWaits = new LockWaits()
    let broken = 0
    for (let attempt = 0; attempt < MAX_SENDS; attempt++) {
      const time = this.#cache.tick()
      const sent = await this.#send((writer) => [...expected, writer.id, ++writer.lastWrite, ...changes])
      if (sent === 'committed') return sent
      this.#resetDeadlines()
      if (sent === 'refused') return 'stale'
      if (sent === 'no locks') {
        await lockWaits.wait()
        attempt--
        continue
      }
      if (sent === 'lost') {
        if (++broken === MAX_BROKEN_CONNECTIONS) throw tooManyBroken()
        continue
      }
      if (sent.length > 0) {
        await this.#cacheActualResults(sent, ranges, time)
        return 'stale'
      }
      await onConflict()
      await backoff(attempt)
    }
    throw tooManyConflicts()
  }

  #resetDeadlines(): void {
    for (const deadline of this.#deadlines) deadline.reset()
  }

  /**
   * @returns the results that differ from the read set; none when nothing was written and the batch can be
   *   sent again, `lost` when that is so because the connection broke, `no locks` because the server has no
   *   room for its locks; `refused` when a transaction of the
   *   batch has been refused meanwhile, so that the others have to form another batch
   */
  async #send(
    parameters: (writer: Writer) => unknown[],
  ): Promise<readonly Row[] | 'committed' | 'refused' | 'lost' | 'no locks'> {
    let used: Writer | undefined
    try {
      return await this.#connections.withWriter(async (session, writer) => {
        const isInTime = this.#deadlines.every((deadline) => deadline.markSent())
        if (!isInTime) return 'refused'
        used = writer
        const rows = await session.run(this.#connections.statements.commit, parameters(writer))
        if (rows[0]?.[0] === ROW.COMMITTED) return 'committed'
        // The writer is fenced (`recoverOutcome`), or a pooler has dropped the setting
        // `default_transaction_isolation`.
        if (rows.length === 0) session.discard()
        return rows
      })
    } catch (error) {
      if (isConflict(error)) return []
      if (isLockShortage(error)) return 'no locks'
      if (used === undefined || !isLost(error)) throw error
      return (await recoverOutcome(this.#connections, used)) ? 'committed' : 'lost'
    }
  }

  /**
   * Caches the values that came with the refusal, and reads changed ranges again, so that the next run is
   * current.
   */
  async #cacheActualResults(rows: readonly Row[], ranges: readonly ReadRange[], time: number): Promise<void> {
    const changed = new Set<string>()
    for (const [kind, text, value] of rows) {
      const key = bytesOf(text!)
      changed.add(keyText(key))
      const result = keyResult(key, value == null ? undefined : bytesOf(value))
      if (kind === ROW.STALE_KEY) this.#cache.set({ query: keyQuery(key), result, time })
    }
    const hasChanged = ({ start, result }: ReadRange) =>
      changed.has(keyText(start)) || result.some(([key]) => changed.has(keyText(key)))
    const queries = ranges.filter(hasChanged).map(({ query }) => query)
    if (queries.length > 0) await this.#cache.fetch(queries)
  }
}

/** A range query with its result, and the bounds between which this result is complete. */
interface ReadRange {
  readonly query: Query
  readonly result: QueryResult
  readonly start: Bytes
  readonly end: Bytes
}

const rangesOf = (readSet: ReadSet): ReadRange[] =>
  [...readSet.values()]
    .filter(({ query }) => !isKeyQuery(query))
    .map(({ query, result }) => ({ query, result, ...boundsOf(query, result) }))

/** A full page tells nothing about the range beyond its last entry. */
const boundsOf = ({ start, end, reverse, limit }: Query, result: QueryResult) => {
  const last = result.at(-1)?.[0]
  if (last === undefined || result.length < limit) return { start, end: end! }
  return reverse ? { start: last, end: end! } : { start, end: nextKey(last) }
}

/**
 * The first parameters of the commit statement. A range is unchanged when its entries and their number are.
 */
const expectedParameters = (readSet: ReadSet, ranges: readonly ReadRange[]): unknown[] => {
  const expected: [key: Bytes, value: Bytes | undefined][] = []
  for (const { query, result } of readSet.values())
    if (isKeyQuery(query)) expected.push([query.start, result[0]?.[1]])
    else for (const [key, value] of result) expected.push([key, value])
  return [
    byteaArray(expected.map(([key]) => key)),
    byteaArray(expected.map(([, value]) => value)),
    byteaArray(ranges.map(({ start }) => start)),
    byteaArray(ranges.map(({ end }) => end)),
    ranges.map(({ result }) => result.length),
  ]
}
