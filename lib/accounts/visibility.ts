import { AllotError } from '../errors.ts'
import { type JobHandler, type Jobs, pendingIds } from '../records/jobs.ts'
import { paced } from '../records/pacing.ts'
import {
  type Account,
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
import type { ReadTransaction } from '../storage/driver.ts'
import { audienceOfAccount, audienceOfRepository, repositoryById } from './access.ts'

/**
 * The audience is kept on every relation, so that lists and totals come from an index. When it changes, it is carried
 * to them: as many as one write may change in the same transaction, the rest by a job, whose relations are judged by
 * the thing itself until then. A private thing is nowhere to be seen from the moment the change is acknowledged.
 */
export const updateAccountVisibility = async (
  tx: WriteContext,
  jobs: Jobs,
  account: Account,
): Promise<void> => {
  let left = jobs.bounds.maxPerTransaction - (await jobs.runNow(tx, 'follows', account.id))
  for await (const repository of paced(await repositories.list(tx, 'id', { prefix: [account.id] }))) {
    const after = { ...repository, audience: audienceOfRepository(account, repository.private) }
    left -= await saveTold(tx, jobs, after, left)
  }
}

/** Saves a repository that may have changed its owner or its privacy, and tells its stars and watches. */
export const saveWithVisibility = async (
  tx: WriteContext,
  jobs: Jobs,
  repository: Repository,
  audience: Audience,
): Promise<Repository> => {
  const after = { ...repository, audience }
  await saveTold(tx, jobs, after, jobs.bounds.maxPerTransaction)
  return after
}

/** @returns how many relations have been told now, at most the limit. */
const saveTold = async (tx: WriteContext, jobs: Jobs, after: Repository, limit: number): Promise<number> => {
  const before = await repositories.save(tx, after)
  if (before === undefined || before.audience === after.audience) return 0
  return jobs.runNow(tx, 'relations', after.id, limit)
}

export const ownerOf = async (tx: WriteContext, repository: Repository): Promise<Account> => {
  const owner = await accounts.get(tx, [repository.owner])
  if (owner === undefined) throw new AllotError('not_found', 'the owner is gone')
  return owner
}

/*
 * The audience of a thing is kept on every relation to it, so that lists and totals come from an index. Where a thing
 * changes its audience, or goes, and has many relations, a job tells them in steps; those that it has not told yet
 * are in the wrong place of the index. Whoever reads a list takes them out of it and judges them by the thing itself.
 */

/** Those of an account's stars or watches that may be in the wrong place. */
export const pendingRelations = async (
  tx: ReadTransaction,
  relation: RelationCollection,
  account: number,
): Promise<Relation[]> => {
  // Which of the account's repositories are those of an owner that is gone is not known without a look at each.
  if ((await pendingIds(tx, 'owner')).length > 0) return relation.list(tx, 'account', { prefix: [account] })
  const ids = await pendingIds(tx, 'relations')
  return found(
    await relation.getMany(
      tx,
      ids.map((id) => [account, id]),
    ),
  )
}

/** Those of an account's followers, or of whom it follows. */
export const pendingFollows = async (
  tx: ReadTransaction,
  index: 'followers' | 'following',
  account: number,
): Promise<Follow[]> => {
  const ids = new Set([...(await pendingIds(tx, 'follows')), ...(await pendingIds(tx, 'owner'))])
  return found(
    await follows.getMany(
      tx,
      [...ids].map((id) => (index === 'followers' ? [id, account] : [account, id])),
    ),
  )
}

/**
 * The repository without the stars and watches of accounts that are gone, which a job takes back in steps. (Its
 * place in a list that is ordered by stars follows those steps.)
 */
export const countsWithPending = async (tx: ReadTransaction, repository: Repository): Promise<Repository> => {
  const gone = (await pendingIds(tx, 'owner')).map((account) => [account, repository.id])
  if (gone.length === 0) return repository
  // Of this snapshot, for the record may be older than the steps that it is compared with.
  const now = (await repositories.get(tx, [repository.id])) ?? repository
  return {
    ...repository,
    stars: now.stars - found(await stars.getMany(tx, gone)).length,
    watchers: now.watchers - found(await watches.getMany(tx, gone)).length,
  }
}

const found = <T>(records: readonly (T | undefined)[]): T[] => records.filter((one) => one !== undefined)

const AUDIENCES: readonly Audience[] = [0, 1, 2]

/** Tells the stars and watches of a repository whom it is known to, or removes them when it is gone. */
export const updateRelationsJob: JobHandler = {
  async step(tx, id, limit) {
    const audience = (await repositoryById(tx, id))?.audience
    let did = 0
    for (const relation of [stars, watches])
      for (const other of AUDIENCES.filter((one) => one !== audience)) {
        const told = await relation.list(tx, 'repository', { prefix: [id, other], limit: limit - did })
        for await (const one of paced(told))
          if (audience === undefined) await relation.remove(tx, [one.account, one.repository])
          else await relation.save(tx, { ...one, audience })
        did += told.length
      }
    return did
  },
}

/** Tells those that an account follows, and those that follow it, whom it is known to. */
export const updateFollowsJob: JobHandler = {
  async step(tx, id, limit) {
    const account = await accounts.get(tx, [id])
    // The job that removes the account removes its relations too.
    if (account === undefined) return 0
    const audience = audienceOfAccount(account)
    let did = 0
    for (const [index, kept] of [
      ['asFollower', 'followerAudience'],
      ['asFollowed', 'followedAudience'],
    ] as const)
      for (const other of AUDIENCES.filter((one) => one !== audience)) {
        const told = await follows.list(tx, index, { prefix: [id, other], limit: limit - did })
        for await (const follow of paced(told)) await follows.save(tx, { ...follow, [kept]: audience })
        did += told.length
      }
    return did
  },
}
