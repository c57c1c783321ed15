/** Reads all owners with their usage and groups: for reports, which cost a constant for each owner. */
import { paced } from '../records/pacing.ts'
import { assignments, ownerUsages } from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { byUtf8 } from './assigned-groups.ts'
import type { StoredPolicy } from './status.ts'
import type { Usage } from './subjects.ts'
import { usageOfRecord } from './usage.ts'

/** Reads the ids of all owners in ascending order. */
export type OwnerIds = (tx: ReadTransaction) => AsyncIterable<number>

interface ScannedOwner<T> {
  owner: T
  usage: Usage
  /** Names of the groups of the owner. */
  assigned: string[]
}

/**
 * Reads the usage and the groups of owners, which come in ascending order of their ids. The cost is constant
 * for each owner, however many repositories and ledger entries the owner has, because usage is counted per
 * owner.
 */
export async function* scanOwners<T>(
  tx: ReadTransaction,
  { names }: StoredPolicy,
  owners: AsyncIterable<T>,
  idOf: (owner: T) => number,
): AsyncGenerator<ScannedOwner<T>> {
  const usages = joinByOwner(ownerUsages.all(tx))
  const assignedTo = joinByOwner(assignments.all(tx))
  try {
    for await (const owner of paced(owners)) {
      const id = idOf(owner)
      const [usage] = await usages.of(id)
      const assigned = (await assignedTo.of(id)).flatMap(({ group }) => names.get(group) ?? [])
      yield { owner, usage: usageOfRecord(usage), assigned: assigned.sort(byUtf8) }
    }
  } finally {
    await Promise.all([usages.end(), assignedTo.end()])
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
