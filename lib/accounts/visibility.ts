import { AllotError } from '../errors.ts'
import type { JobHandler, Jobs } from '../records/jobs.ts'
import { paced } from '../records/pacing.ts'
import {
  type Account,
  AUDIENCES,
  accounts,
  follows,
  type Repository,
  repositories,
} from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { audienceOfAccount, audienceOfRepository } from './access.ts'

/*
 * Every star, watch and follow has a copy of the audience of its repository or account, so that lists and
 * totals come from an index. A change of visibility updates as many copies as one transaction may change; a
 * job updates the rest. Until then the remaining relations are pending: readers take them out of the index's
 * result and check the repository or the account itself. So a private repository is invisible everywhere from
 * the moment the change is acknowledged.
 */

/** Saves the new audience of the repositories that get another one, and starts to update the relations. */
export const updateAccountVisibility = async (
  tx: WriteContext,
  jobs: Jobs,
  account: Account,
): Promise<void> => {
  let left = jobs.limits.maxPerTransaction - (await jobs.runNow(tx, 'updateFollows', account.id))
  for await (const repository of paced(await repositories.list(tx, 'id', { prefix: [account.id] }))) {
    const after = { ...repository, audience: audienceOfRepository(account, repository.private) }
    if (after.audience !== repository.audience) left -= await saveAndUpdateRelations(tx, jobs, after, left)
  }
}

/**
 * Saves a repository whose owner or visibility may have changed, and starts to update its stars and watches
 * and its forks. It becomes private when it is a fork that more people could see than its parent.
 * @param limit stars, watches and forks to update in this transaction at most
 */
export const saveWithVisibility = async (
  tx: WriteContext,
  jobs: Jobs,
  repository: Repository,
  limit = jobs.limits.maxPerTransaction,
): Promise<Repository> => {
  const owner = await accounts.get(tx, [repository.owner])
  if (owner === undefined) throw new AllotError('not_found', 'the owner was deleted')
  const after = { ...repository, audience: audienceOfRepository(owner, repository.private) }
  await saveAndUpdateRelations(tx, jobs, after, limit)
  return (await repositories.get(tx, [after.id])) ?? after
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
  const updated = await jobs.runNow(tx, 'updateRelations', after.id, limit)
  const left = limit - updated
  if (after.audience > before.audience)
    return after.forks === 0 ? updated : updated + (await jobs.runNow(tx, 'restrictForks', after.id, left))
  if (!(await isWiderThanParent(tx, after))) return updated
  // The fork itself is not left to a later write.
  return updated + (await jobs.runNow(tx, 'restrictForks', after.parent!, Math.max(1, left)))
}

/**
 * Whether more people can see a fork than its parent, as far as its own owner and `private` decide.
 * Invariant: a fork is private then.
 */
export const isWiderThanParent = async (
  tx: ReadTransaction,
  { parent, owner, private: isPrivate }: Pick<Repository, 'parent' | 'owner' | 'private'>,
): Promise<boolean> => {
  if (parent === null || isPrivate) return false
  const [source, account] = [await repositories.get(tx, [parent]), await accounts.get(tx, [owner])]
  return source !== undefined && account !== undefined && source.audience > audienceOfAccount(account)
}

/**
 * Updates the audience of an account in its follows: those of its followers, and of the accounts that it
 * follows.
 */
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
