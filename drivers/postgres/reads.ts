import { LRUCache } from 'lru-cache'
import { guarded, type ReadTransaction } from '../../lib/storage/index.ts'
import { Attempt, holds, RUNS, type Seen } from './attempt.ts'
import type { Committing } from './commit.ts'
import { type Outcome, outcomeOf } from './outcome.ts'
import { readingBy } from './questions.ts'
import { type Known, sizeOf } from './recollection.ts'
import { readAtOnce } from './transactions.ts'

/** What came of some work, and all that it went by. */
interface Remembered {
  readonly outcome: Outcome<unknown>
  readonly seen: readonly Known[]
}

/** What came of work that has a name; nothing of it is trusted either. */
export class Outcomes extends LRUCache<string, Remembered> {
  /** @param size bytes that it may take; an answer takes about as much as what it was made of. */
  constructor(size: number) {
    const sizeCalculation = ({ seen }: Remembered, as: string) =>
      seen.reduce((sum, known) => sum + sizeOf(known), as.length)
    super({ maxSize: size, maxEntrySize: size / 64, sizeCalculation })
  }
}

/**
 * By what is recollected, which is compared with the database in one round trip: where it holds, as it mostly does, that
 * is the only one. Work may run again; work that has a name need not even run.
 */
export const readByRecollection = async <T>(
  house: Committing & { outcomes: Outcomes },
  work: (tx: ReadTransaction) => Promise<T>,
  as: string | undefined,
): Promise<T> => {
  const { connections, recollection, looking, outcomes } = house
  const begun = recollection.next()
  let given: Seen | undefined
  const before = as === undefined ? undefined : outcomes.get(as)
  if (before !== undefined) {
    given = await looking.ask([], before.seen)
    if (holds(before.seen, given)) return before.outcome.give() as T
  }
  for (let run = 0; run < RUNS; run++) {
    const attempt = new Attempt(recollection, looking, { begun, given })
    const { tx, end } = guarded(readingBy(attempt.ask))
    const outcome = await outcomeOf(work, tx)
    end()
    if (attempt.failure !== undefined) throw attempt.failure
    if (attempt.isTooMuch) break
    if (!attempt.isAbandoned && (await attempt.confirm())) {
      if (as !== undefined) remember(outcomes, as, { outcome, seen: [...attempt.seen.values()] })
      return outcome.give()
    }
    given = attempt.fresh
  }
  return readAtOnce(connections, work)
}

/** A refusal is not worth remembering: anybody may ask for anything. */
const remember = (outcomes: Outcomes, as: string, remembered: Remembered): void => {
  if (remembered.outcome.isRight && remembered.seen.length > 0) outcomes.set(as, remembered)
}
