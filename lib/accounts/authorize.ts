import { AllotError } from '../errors.ts'
import type { Account, Repository } from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import {
  accountByName,
  membershipOf,
  permissionOn,
  readableRepository,
  type Viewer,
  visibleAccount,
  visibleOrganization,
} from './access.ts'

/**
 * What is to be changed: the id of it, or how to find it and whether the change is allowed. That is asked within the
 * transaction of the change itself, so that nothing is done by whoever was allowed to only a moment before.
 */
export type Target<T> = number | Authorizer<T>

/** Undefined for whoever may not know that it is there. @throws AllotError forbidden for others who may not. */
export type Authorizer<T> = (tx: ReadTransaction) => Promise<T | undefined>

type SignedIn = NonNullable<Viewer>

const isOwnerOf = async (tx: ReadTransaction, viewer: SignedIn, account: number): Promise<boolean> =>
  viewer.admin || viewer.id === account || (await membershipOf(tx, account, viewer.id))?.owner === true

/** A repository that the viewer may administer. */
export const authorizeAdmin =
  (viewer: SignedIn, owner: string, name: string): Authorizer<Repository> =>
  async (tx) => {
    const repository = await readableRepository(tx, viewer, owner, name)
    if (repository !== undefined && !(await permissionOn(tx, viewer, repository)).admin)
      throw new AllotError('forbidden', 'only owners may do this')
    return repository
  }

/** Nobody can be made to pay for a repository by a stranger: it goes to oneself or to an organization one owns. */
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

/** An organization that the viewer may create repositories in. */
export const authorizeCreateIn =
  (viewer: SignedIn, name: string): Authorizer<Account> =>
  async (tx) => {
    const organization = await visibleOrganization(tx, viewer, name)
    if (organization === undefined || viewer.admin) return organization
    if ((await membershipOf(tx, organization.id, viewer.id)) === undefined)
      throw new AllotError('forbidden', `only members of ${organization.name} may create repositories in it`)
    return organization
  }

/** An organization whose members the viewer may change. */
export const authorizeMembersOf =
  (viewer: SignedIn, name: string): Authorizer<Account> =>
  async (tx) => {
    const organization = await visibleOrganization(tx, viewer, name)
    if (organization !== undefined && !(await isOwnerOf(tx, viewer, organization.id)))
      throw new AllotError('forbidden', `only owners of ${organization.name} may do this`)
    return organization
  }

/** An organization that a member may be taken out of: owners may take out anyone, and everyone may leave. */
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

/** Also one that has hidden itself since it joined: owners can still let it go. */
export const anyAccount =
  (name: string): Authorizer<Account> =>
  (tx) =>
    accountByName(tx, name)
