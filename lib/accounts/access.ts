import { pendingIds } from '../records/jobs.ts'
import {
  type Account,
  type Audience,
  audienceOf,
  memberships,
  type Repository,
} from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/driver.ts'

/** The account that a read is done for; null is a client that has not signed in. */
export type Viewer = {
  readonly id: number
  readonly admin: boolean
  /** Scopes of the token; absent: every scope, as for a password or a call from the host. */
  readonly scopes?: ReadonlySet<string> | undefined
} | null

/** Whether scopes include one, `write:x` including `read:x` and `all` including every scope. */
export const hasScope = (scopes: ReadonlySet<string> | undefined, scope: string): boolean =>
  scopes === undefined ||
  scopes.has('all') ||
  scopes.has(scope) ||
  scopes.has(scope.replace(/^read:/, 'write:'))

/** What a repository is read for: `issue` for its issues and comments, which have a scope of their own. */
export type ReadFor = 'repository' | 'issue'

/**
 * The viewer as far as repositories are concerned. Invariant: a token without the scope reads what everyone may read, in
 * every list, search and count, because all reads of repositories in this folder begin here.
 */
export const repositoryViewer = (viewer: Viewer, readFor: ReadFor = 'repository'): Viewer =>
  viewer !== null && hasScope(viewer.scopes, `read:${readFor}`) ? viewer : null

/** Everything that a read depends on besides records: part of the cache keys of reads. */
export const viewerText = (viewer: Viewer): string => {
  if (viewer === null) return 'for all'
  const reach = repositoryViewer(viewer) === null ? 'open' : 'own'
  return `for ${viewer.id} ${viewer.admin} ${reach}`
}

export const audienceOfAccount = (account: Account): Audience => audienceOf[account.visibility]

/** A repository is never known to more than its owner is. */
export const audienceOfRepository = (owner: Account, isPrivate: boolean): Audience =>
  audienceWithin(audienceOfAccount(owner), isPrivate)

export const audienceWithin = (owner: Audience, isPrivate: boolean): Audience => (isPrivate ? 2 : owner)

/** The audiences that a viewer belongs to without being named. */
export const openAudiences = (viewer: Viewer): readonly Audience[] => {
  if (viewer === null) return [0]
  return viewer.admin ? [0, 1, 2] : [0, 1]
}

const isOpenTo = (viewer: Viewer, audience: Audience) => openAudiences(viewer).includes(audience)

export const membershipOf = (tx: ReadTransaction, organization: number, account: number) =>
  memberships.get(tx, [organization, account])

/** Whether the viewer is the account, or a member of it: one of the few that a private thing of it is known to. */
const belongsTo = async (tx: ReadTransaction, viewer: Viewer, account: number): Promise<boolean> => {
  if (viewer === null) return false
  return viewer.id === account || (await membershipOf(tx, account, viewer.id)) !== undefined
}

export const canSee = async (tx: ReadTransaction, viewer: Viewer, account: Account): Promise<boolean> =>
  isOpenTo(viewer, audienceOfAccount(account)) || belongsTo(tx, viewer, account.id)

/**
 * The account and the organizations that it belongs to: whose private repositories it may list. How many organizations
 * others may put an account into is limited (organizations.ts), so that they cannot make its requests slow.
 */
export const ownersFor = async (tx: ReadTransaction, account: number): Promise<number[]> => {
  const joined = await memberships.list(tx, 'member', { prefix: [account] })
  // The members of an organization that is gone go in steps.
  const gone = joined.length === 0 ? [] : await pendingIds(tx, 'owner')
  return [account, ...joined.map(({ organization }) => organization).filter((one) => !gone.includes(one))]
}

/** "Readers are its owner, the organization's members, and administrators." */
export const canRead = async (
  tx: ReadTransaction,
  viewer: Viewer,
  repository: Repository,
  readFor?: ReadFor,
): Promise<boolean> => {
  const reader = repositoryViewer(viewer, readFor)
  return isOpenTo(reader, repository.audience) || belongsTo(tx, reader, repository.owner)
}

/** The audiences of an owner's repositories that the viewer may list. */
export const audiencesOf = async (
  tx: ReadTransaction,
  viewer: Viewer,
  owner: number,
): Promise<readonly Audience[]> => {
  const reader = repositoryViewer(viewer)
  return (await belongsTo(tx, reader, owner)) ? [0, 1, 2] : openAudiences(reader)
}

export interface Permission {
  admin: boolean
  push: boolean
  pull: boolean
}

/** Owners administer, members push, whoever may read pulls. */
export const permissionOn = async (
  tx: ReadTransaction,
  viewer: Viewer,
  repository: Repository,
): Promise<Permission> => {
  if (viewer === null) return { admin: false, push: false, pull: repository.audience === 0 }
  if (viewer.admin || viewer.id === repository.owner) return { admin: true, push: true, pull: true }
  const membership = await membershipOf(tx, repository.owner, viewer.id)
  if (membership === undefined)
    return { admin: false, push: false, pull: isOpenTo(viewer, repository.audience) }
  return { admin: membership.owner, push: true, pull: true }
}
