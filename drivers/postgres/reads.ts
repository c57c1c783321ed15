import { guarded, type ReadTransaction } from '../../lib/storage/index.ts'
import { Attempt, RUNS, type Seen } from './attempt.ts'
import type { Committing } from './commit.ts'
import { outcomeOf } from './outcome.ts'
import { readingBy } from './questions.ts'
import { readAtOnce } from './transactions.ts'

/**
 * By what is recollected, which is compared with the database in one round trip: where it holds, as it mostly does, that
 * is the only one. Work may run again.
 */
export const readByRecollection = async <T>(
  { connections, recollection, looking }: Committing,
  work: (tx: ReadTransaction) => Promise<T>,
): Promise<T> => {
  const begun = recollection.next()
  let given: Seen | undefined
  for (let run = 0; run < RUNS; run++) {
    const attempt = new Attempt(recollection, looking, { begun, given })
    const { tx, end } = guarded(readingBy(attempt.ask))
    const outcome = await outcomeOf(work, tx)
    end()
    if (attempt.failure !== undefined) throw attempt.failure
    if (attempt.isTooMuch) break
    if (!attempt.isAbandoned && (await attempt.confirm())) return outcome.give()
    given = attempt.fresh
  }
  return readAtOnce(connections, work)
}
