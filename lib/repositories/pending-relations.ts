/**
 * Stars and watches whose copy of the audience a job has yet to update, or that a job has yet to remove
 * (lib/accounts/visibility.ts).
 */
import { repositoryById } from '../accounts/find.ts'
import { type JobHandler, pendingIds } from '../records/jobs.ts'
import { paced } from '../records/pacing.ts'
import {
  AUDIENCES,
  RELATIONS,
  type Relation,
  type RelationCollection,
  type Repository,
  repositories,
} from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/index.ts'

/** An account's stars or watches that are pending. */
export const pendingRelations = async (
  tx: ReadTransaction,
  relation: RelationCollection,
  account: number,
): Promise<Relation[]> => {
  const ids = await pendingIds(tx, 'updateRelations')
  for (const owner of await pendingIds(tx, 'removeAccountData')) {
    const limit = MAX_OF_DELETED - ids.length
    if (limit <= 0) break
    for await (const entry of repositories.entries(tx, 'id', { prefix: [owner], limit }))
      ids.push(repositories.numberOf(entry))
  }
  // As many that each relation counts as pending.
  if (ids.length >= MAX_OF_DELETED) return relation.list(tx, 'account', { prefix: [account] })
  return existing(
    await relation.getMany(
      tx,
      ids.map((id) => [account, id]),
    ),
  )
}

/** Repositories of deleted owners whose relations are looked up one by one. */
const MAX_OF_DELETED = 1000

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
    current[count] - existing(await collection.getMany(tx, deleted)).length,
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
  const lists = owners.map((owner) => repositories.list(tx, 'parentAndOwner', { prefix: [parent, owner] }))
  return (await Promise.all(lists)).flat().length
}

const existing = <T>(records: readonly (T | undefined)[]): T[] =>
  records.filter((record) => record !== undefined)

/**
 * Updates the audience of a repository's stars and watches, or removes them when the repository is deleted.
 */
export const updateRelationsJob: JobHandler = {
  async step(tx, id, limit) {
    const audience = (await repositoryById(tx, id))?.audience
    let updated = 0
    for (const { collection: relation } of RELATIONS)
      for (const stale of AUDIENCES.filter((other) => other !== audience)) {
        const found = await relation.list(tx, 'repository', { prefix: [id, stale], limit: limit - updated })
        for await (const record of paced(found))
          if (audience === undefined) await relation.remove(tx, [record.account, record.repository])
          else await relation.save(tx, { ...record, audience })
        updated += found.length
      }
    return updated
  },
}
