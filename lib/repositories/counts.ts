import { jobs, pendingAmong } from '../records/jobs.ts'
import { RELATIONS, type Repository, repositories } from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/index.ts'

/**
 * The repository with its counts reduced by the stars and watches of deleted accounts, which a job removes in
 * steps. Its position in a list that is ordered by stars changes with those steps.
 */
export const countsWithPending = async (tx: ReadTransaction, repository: Repository): Promise<Repository> => {
  if ((await jobs.count(tx, 'kind', ['removeAccountData'])) === 0) return repository
  const prefix = [repository.id]
  // Read again from this snapshot, because the given record can be older than the relations that are
  // subtracted.
  const current = (await repositories.get(tx, prefix)) ?? repository
  const counts = RELATIONS.map(async ({ collection, count }) => {
    const accounts = async () =>
      (await collection.list(tx, 'repository', { prefix })).map(({ account }) => account)
    const deleted = await pendingAmong(tx, 'removeAccountData', current[count], accounts)
    const keys = deleted.map((account) => [account, repository.id])
    const left = (await collection.getMany(tx, keys)).filter((relation) => relation !== undefined)
    return [count, current[count] - left.length]
  })
  return {
    ...repository,
    ...Object.fromEntries(await Promise.all(counts)),
    forks: current.forks - (await forksOfDeleted(tx, current)),
  }
}

/** Forks that a job deletes with their owners. */
const forksOfDeleted = async (tx: ReadTransaction, { id, forks }: Repository): Promise<number> => {
  const owners = async () =>
    (await repositories.list(tx, 'parent', { prefix: [id] })).map(({ owner }) => owner)
  const deleted = await pendingAmong(tx, 'removeAccountData', forks, owners)
  const lists = deleted.map((owner) => repositories.list(tx, 'ownerAndParent', { prefix: [owner, id] }))
  return (await Promise.all(lists)).flat().length
}
