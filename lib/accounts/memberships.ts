import { AllotError } from '../errors.ts'
import { type Page, pageOfAll, type Slice } from '../records/pages.ts'
import { type Account, type Membership, memberships } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { membershipOf, type SignedIn, type Viewer, visibleAmong } from './access.ts'
import { accountByName, visibleAccount, visibleOrganization } from './find.ts'
import { canCreateIn, isFullMember } from './rights.ts'

/** The rights of a member in an organization. */
interface OrganizationPermissions {
  readonly isOwner: boolean
  readonly isAdmin: boolean
  readonly canWrite: boolean
  readonly canRead: boolean
  readonly canCreateRepository: boolean
}

/**
 * Who belongs to an organization, and who may know. Methods return undefined when the viewer cannot see the
 * organization.
 */
export class Memberships {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /**
   * The members whom the viewer can see, by id: all of those for members and administrators, and for others
   * those whose membership is public.
   */
  list(
    viewer: Viewer,
    name: string,
    slice: Slice,
    { publicOnly = false } = {},
  ): Promise<Page<Account> | undefined> {
    return this.#store.read(async (tx) => {
      const organization = await visibleOrganization(tx, viewer, name)
      if (organization === undefined) return undefined
      const showsAll = !publicOnly && (await isMemberOrAdmin(tx, viewer, organization.id))
      const found = await memberships.list(tx, 'organization', { prefix: [organization.id] })
      const shown = found.filter((membership) => showsAll || membership.public === true)
      const ids = shown.map(({ member }) => member)
      const visible = await visibleAmong(tx, viewer, ids)
      return pageOfAll(visible, slice)
    })
  }

  /** Whether the membership of the user is public. */
  isPublic(viewer: Viewer, name: string, memberName: string): Promise<boolean> {
    return this.#store.read(async (tx) => {
      const organization = await visibleOrganization(tx, viewer, name)
      const member = await visibleAccount(tx, viewer, memberName)
      if (organization === undefined || member === undefined) return false
      return (await membershipOf(tx, organization.id, member.id))?.public === true
    })
  }

  /**
   * Publishes the membership of the viewer, or hides it.
   * @returns whether the user is a member
   * @throws AllotError forbidden for the membership of another user
   */
  setPublic(viewer: SignedIn, name: string, memberName: string, isPublic: boolean): Promise<boolean> {
    return this.#store.write(async (tx) => {
      const organization = await visibleOrganization(tx, viewer, name)
      const member = await visibleAccount(tx, viewer, memberName)
      if (organization === undefined || member === undefined) return false
      if (member.id !== viewer.id)
        throw new AllotError('forbidden', 'users decide themselves whether their membership is public')
      const membership = await membershipOf(tx, organization.id, member.id)
      if (membership === undefined) return false
      const { public: _, ...hidden } = membership
      await memberships.save(tx, isPublic ? { ...hidden, public: true } : hidden)
      return true
    })
  }

  /** The rights of a user in an organization. Users ask for themselves, administrators for everyone. */
  permissions(
    viewer: SignedIn,
    userName: string,
    name: string,
  ): Promise<OrganizationPermissions | undefined> {
    return this.#store.read(async (tx) => {
      const organization = await visibleOrganization(tx, viewer, name)
      const user = await accountByName(tx, userName)
      if (organization === undefined || user === undefined) return undefined
      if (user.id !== viewer.id && !viewer.admin) return undefined
      const membership = await membershipOf(tx, organization.id, user.id)
      const canCreate = await canCreateIn(tx, user.id, organization.id)
      return permissionsIn(membership, user, canCreate)
    })
  }
}

/** Whether a viewer is in an organization, or administers the instance. */
export const isMemberOrAdmin = async (
  tx: ReadTransaction,
  viewer: Viewer,
  organization: number,
): Promise<boolean> =>
  viewer !== null && (viewer.admin || (await membershipOf(tx, organization, viewer.id)) !== undefined)

const permissionsIn = (
  membership: Membership | undefined,
  user: Account,
  canCreate: boolean,
): OrganizationPermissions => {
  const isOwner = user.admin || membership?.owner === true
  const isMember = isOwner || membership !== undefined
  return {
    isOwner,
    isAdmin: isOwner,
    canRead: isMember,
    canWrite: isOwner || (membership !== undefined && isFullMember(membership)),
    canCreateRepository: isOwner || canCreate,
  }
}

/**
 * The cost of a user's requests grows with the user's memberships, and the owner of an organization can add
 * anyone to it. So an account that is in JOINED_LIMIT organizations can be added to more only by
 * administrators, and not by a user who already shares COMMON_LIMIT organizations with it.
 */
const JOINED_LIMIT = 100
const COMMON_LIMIT = 50
/** A user who is in so many organizations creates no further one: more would keep others waiting. */
const CREATED_LIMIT = 500

export const refuseTooManyOrganizations = async (tx: ReadTransaction, user: number): Promise<void> => {
  if ((await memberships.count(tx, 'member', [user])) >= CREATED_LIMIT)
    throw new AllotError(
      'conflict',
      `you are in ${CREATED_LIMIT} organizations: only an administrator can create more for you`,
    )
}

export const refuseTooManyMemberships = async (
  tx: ReadTransaction,
  viewer: Viewer,
  { id, name }: Account,
): Promise<void> => {
  if (viewer === null || viewer.admin || viewer.id === id) return
  const joined = await memberships.list(tx, 'member', { prefix: [id], limit: JOINED_LIMIT })
  if (joined.length >= JOINED_LIMIT)
    throw new AllotError(
      'conflict',
      `${name} is already in ${JOINED_LIMIT} organizations: only an administrator can add more`,
    )
  const keys = joined.map(({ organization }) => [organization, viewer.id])
  const common = (await memberships.getMany(tx, keys)).filter((membership) => membership !== undefined)
  if (common.length >= COMMON_LIMIT)
    throw new AllotError(
      'conflict',
      `you are already in ${COMMON_LIMIT} organizations together with ${name}: only an administrator can add more`,
    )
}
