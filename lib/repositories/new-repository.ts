import { audienceOfAccount, membershipOf } from '../accounts/access.ts'
import { isFullMember } from '../accounts/rights.ts'
import { now } from '../clock.ts'
import { AllotError, checkArgument, checkOptionNames, isObject } from '../errors.ts'
import type { QuotaEngine } from '../quota/index.ts'
import { creationTimes } from '../records/edits.ts'
import {
  type Account,
  collaborators,
  type Repository,
  repositories,
  watches,
} from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import type { GitData, NewRepository } from './git-data.ts'
import { takeName } from './redirects.ts'
import { saveRelation } from './relations.ts'

/** Author of the first commit: a creator with a narrower audience than the owner must not be named in it. */
export const authorFor = (owner: Account, creator: Account): Account =>
  audienceOfAccount(creator) > audienceOfAccount(owner) ? owner : creator

/** The record of a new repository without stars. */
export const recordOf = (
  id: number,
  owner: Account,
  repository: NewRepository,
  size: number,
): Repository => ({
  id,
  owner: owner.id,
  name: repository.name,
  description: repository.description ?? '',
  website: '',
  private: repository.private ?? false,
  empty: repository.autoInit !== true,
  archived: repository.archived ?? false,
  parent: null,
  defaultBranch: repository.defaultBranch ?? 'main',
  size,
  lfs: 0,
  stars: 0,
  forks: 0,
  watchers: 0,
  ...creationTimes(),
})

/**
 * Saves a new repository, which its creator watches if it is a user, and counts it for its parent if it is a
 * fork.
 */
export const insertRepository = async (
  tx: WriteContext,
  { quota, gitData }: { readonly quota: QuotaEngine; readonly gitData: GitData },
  creator: Account,
  repository: Repository,
): Promise<Repository> => {
  const { id, owner, name, parent } = repository
  await refuseTaken(tx, owner, name)
  if (parent !== null) await countFork(tx, parent, 1)
  await takeName(tx, repository)
  const isWatched = creator.kind === 'user'
  if (isWatched) await saveRelation(tx, watches, creator.id, id)
  // A member by teams administers what it creates, whatever its teams give.
  const membership = isWatched ? await membershipOf(tx, owner, creator.id) : undefined
  if (membership !== undefined && !isFullMember(membership))
    await collaborators.save(tx, {
      repository: id,
      account: creator.id,
      level: 'admin',
      byMembership: true,
      createdAt: now(),
    })
  const record = { ...repository, watchers: isWatched ? 1 : 0 }
  await repositories.save(tx, record)
  await gitData.confirm(tx, id)
  await quota.repositories.create(tx, { id, owner, private: record.private, git: record.size })
  return record
}

/** Counts a fork that is made or deleted, for its parent. */
export const countFork = async (tx: WriteContext, parent: number, change: 1 | -1): Promise<void> => {
  const repository = await repositories.get(tx, [parent])
  if (repository !== undefined)
    await repositories.save(tx, { ...repository, forks: repository.forks + change })
}

/** @throws AllotError conflict */
export const refuseTaken = async (tx: ReadTransaction, owner: number, name: string) => {
  const holder = await holderOfName(tx, owner, name)
  if (holder !== undefined) throw taken(holder)
}

/** The owner's repository with the name, without regard to case. */
export const holderOfName = (
  tx: ReadTransaction,
  owner: number,
  name: string,
): Promise<Repository | undefined> => repositories.findBy(tx, 'name', [owner, name.toLowerCase()])

export const taken = ({ name }: Repository) =>
  new AllotError('conflict', `the owner already has a repository named ${name}`, { field: 'name' })

const NEW_MEMBERS: Readonly<Record<keyof NewRepository, true>> = {
  name: true,
  description: true,
  private: true,
  archived: true,
  autoInit: true,
  defaultBranch: true,
  host: true,
  readme: true,
  gitignores: true,
  license: true,
}

/**
 * For callers in JavaScript, who may forget an argument, or misspell a member: `privat` would make a public
 * repository.
 */
export const checkNew = (into: unknown, creator: unknown, repository: NewRepository): void => {
  checkArgument(isObject(into) || typeof into === 'function', 'owner', 'an account', into)
  checkArgument(isObject(creator), 'creator', 'an account', creator)
  checkArgument(isObject(repository), 'repository', "an object, such as { name: 'app' }", repository)
  checkOptionNames(repository, Object.keys(NEW_MEMBERS))
}
