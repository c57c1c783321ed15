/** Reads all owners with their usage and groups: for reports, which cost a constant for each owner. */
import { paced } from '../records/pacing.ts'
import { assignments, ownerUsages } from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/index.ts'
import type { QuotaGroup } from './evaluate.ts'
import { byUtf8 } from './group-assignments.ts'
import { groupResolver, type QuotaDefaults, readPolicy, type StoredPolicy } from './status.ts'
import type { Usage } from './subjects.ts'
import { usageOfRecord } from './usage.ts'

/** Reads the ids of all owners in ascending order. */
export type OwnerIds = (tx: ReadTransaction) => AsyncIterable<number>

/** Usage and groups of owners, for a reader that asks for the owners in ascending order of ids. */
export interface OwnerQuotas {
  of(owner: number): Promise<{ usage: Usage; groups: readonly QuotaGroup[] }>
  /** Must be called at the end. */
  end(): Promise<unknown>
}

export const ownerQuotas = async (tx: ReadTransaction, defaults: QuotaDefaults): Promise<OwnerQuotas> => {
  const policy = await readPolicy(tx, defaults)
  const groupsFor = groupResolver(policy)
  const joined = joinedOwners(tx, policy)
  return {
    of: async (owner) => {
      const { usage, assigned } = await joined.of(owner)
      return { usage, groups: groupsFor(assigned) }
    },
    end: joined.end,
  }
}

interface ScannedOwner {
  owner: number
  usage: Usage
  /** Names of the groups of the owner. */
  assigned: string[]
}

/**
 * Reads every owner in ascending order of ids. The cost is constant for each owner, however many repositories
 * and ledger entries the owner has, because usage is counted per owner.
 */
export async function* scanOwners(
  tx: ReadTransaction,
  owners: OwnerIds,
  policy: StoredPolicy,
): AsyncGenerator<ScannedOwner> {
  const joined = joinedOwners(tx, policy)
  try {
    for await (const owner of paced(owners(tx))) yield { owner, ...(await joined.of(owner)) }
  } finally {
    await joined.end()
  }
}

/** Usage and assigned groups of owners, which are asked for in ascending order of ids. */
const joinedOwners = (tx: ReadTransaction, { names }: StoredPolicy) => {
  const usages = joinByOwner(ownerUsages.all(tx))
  const assigned = joinByOwner(assignments.all(tx))
  return {
    async of(owner: number): Promise<Omit<ScannedOwner, 'owner'>> {
      const [usage] = await usages.of(owner)
      const found = (await assigned.of(owner)).flatMap(({ group }) => names.get(group) ?? [])
      return { usage: usageOfRecord(usage), assigned: found.sort(byUtf8) }
    },
    end: () => Promise.all([usages.end(), assigned.end()]),
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
