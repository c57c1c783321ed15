import { pendingIds } from '../records/jobs.ts'
import { RELATIONS, type Repository, repositories } from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/index.ts'

/**
 * The repository with its counts reduced by the stars and watches of deleted accounts, which a job removes in
 * steps. Its position in a list that is ordered by stars changes with those steps.
 */
export const countsWithPending = async (tx: ReadTransaction, repository: Repository): Promise<Repository> => {
  const owners = await pendingIds(tx, 'removeAccountData')
  const deleted = owners.map((account) => [account, repository.id])
  if (deleted.length === 0) return repository
  // Read again from this snapshot, because the given record can be older than the relations that are
  // subtracted.
  const current = (await repositories.get(tx, [repository.id])) ?? repository
  const counts = RELATIONS.map(async ({ collection, count }) => [
    count,
    current[count] -
      (await collection.getMany(tx, deleted)).filter((relation) => relation !== undefined).length,
  ])
  return {
    ...repository,
    ...Object.fromEntries(await Promise.all(counts)),
    forks: current.forks - (await forksOfDeleted(tx, repository.id, owners)),
  }
}

/** Forks that a job deletes with their owners. */
const forksOfDeleted = async (
  tx: ReadTransaction,
  parent: number,
  owners: readonly number[],
): Promise<number> => {
  const lists = owners.map((owner) => repositories.list(tx, 'ownerAndParent', { prefix: [owner, parent] }))
  return (await Promise.all(lists)).flat().length
}
