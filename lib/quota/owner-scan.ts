/** Reads all owners with their usage and groups: for reports, which cost a constant for each owner. */
import { setImmediate } from 'node:timers/promises'
import { assignments, ownerUsages } from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/index.ts'
import type { QuotaGroup } from './evaluate.ts'
import { groupResolver, type QuotaDefaults, readPolicy } from './status.ts'
import type { Usage } from './subjects.ts'
import { usageIn } from './usage.ts'

/** Reads the ids of all owners in ascending order. */
export type OwnerIds = (tx: ReadTransaction) => AsyncIterable<number>

/** Usage and groups of owners, for a reader that asks for the owners in ascending order of ids. */
export interface OwnerQuotas {
  of(owner: number): Promise<{ usage: Usage; groups: readonly QuotaGroup[] }>
  /** Must be called at the end. */
  end(): Promise<unknown>
}

export const ownerQuotas = async (tx: ReadTransaction, defaults: QuotaDefaults): Promise<OwnerQuotas> => {
  const groupsFor = groupResolver(await readPolicy(tx, defaults))
  const usages = joinByOwner(ownerUsages.all(tx))
  const assigned = joinByOwner(assignments.all(tx))
  return {
    of: async (owner) => {
      const [usage] = await usages.of(owner)
      const names = (await assigned.of(owner)).map(({ group }) => group)
      return { usage: usageIn(usage), groups: groupsFor(names) }
    },
    end: () => Promise.all([usages.end(), assigned.end()]),
  }
}

interface ScannedOwner {
  owner: number
  usage: Usage
  /** Names of the groups that are assigned to the owner. */
  assigned: string[]
}

/** Owners that are read between two turns of the event loop. */
const YIELD_EVERY = 200

/**
 * Reads every owner in ascending order of ids. The cost is constant for each owner, however many repositories and ledger
 * entries the owner has, because usage is counted per owner.
 */
export async function* scanOwners(tx: ReadTransaction, owners: OwnerIds): AsyncGenerator<ScannedOwner> {
  const usages = joinByOwner(ownerUsages.all(tx))
  const assigned = joinByOwner(assignments.all(tx))
  let count = 0
  try {
    for await (const owner of owners(tx)) {
      if (++count % YIELD_EVERY === 0) await setImmediate()
      const [usage] = await usages.of(owner)
      yield {
        owner,
        usage: usageIn(usage),
        assigned: (await assigned.of(owner)).map(({ group }) => group),
      }
    }
  } finally {
    await Promise.all([usages.end(), assigned.end()])
  }
}

/** Merge join: reads records that are ordered by owner, for owners that are asked for in ascending order. */
const joinByOwner = <R extends { owner: number }>(records: AsyncIterable<R>) => {
  const iterator = records[Symbol.asyncIterator]()
  let next: IteratorResult<R> | undefined
  return {
    async of(owner: number): Promise<R[]> {
      const found: R[] = []
      next ??= await iterator.next()
      while (!next.done && next.value.owner <= owner) {
        if (next.value.owner === owner) found.push(next.value)
        next = await iterator.next()
      }
      return found
    },
    end: () => iterator.return?.(),
  }
}
