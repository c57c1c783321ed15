import { AllotError } from '../errors.ts'
import { pendingIds } from '../records/jobs.ts'
import {
  type Account,
  type Audience,
  accounts,
  audienceOf,
  memberships,
  type Repository,
  repositories,
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

/** No name is longer; a key could not hold what a request can. */
const MAX_LENGTH = 255

/** Names are compared without case. */
export const accountByName = async (tx: ReadTransaction, name: string): Promise<Account | undefined> =>
  name.length > MAX_LENGTH ? undefined : accounts.findBy(tx, 'name', [name.toLowerCase()])

export const accountByEmail = async (tx: ReadTransaction, email: string): Promise<Account | undefined> =>
  email.length > MAX_LENGTH ? undefined : accounts.findBy(tx, 'email', [email.toLowerCase()])

/** Within the write that adds something of an account's: it may have been deleted since the request was let in. */
export const existingAccount = async (tx: ReadTransaction, id: number): Promise<Account> => {
  const account = await accounts.get(tx, [id])
  if (account === undefined) throw new AllotError('not_found', 'the account is gone')
  return account
}

/** An account by its name, for whoever may know that it exists. */
export const visibleAccount = async (
  tx: ReadTransaction,
  viewer: Viewer,
  name: string,
): Promise<Account | undefined> => {
  const account = await accountByName(tx, name)
  return account !== undefined && (await canSee(tx, viewer, account)) ? account : undefined
}

/** An organization by its name, likewise. */
export const visibleOrganization = async (
  tx: ReadTransaction,
  viewer: Viewer,
  name: string,
): Promise<Account | undefined> => {
  const account = await visibleAccount(tx, viewer, name)
  return account?.kind === 'organization' ? account : undefined
}

export const repositoryByName = async (
  tx: ReadTransaction,
  ownerName: string,
  name: string,
): Promise<Repository | undefined> => {
  const owner = await accountByName(tx, ownerName)
  if (name.length > MAX_LENGTH) return undefined
  return owner && repositories.findBy(tx, 'name', [owner.id, name.toLowerCase()])
}

/** A repository is gone with its owner, whose other things are removed in steps. */
export const repositoryById = async (tx: ReadTransaction, id: number): Promise<Repository | undefined> => {
  const repository = await repositories.get(tx, [id])
  if (repository === undefined) return undefined
  return (await accounts.get(tx, [repository.owner])) && repository
}

/** A repository by its names, for whoever may read it. */
export const readableRepository = async (
  tx: ReadTransaction,
  viewer: Viewer,
  ownerName: string,
  name: string,
  readFor?: ReadFor,
): Promise<Repository | undefined> => {
  const repository = await repositoryByName(tx, ownerName, name)
  return repository !== undefined && (await canRead(tx, viewer, repository, readFor)) ? repository : undefined
}
