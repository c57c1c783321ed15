import { AllotError } from '../errors.ts'
import type { QuotaEngine } from '../quota/index.ts'
import type { JobHandler, Jobs } from '../records/jobs.ts'
import { paced } from '../records/pacing.ts'
import { type Account, accounts, type Repository, repositories } from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { audienceOfAccount, audienceOfRepository } from './access.ts'
import { NO_ACCOUNT } from './find.ts'

/*
 * Who can see a repository follows from its `private` and the visibility of its owner whenever it is read, so
 * a change of an account saves none of its repositories, and takes effect at once.
 *
 * Invariant: a fork that more people could see than its parent is private. It becomes so in the write that
 * would make it wider. After a write that makes its parent narrower, a job may do it: what the fork has was
 * visible until then.
 */

export interface ForkServices {
  readonly quota: Pick<QuotaEngine, 'repositories'>
  readonly jobs: Jobs
}

/** Saves a repository whose owner or visibility may have changed. */
export const saveWithVisibility = async (
  tx: WriteContext,
  { quota, jobs }: ForkServices,
  before: Repository,
  changed: Repository,
): Promise<Repository> => {
  const after = (await isWiderThanParent(tx, changed)) ? { ...changed, private: true } : changed
  if (after.private !== before.private) await quota.repositories.setPrivate(tx, after.id, after.private)
  await repositories.save(tx, after)
  if (after.forks > 0 && (after.owner !== before.owner || after.private !== before.private))
    await jobs.runNow(tx, 'restrictForks', after.id)
  return after
}

/**
 * Makes the forks private for which the visibility of an account, just saved, is too wide: its own now, and
 * those of its repositories as far as one write may, the rest by a job.
 * @throws AllotError conflict when too many of its own would become private in this write
 */
export const restrictForksFor = async (
  tx: WriteContext,
  services: ForkServices,
  { id, name }: Account,
): Promise<void> => {
  const { maxPerTransaction: limit } = services.jobs.limits
  const own = await repositories.list(tx, 'ownerAndParent', { prefix: [id] })
  const restricted = await restrict(tx, services, own, limit)
  if (restricted >= limit)
    throw new AllotError(
      'conflict',
      `more people could see ${limit} forks of ${name} than their parents: make these forks private first`,
    )
  const [most] = await repositories.list(tx, 'forks', { prefix: [id, false], reverse: true, limit: 1 })
  if (most !== undefined && most.forks > 0)
    await services.jobs.runNow(tx, 'restrictForksOfAccount', id, limit - restricted)
}

/** Whether more people can see a fork than its parent, as far as its own owner and `private` decide. */
export const isWiderThanParent = async (
  tx: ReadTransaction,
  fork: Pick<Repository, 'parent' | 'owner' | 'private'>,
): Promise<boolean> => {
  if (fork.parent === null || fork.private) return false
  const parent = await repositories.get(tx, [fork.parent])
  const [owner, other] = await accounts.getMany(tx, [[fork.owner], [parent?.owner ?? NO_ACCOUNT.id]])
  if (owner === undefined || other === undefined) return false
  return audienceOfRepository(other, parent!.private) > audienceOfAccount(owner)
}

/**
 * Makes those of the forks private that are wider than their parents.
 * @returns how many, at most the limit
 */
const restrict = async (
  tx: WriteContext,
  { quota, jobs }: ForkServices,
  forks: readonly Repository[],
  limit: number,
): Promise<number> => {
  let restricted = 0
  for await (const fork of paced(forks)) {
    if (restricted >= limit) break
    if (!(await isWiderThanParent(tx, fork))) continue
    await quota.repositories.setPrivate(tx, fork.id, true)
    await repositories.save(tx, { ...fork, private: true })
    if (fork.forks > 0) await jobs.enqueue(tx, 'restrictForks', fork.id)
    restricted++
  }
  return restricted
}

/** Registers the jobs that restrict the forks of a repository, and of the repositories of an account. */
export const registerForkJobs = (services: ForkServices): void => {
  const ofRepository: JobHandler = {
    step: async (tx, id, limit) =>
      restrict(tx, services, await repositories.list(tx, 'parent', { prefix: [id] }), limit),
  }
  const ofAccount: JobHandler = {
    async step(tx, id, limit) {
      let restricted = 0
      for await (const entry of repositories.entries(tx, 'forks', { prefix: [id, false], reverse: true })) {
        const [forked] = await repositories.load(tx, [entry])
        if (restricted >= limit || !forked?.forks) break
        restricted += await ofRepository.step(tx, forked.id, limit - restricted)
      }
      return restricted
    },
  }
  services.jobs.handle('restrictForks', ofRepository)
  services.jobs.handle('restrictForksOfAccount', ofAccount)
}
