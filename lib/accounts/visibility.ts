import { AllotError } from '../errors.ts'
import type { Jobs } from '../records/jobs.ts'
import { paced } from '../records/pacing.ts'
import {
  type Account,
  type Audience,
  accounts,
  type Repository,
  repositories,
} from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import { audienceOfRepository } from './access.ts'

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
