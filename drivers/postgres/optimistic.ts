import { guarded, type ReadTransaction } from '../../lib/storage/index.ts'
import { type Outcome, outcomeOf } from './plain.ts'
import { type Query, type QueryResult, readTransaction } from './queries.ts'
import { type CachedResult, isSameResult, type QueryCache, type ReadSet } from './query-cache.ts'

/**
 * A transaction that reads more entries is run by the plain engine: each validation would compare all of them
 * again.
 */
export const MAX_READ_SET = 1000
/**
 * Fetches of one run. With more, the plain engine is cheaper, since each fetch validates all reads before it.
 */
const MAX_FETCHES = 8
/** Runs of a read before the plain engine takes over, where other writes cannot invalidate it. */
const MAX_READ_RUNS = 3

/** Whether the results are still what they were when they were read. */
const isUnchanged = (readSet: Iterable<CachedResult>, current: ReadSet): boolean => {
  for (const { query, result } of readSet)
    if (!isSameResult(result, current.get(query.id)!.result)) return false
  return true
}

/**
 * Thrown into the callback of a run that was aborted. Catching it in the callback does not rescue the run.
 */
class Aborted extends Error {
  override readonly message = 'this run of the transaction was aborted and will be repeated'
}

type AbortReason =
  /** A read was not in memory, in a run that must not wait. */
  | { reason: 'miss' }
  | { reason: 'too large' }
  /** The database has other results than the read set. */
  | { reason: 'stale'; current: ReadSet }
  | { reason: 'failed'; error: unknown }

/** A time before every result of the database. */
const NEVER = -1

/**
 * One run of a callback over cached results, which collects the read set. A read that is not in memory is
 * fetched together with a validation of the whole read set, so the read set is always consistent; a run whose
 * validation fails is aborted.
 */
export class OptimisticTransaction {
  readonly readSet: ReadSet = new Map()
  readonly #cache: QueryCache
  readonly #lookup: (query: Query) => CachedResult | undefined
  readonly #onMiss: 'fetch' | 'assume absent' | 'abort'
  #size = 0
  #fetches = 0
  abort: AbortReason | undefined

  /** @param lookup finds a result in memory */
  constructor(
    cache: QueryCache,
    lookup: (query: Query) => CachedResult | undefined,
    onMiss: 'fetch' | 'assume absent' | 'abort',
  ) {
    this.#cache = cache
    this.#lookup = lookup
    this.#onMiss = onMiss
  }

  readonly read = async (queries: readonly Query[]): Promise<QueryResult[]> => {
    if (this.abort !== undefined) throw new Aborted()
    const misses = queries.filter((query) => !this.#readFromMemory(query))
    if (misses.length > 0) await this.#readMissing(misses)
    return queries.map(({ id }) => this.readSet.get(id)!.result)
  }

  /** @returns whether the whole read set was true at one time after `since`. */
  async validate(since: number): Promise<boolean> {
    const times = new Set<number>()
    for (const { time } of this.readSet.values()) times.add(time)
    const [time = Number.POSITIVE_INFINITY] = times
    if (this.abort === undefined && (times.size > 1 || time <= since))
      await this.#fetch([]).catch(() => undefined)
    return this.abort === undefined
  }

  #readFromMemory(query: Query): boolean {
    if (this.readSet.has(query.id)) return true
    const known = this.#lookup(query)
    if (known !== undefined) this.#add(known)
    return known !== undefined
  }

  async #readMissing(queries: readonly Query[]): Promise<void> {
    if (this.#onMiss === 'abort') this.#abortWith({ reason: 'miss' })
    if (this.#onMiss === 'fetch') await this.#fetch(queries)
    else for (const query of queries) this.#add({ query, result: [], time: NEVER })
  }

  #add(known: CachedResult): void {
    this.readSet.set(known.query.id, known)
    this.#size += 1 + known.result.length
    if (this.#size > MAX_READ_SET) this.abort ??= { reason: 'too large' }
  }

  async #fetch(queries: readonly Query[]): Promise<void> {
    if (this.abort !== undefined) throw new Aborted()
    if (++this.#fetches > MAX_FETCHES) this.#abortWith({ reason: 'too large' })
    const before = [...this.readSet.values()]
    const current = await this.#cache
      .fetch(queries, before)
      .catch((error: unknown) => this.#abortWith({ reason: 'failed', error }))
    if (!isUnchanged(before, current)) this.#abortWith({ reason: 'stale', current })
    for (const { query } of before) this.readSet.set(query.id, current.get(query.id)!)
    for (const { id } of queries) if (!this.readSet.has(id)) this.#add(current.get(id)!)
  }

  #abortWith(reason: AbortReason): never {
    this.abort ??= reason
    throw new Aborted()
  }
}

interface RunOptions {
  readonly maxRuns: number
  readonly onMiss: 'fetch' | 'assume absent'
  /** The number from `tick` at the call. All results must hold together at some moment after it. */
  readonly since: number
}

/**
 * Runs a callback until its read set is valid.
 * @param begin makes the transaction that the callback sees
 * @returns `too large` when the plain engine serves better; undefined when the read set changed during every
 * run
 */
export const runValidated = async <Tx, T>(
  cache: QueryCache,
  begin: (source: ReadTransaction) => { tx: Tx; end: () => void },
  body: (tx: Tx) => Promise<T>,
  { maxRuns, onMiss, since }: RunOptions,
): Promise<{ outcome: Outcome<T> } | 'too large' | undefined> => {
  let known: ReadSet | undefined
  for (let run = 0; run < maxRuns; run++) {
    const lookup = ({ id }: Query) => known?.get(id) ?? cache.get(id)
    const attempt = new OptimisticTransaction(cache, lookup, onMiss)
    const { tx, end } = begin(readTransaction(attempt.read))
    const outcome = await outcomeOf(body, tx)
    end()
    if (await attempt.validate(since)) return { outcome }
    const { abort } = attempt
    if (abort?.reason === 'failed') throw abort.error
    if (abort?.reason === 'too large') return 'too large'
    known = abort?.reason === 'stale' ? abort.current : undefined
  }
  return undefined
}

/**
 * Reads optimistically: one round trip validates the read set, and it is the only one when all reads are
 * cached.
 * @returns undefined when the plain engine serves better
 */
export const readOptimistic = async <T>(
  cache: QueryCache,
  body: (tx: ReadTransaction) => Promise<T>,
): Promise<Outcome<T> | undefined> => {
  const options = { maxRuns: MAX_READ_RUNS, onMiss: 'fetch', since: cache.tick() } as const
  const valid = await runValidated(cache, guarded, body, options)
  return valid === undefined || valid === 'too large' ? undefined : valid.outcome
}
