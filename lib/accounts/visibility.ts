import { AllotError } from '../errors.ts'
import type { Jobs } from '../records/jobs.ts'
import { paced } from '../records/pacing.ts'
import { type Account, accounts, type Repository, repositories } from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { audienceOfAccount, audienceOfRepository } from './access.ts'

/** Saves the new audience of the repositories that get another one. */
export const updateAccountVisibility = async (
  tx: WriteContext,
  jobs: Jobs,
  account: Account,
): Promise<void> => {
  let left = jobs.limits.maxPerTransaction
  for await (const repository of paced(await repositories.list(tx, 'id', { prefix: [account.id] }))) {
    const after = { ...repository, audience: audienceOfRepository(account, repository.private) }
    if (after.audience !== repository.audience) left -= await saveAndRestrictForks(tx, jobs, after, left)
  }
}

/**
 * Saves a repository whose owner or visibility may have changed, and starts to restrict its forks. It becomes
 * private when it is a fork that more people could see than its parent.
 * @param limit forks to restrict in this transaction at most
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
  await saveAndRestrictForks(tx, jobs, after, limit)
  return (await repositories.get(tx, [after.id])) ?? after
}

/** @returns how many forks were restricted in this transaction, `limit` at most */
const saveAndRestrictForks = async (
  tx: WriteContext,
  jobs: Jobs,
  after: Repository,
  limit: number,
): Promise<number> => {
  const before = await repositories.save(tx, after)
  if (before === undefined || before.audience === after.audience) return 0
  if (after.audience > before.audience)
    return after.forks === 0 ? 0 : jobs.runNow(tx, 'restrictForks', after.id, limit)
  if (!(await isWiderThanParent(tx, after))) return 0
  // The fork itself is not left to a later write.
  return jobs.runNow(tx, 'restrictForks', after.parent!, Math.max(1, limit))
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
