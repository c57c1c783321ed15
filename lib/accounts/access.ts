import {
  type Account,
  AUDIENCES,
  type Audience,
  accounts,
  audienceOf,
  LIMITED,
  memberships,
  PRIVATE,
  PUBLIC,
  type Repository,
  repositories,
} from '../records/schema/index.ts'
import { hasScope } from '../scopes.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { currentMemberships, hasAnyRight, isOfferedTo, RIGHT, type Rights, rightsOn } from './rights.ts'

/** The account that a read is done for; null for a client that has not signed in. */
export type Viewer = {
  /** Id of the account. */
  readonly id: number
  /** Whether the account administers the instance. */
  readonly admin: boolean
  /** Scopes of the token; absent for a password and for calls from the host, which have every scope. */
  readonly scopes?: ReadonlySet<string> | undefined
} | null

/** A viewer who has signed in. */
export type SignedIn = NonNullable<Viewer>

/** An account, such as the author of a copy, as a viewer that sees and may change everything. */
export const withAdminRights = (id: number) => ({ id, admin: true })

/**
 * The command line, which works on the store itself: an administrator without an account. Audit entries name
 * it with id 0. Logins recognize this very object, so nothing that the `authenticate` of a host returns is
 * taken for it.
 */
export const OPERATOR = Object.freeze({ id: 0, username: 'operator', admin: true })

/** A token or an SSH key. */
export interface CredentialId {
  /** What it is: an access token, or an SSH key. */
  readonly kind: 'token' | 'key'
  /** Id of the token or of the key. */
  readonly id: number
}

/** The user who sent a request, and the scopes of the credentials. */
export interface Identity {
  /** Id of the account. */
  readonly id: number
  /** Name of the account. */
  readonly username: string
  /** Whether the account administers the instance. */
  readonly admin: boolean
  /** The scopes of the credentials. */
  readonly scopes: ReadonlySet<string>
  /**
   * What the user signed in with, which can be revoked; absent for a password, and for the login of a host.
   */
  readonly credential?: CredentialId | undefined
  /** The administrator who acts for the account with Sudo; undefined otherwise. */
  readonly administrator?: Pick<Identity, 'id' | 'username'>
}

/**
 * Part of a repository to read: its git data and LFS objects (`code`), its issues and comments, which have
 * their own scope, its releases, or the parts that everyone with any right on it sees (`repository`).
 */
export type RepositoryPart = 'repository' | keyof Rights

/**
 * The viewer with respect to repositories. Invariant: a token without the scope reads only what is public, in
 * every list, search and count, because `canRead` and every list and search apply this function.
 */
export const repositoryViewer = (viewer: Viewer, part: RepositoryPart = 'repository'): Viewer =>
  viewer !== null && hasScope(viewer.scopes, part === 'issues' ? 'read:issue' : 'read:repository')
    ? viewer
    : null

export const audienceOfAccount = ({ visibility }: Pick<Account, 'visibility'>): Audience =>
  audienceOf[visibility]

/** The audience of a repository is never wider than that of its owner. */
export const audienceOfRepository = (owner: Pick<Account, 'visibility'>, isPrivate: boolean): Audience =>
  isPrivate ? PRIVATE : audienceOfAccount(owner)

/** Audiences that include the viewer, no matter who owns the record. */
export const openAudiences = (viewer: Viewer): readonly Audience[] => {
  if (viewer === null) return [PUBLIC]
  return viewer.admin ? AUDIENCES : [PUBLIC, LIMITED]
}

const isOpenTo = (viewer: Viewer, audience: Audience) => openAudiences(viewer).includes(audience)

/** Whether an account is visible to the viewer, whether or not the viewer belongs to it. */
export const isOpenAccount = (viewer: Viewer, account: Pick<Account, 'visibility'> | undefined): boolean =>
  account !== undefined && isOpenTo(viewer, audienceOfAccount(account))

/** The same for a repository; none is once its owner is deleted, although a job removes its record later. */
const isOpenRepository = async (
  tx: ReadTransaction,
  viewer: Viewer,
  { private: isPrivate, owner: id }: Pick<Repository, 'owner' | 'private'>,
  owner: Pick<Account, 'visibility'> | undefined,
): Promise<boolean> => {
  const account = owner ?? (await accounts.get(tx, [id]))
  return account !== undefined && isOpenTo(viewer, audienceOfRepository(account, isPrivate))
}

export const membershipOf = (tx: ReadTransaction, organization: number, account: number) =>
  memberships.get(tx, [organization, account])

/** Whether the viewer is the account itself or a member of it, and so sees it. */
const belongsTo = async (tx: ReadTransaction, viewer: Viewer, account: number): Promise<boolean> => {
  if (viewer === null) return false
  return viewer.id === account || (await membershipOf(tx, account, viewer.id)) !== undefined
}

export const canSee = async (
  tx: ReadTransaction,
  viewer: Viewer,
  account: Pick<Account, 'id' | 'visibility'>,
): Promise<boolean> => isOpenAccount(viewer, account) || belongsTo(tx, viewer, account.id)

/** The accounts with these ids that exist and that the viewer can see, in the order of the ids. */
export const visibleAmong = async (
  tx: ReadTransaction,
  viewer: Viewer,
  ids: readonly number[],
): Promise<Account[]> => {
  const found = [...(await accounts.byIds(tx, ids)).values()]
  const isVisible = await Promise.all(found.map((account) => canSee(tx, viewer, account)))
  return found.filter((_, index) => isVisible[index])
}

/**
 * The account and the organizations that it is a member of; `sharedWith` says what it can read there. The
 * number of organizations that others can add an account to is limited (organizations.ts), so that its
 * requests stay fast.
 */
export const ownersFor = async (tx: ReadTransaction, account: number): Promise<number[]> => [
  account,
  ...(await currentMemberships(tx, account)).map(({ organization }) => organization),
]

/**
 * Readers of a private repository are its owner, administrators, collaborators, full members of the
 * organization that owns it, members of teams with a right on it, and the account that it is offered to.
 * @param owner the owner of the repository, when it is known
 */
export const canRead = async (
  tx: ReadTransaction,
  viewer: Viewer,
  repository: Pick<Repository, 'id' | 'owner' | 'private'>,
  part?: RepositoryPart,
  owner?: Pick<Account, 'visibility'>,
): Promise<boolean> => {
  const reader = repositoryViewer(viewer, part)
  if (await isOpenRepository(tx, reader, repository, owner)) return true
  if (reader === null) return false
  const rights = await rightsOn(tx, reader, repository)
  if (part === undefined || part === 'repository')
    return hasAnyRight(rights) || isOfferedTo(tx, reader.id, repository)
  return rights[part] > RIGHT.none
}

/** The repositories with these ids that exist and that the viewer can read, in the order of the ids. */
export const readableAmong = async (
  tx: ReadTransaction,
  viewer: Viewer,
  ids: readonly number[],
): Promise<Repository[]> => {
  const found = [...(await repositories.byIds(tx, ids)).values()]
  // A repository is gone once its owner is deleted, although a job removes its record later.
  const owners = await accounts.referredBy(tx, found, ({ owner }) => owner)
  const isReadable = await Promise.all(
    found.map((repository) => {
      const owner = owners.get(repository.owner)
      return owner !== undefined && canRead(tx, viewer, repository, undefined, owner)
    }),
  )
  return found.filter((_, index) => isReadable[index])
}

export interface Permission {
  admin: boolean
  push: boolean
  pull: boolean
}

/**
 * The permissions of the viewer: owners administer, members write unless they are in the organization by
 * teams, collaborators and teams have what they were given, and everyone reads what is open.
 * @param part what `push` and `pull` are about
 * @param owner the owner of the repository, when it is known
 */
export const permissionOn = async (
  tx: ReadTransaction,
  viewer: Viewer,
  repository: Repository,
  part: keyof Rights = 'code',
  owner?: Account,
): Promise<Permission> => {
  const isOpen = await isOpenRepository(tx, viewer, repository, owner)
  if (viewer === null) return { admin: false, push: false, pull: isOpen }
  const rights = await rightsOn(tx, viewer, repository)
  const right = rights[part]
  return {
    admin: rights.code === RIGHT.admin,
    push: right >= RIGHT.write,
    pull: isOpen || right >= RIGHT.read,
  }
}
