import { AllotError } from '../errors.ts'
import { type JobHandler, type Jobs, pendingIds } from '../records/jobs.ts'
import { paced } from '../records/pacing.ts'
import {
  type Account,
  AUDIENCES,
  type Audience,
  accounts,
  type Follow,
  follows,
  type Relation,
  type RelationCollection,
  type Repository,
  repositories,
  stars,
  watches,
} from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { audienceOfAccount, audienceOfRepository, repositoryById } from './access.ts'

/*
 * Every star, watch and follow has a copy of the audience of its repository or account, so that lists and totals come from
 * an index. A change of visibility updates as many copies as one transaction may change; a job updates the rest. Until
 * then the remaining relations are pending: readers take them out of the index's result and check the repository or the
 * account itself. So a private repository is invisible everywhere from the moment the change is acknowledged.
 */

/** Saves the new audience of an account's repositories, and starts to update the relations. */
export const updateAccountVisibility = async (
  tx: WriteContext,
  jobs: Jobs,
  account: Account,
): Promise<void> => {
  let left = jobs.limits.maxPerTransaction - (await jobs.runNow(tx, 'updateFollows', account.id))
  for await (const repository of paced(await repositories.list(tx, 'id', { prefix: [account.id] }))) {
    const after = { ...repository, audience: audienceOfRepository(account, repository.private) }
    left -= await saveAndUpdateRelations(tx, jobs, after, left)
  }
}

/** Saves a repository whose owner or visibility may have changed, and starts to update its stars and watches. */
export const saveWithVisibility = async (
  tx: WriteContext,
  jobs: Jobs,
  repository: Repository,
  audience: Audience,
): Promise<Repository> => {
  const after = { ...repository, audience }
  await saveAndUpdateRelations(tx, jobs, after, jobs.limits.maxPerTransaction)
  return after
}

/** @returns how many relations were updated in this transaction, `limit` at most */
const saveAndUpdateRelations = async (
  tx: WriteContext,
  jobs: Jobs,
  after: Repository,
  limit: number,
): Promise<number> => {
  const before = await repositories.save(tx, after)
  if (before === undefined || before.audience === after.audience) return 0
  return jobs.runNow(tx, 'updateRelations', after.id, limit)
}

export const ownerOf = async (tx: WriteContext, repository: Repository): Promise<Account> => {
  const owner = await accounts.get(tx, [repository.owner])
  if (owner === undefined) throw new AllotError('not_found', 'the owner was deleted')
  return owner
}

/** An account's stars or watches that are pending. */
export const pendingRelations = async (
  tx: ReadTransaction,
  relation: RelationCollection,
  account: number,
): Promise<Relation[]> => {
  // Repositories of a deleted owner cannot be told apart here, so that every relation counts as pending.
  if ((await pendingIds(tx, 'removeAccountData')).length > 0)
    return relation.list(tx, 'account', { prefix: [account] })
  const ids = await pendingIds(tx, 'updateRelations')
  return existing(
    await relation.getMany(
      tx,
      ids.map((id) => [account, id]),
    ),
  )
}

/** Pending follows of an account: those of its followers, or of the accounts that it follows. */
export const pendingFollows = async (
  tx: ReadTransaction,
  index: 'followers' | 'following',
  account: number,
): Promise<Follow[]> => {
  const ids = new Set([
    ...(await pendingIds(tx, 'updateFollows')),
    ...(await pendingIds(tx, 'removeAccountData')),
  ])
  return existing(
    await follows.getMany(
      tx,
      [...ids].map((id) => (index === 'followers' ? [id, account] : [account, id])),
    ),
  )
}

/**
 * The repository with its counts reduced by the stars and watches of deleted accounts, which a job removes in steps. Its
 * position in a list that is ordered by stars changes with those steps.
 */
export const countsWithPending = async (tx: ReadTransaction, repository: Repository): Promise<Repository> => {
  const owners = await pendingIds(tx, 'removeAccountData')
  const deleted = owners.map((account) => [account, repository.id])
  if (deleted.length === 0) return repository
  // Read again from this snapshot, because the given record can be older than the relations that are subtracted.
  const current = (await repositories.get(tx, [repository.id])) ?? repository
  return {
    ...repository,
    stars: current.stars - existing(await stars.getMany(tx, deleted)).length,
    watchers: current.watchers - existing(await watches.getMany(tx, deleted)).length,
    forks: current.forks - (await forksOfDeleted(tx, repository.id, owners)),
  }
}

/** Forks that a job deletes with their owners. */
const forksOfDeleted = async (
  tx: ReadTransaction,
  parent: number,
  owners: readonly number[],
): Promise<number> => {
  const lists = owners.map((owner) => repositories.list(tx, 'fork', { prefix: [parent, owner] }))
  return (await Promise.all(lists)).flat().length
}

const existing = <T>(records: readonly (T | undefined)[]): T[] =>
  records.filter((record) => record !== undefined)

/** Updates the audience of a repository's stars and watches, or removes them when the repository is deleted. */
export const updateRelationsJob: JobHandler = {
  async step(tx, id, limit) {
    const audience = (await repositoryById(tx, id))?.audience
    let updated = 0
    for (const relation of [stars, watches])
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

/** Updates the audience of an account in its follows: those of its followers, and of the accounts that it follows. */
export const updateFollowsJob: JobHandler = {
  async step(tx, id, limit) {
    const account = await accounts.get(tx, [id])
    // The job that removes the account removes its relations too.
    if (account === undefined) return 0
    const audience = audienceOfAccount(account)
    let updated = 0
    for (const [index, member] of [
      ['asFollower', 'followerAudience'],
      ['asFollowed', 'followedAudience'],
    ] as const)
      for (const stale of AUDIENCES.filter((other) => other !== audience)) {
        const found = await follows.list(tx, index, { prefix: [id, stale], limit: limit - updated })
        for await (const follow of paced(found)) await follows.save(tx, { ...follow, [member]: audience })
        updated += found.length
      }
    return updated
  },
}
