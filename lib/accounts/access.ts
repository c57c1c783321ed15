import { AllotError } from '../errors.ts'
import { pendingIds } from '../records/jobs.ts'
import {
  type Account,
  type Audience,
  accounts,
  audienceOf,
  emailAddresses,
  memberships,
  type Repository,
  repositories,
} from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/index.ts'

/** The account that a read is done for; null for a client that has not signed in. */
export type Viewer = {
  /** Id of the account. */
  readonly id: number
  /** Whether the account administrates the server. */
  readonly admin: boolean
  /** Scopes of the token; absent for a password and for calls from the host, which have every scope. */
  readonly scopes?: ReadonlySet<string> | undefined
} | null

/** The user who sent a request, and the scopes of the credentials. */
export interface Identity {
  readonly id: number
  readonly username: string
  readonly admin: boolean
  readonly scopes: ReadonlySet<string>
}

/** Whether the scopes include one: `write:x` includes `read:x`, and `all` includes every scope. */
export const hasScope = (scopes: ReadonlySet<string> | undefined, scope: string): boolean =>
  scopes === undefined ||
  scopes.has('all') ||
  scopes.has(scope) ||
  scopes.has(scope.replace(/^read:/, 'write:'))

/** Purpose of reading a repository: `issue` for its issues and comments, which have their own scope. */
export type ReadFor = 'repository' | 'issue'

/**
 * The viewer with respect to repositories. Invariant: a token without the scope reads only what is public, in every list,
 * search and count, because `canRead`, `audiencesOf` and every list and search apply this function.
 */
export const repositoryViewer = (viewer: Viewer, readFor: ReadFor = 'repository'): Viewer =>
  viewer !== null && hasScope(viewer.scopes, `read:${readFor}`) ? viewer : null

export const audienceOfAccount = (account: Account): Audience => audienceOf[account.visibility]

/** The audience of a repository is never wider than that of its owner. */
export const audienceOfRepository = (owner: Account, isPrivate: boolean): Audience =>
  audienceWithin(audienceOfAccount(owner), isPrivate)

export const audienceWithin = (owner: Audience, isPrivate: boolean): Audience => (isPrivate ? 2 : owner)

/** Audiences that include the viewer whoever owns the record. */
export const openAudiences = (viewer: Viewer): readonly Audience[] => {
  if (viewer === null) return [0]
  return viewer.admin ? [0, 1, 2] : [0, 1]
}

const isOpenTo = (viewer: Viewer, audience: Audience) => openAudiences(viewer).includes(audience)

export const membershipOf = (tx: ReadTransaction, organization: number, account: number) =>
  memberships.get(tx, [organization, account])

/** Whether the viewer is the account itself or a member of it, and so sees its private repositories. */
const belongsTo = async (tx: ReadTransaction, viewer: Viewer, account: number): Promise<boolean> => {
  if (viewer === null) return false
  return viewer.id === account || (await membershipOf(tx, account, viewer.id)) !== undefined
}

export const canSee = async (tx: ReadTransaction, viewer: Viewer, account: Account): Promise<boolean> =>
  isOpenTo(viewer, audienceOfAccount(account)) || belongsTo(tx, viewer, account.id)

/**
 * The account and the organizations that it is a member of: the owners whose private repositories it can list. The number
 * of organizations that others can add an account to is limited (organizations.ts), so that its requests stay fast.
 */
export const ownersFor = async (tx: ReadTransaction, account: number): Promise<number[]> => {
  const joined = await memberships.list(tx, 'member', { prefix: [account] })
  // Memberships of deleted organizations are removed in steps, by a job.
  const deleted = joined.length === 0 ? [] : await pendingIds(tx, 'removeAccountData')
  const organizations = joined.map(({ organization }) => organization)
  return [account, ...organizations.filter((id) => !deleted.includes(id))]
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

/** Owners have admin permission, members can push, readers can pull. */
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

/** Longest name in the store; a longer one in a request would not fit into a key. */
const MAX_LENGTH = 255

/** Names are compared case-insensitively. */
export const accountByName = async (tx: ReadTransaction, name: string): Promise<Account | undefined> =>
  name.length > MAX_LENGTH ? undefined : accounts.findBy(tx, 'name', [name.toLowerCase()])

export const accountByEmail = async (tx: ReadTransaction, email: string): Promise<Account | undefined> =>
  email.length > MAX_LENGTH ? undefined : accounts.findBy(tx, 'email', [email.toLowerCase()])

/** The account that has the address, as its first or as a further one. */
export const holderOfEmail = async (tx: ReadTransaction, email: string): Promise<number | undefined> => {
  const account = await accountByEmail(tx, email)
  if (account !== undefined || email.length > MAX_LENGTH) return account?.id
  return (await emailAddresses.get(tx, [email.toLowerCase()]))?.account
}

/**
 * Checks in the write itself that the account still exists, since it could have been deleted after the request began.
 * @throws AllotError not_found
 */
export const existingAccount = async (tx: ReadTransaction, id: number): Promise<Account> => {
  const account = await accounts.get(tx, [id])
  if (account === undefined) throw new AllotError('not_found', 'the account was deleted')
  return account
}

/** The account with the name, if the viewer can see it. */
export const visibleAccount = async (
  tx: ReadTransaction,
  viewer: Viewer,
  name: string,
): Promise<Account | undefined> => {
  const account = await accountByName(tx, name)
  return account !== undefined && (await canSee(tx, viewer, account)) ? account : undefined
}

/** The organization with the name, if the viewer can see it. */
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

/** A repository does not exist any more once its owner is deleted, although a job removes its record later. */
export const repositoryById = async (tx: ReadTransaction, id: number): Promise<Repository | undefined> => {
  const repository = await repositories.get(tx, [id])
  if (repository === undefined) return undefined
  return (await accounts.get(tx, [repository.owner])) && repository
}

/** The repository with the name, if the viewer can read it. */
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

/**
 * The record to change: its id, or a function that finds it and checks the permission. The function runs in the
 * transaction of the change, so that a permission that was withdrawn meanwhile has no effect.
 */
export type Target<T> = number | Authorizer<T>

/**
 * @returns undefined when the record does not exist or the viewer cannot see it
 * @throws AllotError forbidden when the viewer can see it but must not change it
 */
export type Authorizer<T> = (tx: ReadTransaction) => Promise<T | undefined>

/** A user who makes a change. */
export type SignedIn = NonNullable<Viewer>

const isOwnerOf = async (tx: ReadTransaction, viewer: SignedIn, account: number): Promise<boolean> =>
  viewer.admin || viewer.id === account || (await membershipOf(tx, account, viewer.id))?.owner === true

/** A repository that the viewer has admin permission on. */
export const authorizeAdmin =
  (viewer: SignedIn, owner: string, name: string): Authorizer<Repository> =>
  async (tx) => {
    const repository = await readableRepository(tx, viewer, owner, name)
    if (repository !== undefined && !(await permissionOn(tx, viewer, repository)).admin)
      throw new AllotError('forbidden', 'only owners may do this')
    return repository
  }

/** A new owner of a repository: the viewer, or an organization that the viewer owns, since its quota pays for it. */
export const authorizeTransferTo =
  (viewer: SignedIn, name: string): Authorizer<Account> =>
  async (tx) => {
    const owner = await visibleAccount(tx, viewer, name)
    if (owner !== undefined && !(await isOwnerOf(tx, viewer, owner.id)))
      throw new AllotError(
        'forbidden',
        `only administrators and owners of ${owner.name} may give it a repository`,
      )
    return owner
  }

/** An organization in which the viewer can create repositories. */
export const authorizeCreateIn =
  (viewer: SignedIn, name: string): Authorizer<Account> =>
  async (tx) => {
    const organization = await visibleOrganization(tx, viewer, name)
    if (organization === undefined || viewer.admin) return organization
    if ((await membershipOf(tx, organization.id, viewer.id)) === undefined)
      throw new AllotError('forbidden', `only members of ${organization.name} may create repositories in it`)
    return organization
  }

/** An organization whose members the viewer can change. */
export const authorizeMembersOf =
  (viewer: SignedIn, name: string): Authorizer<Account> =>
  async (tx) => {
    const organization = await visibleOrganization(tx, viewer, name)
    if (organization !== undefined && !(await isOwnerOf(tx, viewer, organization.id)))
      throw new AllotError('forbidden', `only owners of ${organization.name} may do this`)
    return organization
  }

/** An organization that the viewer can remove the member from: owners can remove anyone, and members can leave. */
export const authorizeRemoveMember =
  (viewer: SignedIn, name: string, member: string): Authorizer<Account> =>
  async (tx) => {
    const isSelf = (await accountByName(tx, member))?.id === viewer.id
    return isSelf ? visibleOrganization(tx, viewer, name) : authorizeMembersOf(viewer, name)(tx)
  }

export const visibleUser =
  (viewer: SignedIn, name: string): Authorizer<Account> =>
  async (tx) => {
    const account = await visibleAccount(tx, viewer, name)
    return account?.kind === 'user' ? account : undefined
  }

/** Any account, even if it has become hidden since it joined, so that owners can still remove it. */
export const anyAccount =
  (name: string): Authorizer<Account> =>
  (tx) =>
    accountByName(tx, name)
