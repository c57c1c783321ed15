import { LRUCache } from 'lru-cache'
import { guarded, type ReadTransaction } from '../../lib/storage/index.ts'
import type { Committing } from './batch.ts'
import { type Outcome, outcomeOf, readAtOnce } from './plain.ts'
import { type Query, type QueryResult, transactionOver } from './queries.ts'
import { type CachedResult, isSame, type ReadBatcher, type ReadCache, sizeOf } from './read-cache.ts'

/** What was asked by one run of some work, and how it was answered. */
export type ReadSet = Map<string, CachedResult>

/** Entries that are compared again with every further look, so that more than this is better read in a transaction. */
export const MAX_CACHED_RANGE = 1000
/** So are more looks than this, each of which waited for the one before it. */
const LONG = 8

/** Runs that others' writes may spoil before the work is better done in a transaction, where nothing can. */
export const MAX_RUNS = 3

/** Whether what was seen before is so at the moment of what is known. */
export const holds = (before: readonly CachedResult[], known: ReadonlyMap<string, CachedResult>): boolean =>
  before.every(({ query, answer }) => isSame(answer, known.get(query.id)!.answer))

/** Ends a run: the work is not to catch it, and when it does the run does not count all the same. */
class Abandoned extends Error {
  override readonly message = 'this run of the work is abandoned, and it will be run again'
}

/** The moment of what was never looked up. */
const UNSEEN = -1

export interface OptimisticOptions {
  /** When the work was asked for: no answer may be from before. */
  begun?: number
  /** Answers of one moment after that, better than what is recollected. */
  given?: ReadSet | undefined
  /** Takes what is not recollected for absent, instead of looking it up at once. */
  assumes?: boolean
}

/**
 * One run of some work by what is recollected. What is not recollected is looked up, together with all that was seen
 * before, so that at the last look everything seen was true at one moment; where it was not, the run does not count.
 */
export class OptimisticTransaction {
  readonly seen: ReadSet = new Map()
  readonly #recollection: ReadCache
  readonly #looking: ReadBatcher
  readonly #given: ReadSet
  readonly #begun: number
  #entries = 0
  #looks = 0
  /** What the database said when it differed. */
  fresh: ReadSet | undefined
  isTooMuch = false
  /** Of the database itself. */
  failure: unknown

  readonly #assumes: boolean

  constructor(
    readCache: ReadCache,
    batcher: ReadBatcher,
    { begun = 0, given = new Map(), assumes = false }: OptimisticOptions,
  ) {
    this.#recollection = readCache
    this.#looking = batcher
    this.#begun = begun
    this.#given = given
    this.#assumes = assumes
  }

  get isAbandoned(): boolean {
    return this.isTooMuch || this.fresh !== undefined || this.failure !== undefined
  }

  readonly ask = async (queries: readonly Query[]): Promise<QueryResult[]> => {
    if (this.isAbandoned) throw new Abandoned()
    const unknown = queries.filter((query) => !this.#recall(query))
    if (this.#assumes) for (const query of unknown) this.#see({ query, answer: [], moment: UNSEEN })
    else if (unknown.length > 0) await this.#look(unknown)
    return queries.map(({ id }) => this.seen.get(id)!.answer)
  }

  /** Whether all that was seen was true at one moment since the work was asked for. */
  async confirm(): Promise<boolean> {
    const moments = new Set(this.#moments())
    const [moment = Number.POSITIVE_INFINITY] = moments
    if (moments.size <= 1 && moment > this.#begun) return true
    await this.#look([]).catch(() => undefined)
    if (this.failure !== undefined) throw this.failure
    return !this.isAbandoned
  }

  *#moments(): Iterable<number> {
    for (const { moment } of this.seen.values()) yield moment
  }

  #recall({ id }: Query): boolean {
    if (this.seen.has(id)) return true
    const known = this.#given.get(id) ?? this.#recollection.get(id)
    if (known === undefined) return false
    this.#see(known)
    return true
  }

  #see(known: CachedResult): void {
    this.seen.set(known.query.id, known)
    this.#entries += 1 + known.answer.length
    if (this.#entries > MAX_CACHED_RANGE) this.isTooMuch = true
  }

  async #look(unknown: readonly Query[]): Promise<void> {
    if (++this.#looks > LONG) this.isTooMuch = true
    if (this.isTooMuch) throw new Abandoned()
    const before = [...this.seen.values()]
    const known = await this.#looked(unknown, before)
    if (!holds(before, known)) {
      this.fresh = known
      throw new Abandoned()
    }
    for (const { query, answer } of before)
      this.seen.set(query.id, { query, answer, moment: known.get(query.id)!.moment })
    for (const { id } of unknown) if (!this.seen.has(id)) this.#see(known.get(id)!)
  }

  async #looked(
    unknown: readonly Query[],
    before: readonly CachedResult[],
  ): Promise<Map<string, CachedResult>> {
    try {
      return await this.#looking.ask(unknown, before)
    } catch (error) {
      this.failure = error
      throw error
    }
  }
}

/** What came of some work, and all that it went by. */
interface CachedOutcome {
  readonly outcome: Outcome<unknown>
  readonly seen: readonly CachedResult[]
}

/** What came of work that has a name; nothing of it is trusted either. */
export class OutcomeCache extends LRUCache<string, CachedOutcome> {
  /** @param size bytes that it may take; an answer takes about as much as what it was made of. */
  constructor(size: number) {
    const sizeCalculation = ({ seen }: CachedOutcome, as: string) =>
      seen.reduce((sum, known) => sum + sizeOf(known), as.length)
    super({ maxSize: size, maxEntrySize: size / 64, sizeCalculation })
  }
}

/**
 * By what is recollected, which is compared with the database in one round trip: where it holds, as it mostly does, that
 * is the only one. Work may run again; work that has a name need not even run.
 */
export const readCached = async <T>(
  fixture: Committing & { results: OutcomeCache },
  work: (tx: ReadTransaction) => Promise<T>,
  as: string | undefined,
): Promise<T> => {
  const { connections, readCache, batcher, results } = fixture
  const begun = readCache.next()
  let given: ReadSet | undefined
  const before = as === undefined ? undefined : results.get(as)
  if (before !== undefined) {
    given = await batcher.ask([], before.seen)
    if (holds(before.seen, given)) return before.outcome.give() as T
  }
  for (let run = 0; run < MAX_RUNS; run++) {
    const attempt = new OptimisticTransaction(readCache, batcher, { begun, given })
    const { tx, end } = guarded(transactionOver(attempt.ask))
    const outcome = await outcomeOf(work, tx)
    end()
    if (attempt.failure !== undefined) throw attempt.failure
    if (attempt.isTooMuch) break
    if (!attempt.isAbandoned && (await attempt.confirm())) {
      if (as !== undefined) remember(results, as, { outcome, seen: [...attempt.seen.values()] })
      return outcome.give()
    }
    given = attempt.fresh
  }
  return readAtOnce(connections, work)
}

/** A refusal is not worth remembering: anybody may ask for anything. */
const remember = (results: OutcomeCache, as: string, remembered: CachedOutcome): void => {
  if (remembered.outcome.isRight && remembered.seen.length > 0) results.set(as, remembered)
}
