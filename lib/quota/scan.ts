import { setImmediate } from 'node:timers/promises'
import { add } from '../integers.ts'
import { accounts, assignments, type OwnerUsage, ownerUsages } from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import { noUsage, type Usage } from './subjects.ts'

/** An owner, with all that an evaluation needs but the rules. */
export interface ScannedOwner {
  owner: number
  usage: Usage
  /** The names of the groups that are assigned to it. */
  assigned: string[]
}

/** So many owners are looked at before others have their turn. */
const YIELD_EVERY = 200

/**
 * Every owner, in the order of their ids and out of one snapshot. One step for each owner: what it costs does not grow
 * with the repositories and the ledger entries, for usage is kept per owner.
 */
export async function* scanOwners(tx: ReadTransaction): AsyncGenerator<ScannedOwner> {
  const usages = byOwner(ownerUsages.all(tx))
  const assigned = byOwner(assignments.all(tx))
  let seen = 0
  try {
    for await (const { id } of accounts.all(tx)) {
      if (++seen % YIELD_EVERY === 0) await setImmediate()
      const [usage] = await usages.of(id)
      yield {
        owner: id,
        usage: usage === undefined ? noUsage : withoutOwner(usage),
        assigned: (await assigned.of(id)).map(({ group }) => group),
      }
    }
  } finally {
    await Promise.all([usages.end(), assigned.end()])
  }
}

/** The sum of what every owner uses. */
export const totalUsage = async (tx: ReadTransaction): Promise<Usage> => {
  const total = { ...noUsage }
  for await (const { usage } of scanOwners(tx))
    for (const kind of Object.keys(total) as (keyof Usage)[]) total[kind] = add(total[kind], usage[kind])
  return total
}

const withoutOwner = ({ owner: _, day: __, days: ___, ...usage }: OwnerUsage): Usage => usage

/** Steps through records that lie in the order of their owners; owners are asked for in that order. */
const byOwner = <R extends { owner: number }>(records: AsyncIterable<R>) => {
  const iterator = records[Symbol.asyncIterator]()
  let ahead: IteratorResult<R> | undefined
  return {
    async of(owner: number): Promise<R[]> {
      const found: R[] = []
      ahead ??= await iterator.next()
      while (!ahead.done && ahead.value.owner <= owner) {
        if (ahead.value.owner === owner) found.push(ahead.value)
        ahead = await iterator.next()
      }
      return found
    },
    end: () => iterator.return?.(),
  }
}
