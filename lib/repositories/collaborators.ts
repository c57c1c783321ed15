import { canRead, permissionOn, type SignedIn, type Viewer, visibleAmong } from '../accounts/access.ts'
import { authorizeRepositoryAdmin, visibleUser } from '../accounts/authorize.ts'
import { accountByName, NO_ACCOUNT, readableRepository } from '../accounts/find.ts'
import { mayKnowOf } from '../accounts/organizations.ts'
import { nameOfRight, owns, RIGHT, rightsOn } from '../accounts/rights.ts'
import { now } from '../clock.ts'
import { AllotError, invalidMember } from '../errors.ts'
import { type Page, pageOfAll, type Slice } from '../records/pages.ts'
import {
  type Account,
  accounts,
  collaborators,
  type Level,
  memberships,
  type Repository,
} from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import type { RepositoryName } from './names.ts'

/**
 * How many repositories can be shared with one user; each request of that user reads them all. Administrators
 * may exceed it.
 */
const MAX_SHARED = 1000
const MAX_COLLABORATORS = 1000

/** The permission of a user on a repository, as clients name it. */
interface UserPermission {
  readonly user: Account
  readonly permission: 'none' | 'read' | 'write' | 'admin' | 'owner'
}

/**
 * Users with whom a repository is shared. Methods return undefined when the viewer cannot see the repository.
 */
export class Collaborators {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /**
   * The collaborators by id. Viewers who do not administer the repository get only those whom they can see.
   */
  list(viewer: SignedIn, { owner, name }: RepositoryName, slice: Slice): Promise<Page<Account> | undefined> {
    return this.#store.read(async (tx) => {
      const repository = await readableRepository(tx, viewer, owner, name)
      if (repository === undefined) return undefined
      const visible = await visibleOf(tx, viewer, repository, await idsOf(tx, repository))
      return pageOfAll(visible, slice)
    })
  }

  /** Whether the repository is shared with the user. */
  has(viewer: SignedIn, { owner, name }: RepositoryName, userName: string): Promise<boolean> {
    return this.#store.read(async (tx) => {
      const repository = await readableRepository(tx, viewer, owner, name)
      const user = repository && (await knownUser(tx, viewer, repository, userName))
      if (repository === undefined || user === undefined) return false
      return (await collaborators.get(tx, [repository.id, user.id])) !== undefined
    })
  }

  /** The right that a user was given by name; undefined for one who was given none. */
  level(repository: number, account: number): Promise<Level | undefined> {
    return this.#store.read(async (tx) => (await collaborators.get(tx, [repository, account]))?.level)
  }

  /**
   * Shares the repository with a user, or changes what the user may do.
   * @returns whether the repository and the user exist
   * @throws AllotError forbidden for viewers who do not administer it; invalid for the owner; conflict for
   * too many
   */
  set(viewer: SignedIn, { owner, name }: RepositoryName, userName: string, level: Level): Promise<boolean> {
    return this.#store.write(async (tx) => {
      const repository = await authorizeRepositoryAdmin(viewer, owner, name)(tx)
      const user = repository && (await knownUser(tx, viewer, repository, userName))
      if (repository === undefined || user === undefined) return false
      if (user.id === repository.owner) throw invalidMember('collaborator', `${user.name} is the owner`)
      const before = await collaborators.get(tx, [repository.id, user.id])
      if (before === undefined) await refuseTooManyCollaborators(tx, viewer, repository, user)
      const key = { repository: repository.id, account: user.id }
      // A right that came with a membership ends with it, whatever its holder sets.
      const { byMembership } = user.id === viewer.id ? { ...before } : {}
      const createdAt = before?.createdAt ?? now()
      await collaborators.save(tx, { ...key, level, createdAt, ...(byMembership && { byMembership }) })
      return true
    })
  }

  /**
   * Ends sharing the repository with a user. Users can end it for themselves.
   * @returns whether it was shared
   */
  remove(viewer: SignedIn, { owner, name }: RepositoryName, userName: string): Promise<boolean> {
    return this.#store.write(async (tx) => {
      // A user who has become hidden since can still be removed.
      const user = await accountByName(tx, userName)
      const isSelf = user?.id === viewer.id
      const repository = isSelf
        ? await readableRepository(tx, viewer, owner, name)
        : await authorizeRepositoryAdmin(viewer, owner, name)(tx)
      if (repository === undefined || user === undefined) return false
      return (await collaborators.remove(tx, [repository.id, user.id])) !== undefined
    })
  }

  /**
   * The permission of a user on the repository.
   * @throws AllotError forbidden unless the viewer administers it or asks for itself
   */
  permission(
    viewer: SignedIn,
    { owner, name }: RepositoryName,
    userName: string,
  ): Promise<UserPermission | undefined> {
    return this.#store.read(async (tx) => {
      const repository = await readableRepository(tx, viewer, owner, name)
      if (repository === undefined) return undefined
      const user = await knownUser(tx, viewer, repository, userName)
      if (user?.id !== viewer.id && !(await permissionOn(tx, viewer, repository)).admin)
        throw new AllotError('forbidden', 'only those who administer the repository may ask for others')
      if (user === undefined) return undefined
      return { user, permission: await permissionOf(tx, user, repository) }
    })
  }

  /**
   * Users who were given a right on the repository, by name: those who may review, or with `write` who may be
   * assigned. Members of the owning organization are among them as far as the viewer may know of their
   * membership.
   * @param right the least right on the code
   */
  withRight(
    viewer: SignedIn,
    { owner, name }: RepositoryName,
    right: 'read' | 'write',
  ): Promise<Account[] | undefined> {
    return this.#store.read(async (tx) => {
      const repository = await readableRepository(tx, viewer, owner, name)
      if (repository === undefined) return undefined
      const members = await knownMembers(tx, viewer, repository.owner)
      const ids = [repository.owner, ...members, ...(await idsOf(tx, repository))]
      const users = (await visibleOf(tx, viewer, repository, ids)).filter(({ kind }) => kind === 'user')
      // Administrators of the instance are not meant, unless they were given a right.
      const rights = await Promise.all(users.map(({ id }) => rightsOn(tx, { id, admin: false }, repository)))
      return users
        .filter((_, index) => rights[index]!.code >= RIGHT[right])
        .sort((left, other) => (left.name.toLowerCase() < other.name.toLowerCase() ? -1 : 1))
    })
  }
}

/**
 * Ids of the members of an organization whom the viewer can see, if the viewer may know of the membership.
 */
const knownMembers = async (
  tx: ReadTransaction,
  viewer: SignedIn,
  organization: number,
): Promise<number[]> => {
  const known: number[] = []
  for (const membership of await memberships.list(tx, 'organization', { prefix: [organization] }))
    if (await mayKnowOf(tx, viewer, membership)) known.push(membership.member)
  return (await visibleAmong(tx, viewer, known)).map(({ id }) => id)
}

/**
 * A user whom the viewer can see; for viewers who administer the repository, also one with whom it is shared.
 */
const knownUser = async (
  tx: ReadTransaction,
  viewer: SignedIn,
  repository: Repository,
  name: string,
): Promise<Account | undefined> => {
  if ((await permissionOn(tx, viewer, repository)).admin) {
    const user = await accountByName(tx, name)
    const { id } = user ?? NO_ACCOUNT
    if ((await collaborators.get(tx, [repository.id, id])) !== undefined) return user
  }
  return visibleUser(viewer, name)(tx)
}

const idsOf = async (tx: ReadTransaction, { id }: Repository): Promise<number[]> => {
  const shared = await collaborators.list(tx, 'repository', { prefix: [id] })
  return shared.map(({ account }) => account)
}

const visibleOf = async (
  tx: ReadTransaction,
  viewer: SignedIn,
  repository: Repository,
  ids: readonly number[],
): Promise<Account[]> => {
  const { admin: seesAll } = await permissionOn(tx, viewer, repository)
  return seesAll ? [...(await accounts.byIds(tx, ids)).values()] : visibleAmong(tx, viewer, ids)
}

const refuseTooManyCollaborators = async (
  tx: ReadTransaction,
  viewer: Viewer,
  { id }: Repository,
  user: Account,
): Promise<void> => {
  if ((await collaborators.count(tx, 'repository', [id])) >= MAX_COLLABORATORS)
    throw new AllotError('conflict', `a repository can have at most ${MAX_COLLABORATORS} collaborators`)
  if (viewer?.admin === true) return
  if ((await collaborators.count(tx, 'account', [user.id])) >= MAX_SHARED)
    throw new AllotError(
      'conflict',
      `${MAX_SHARED} repositories are already shared with ${user.name}: only an administrator can share more`,
    )
}

const permissionOf = async (
  tx: ReadTransaction,
  user: Account,
  repository: Repository,
): Promise<UserPermission['permission']> => {
  if (await owns(tx, user.id, repository.owner)) return 'owner'
  const rights = await rightsOn(tx, user, repository)
  if (rights.code > RIGHT.none) return nameOfRight(rights.code)
  return (await canRead(tx, user, repository)) ? 'read' : 'none'
}
