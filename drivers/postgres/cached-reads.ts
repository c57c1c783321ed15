import { LRUCache } from 'lru-cache'
import { guarded, type ReadTransaction } from '../../lib/storage/index.ts'
import type { Committing } from './commit.ts'
import { holds, MAX_RUNS, OptimisticTransaction, type ReadSet } from './optimistic.ts'
import { transactionOver } from './queries.ts'
import { type CachedResult, sizeOf } from './read-cache.ts'
import { type Outcome, outcomeOf } from './result.ts'
import { readAtOnce } from './plain.ts'

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
