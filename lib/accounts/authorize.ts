import { AllotError } from '../errors.ts'
import { type Account, accounts, type Repository } from '../records/schema/index.ts'
import { requireScopes } from '../scopes.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { permissionOn, type SignedIn } from './access.ts'
import { accountByName, readableRepository, visibleAccount, visibleOrganization } from './find.ts'
import { canCreateIn, owns } from './rights.ts'

/**
 * The record to change: its id, which checks no right, or a function that finds it and checks the
 * permission. The function runs in the transaction of the change, so that a permission that was withdrawn
 * meanwhile has no effect.
 */
export type Target<T> = number | Authorizer<T>

/** The account to change. */
export const accountAt = (tx: ReadTransaction, which: Target<Account>): Promise<Account | undefined> =>
  typeof which === 'number' ? accounts.get(tx, [which]) : which(tx)

/**
 * @returns undefined when the record does not exist or the viewer cannot see it
 * @throws AllotError forbidden when the viewer can see it but must not change it
 */
export type Authorizer<T> = (tx: ReadTransaction) => Promise<T | undefined>

/** Whether the viewer is the account, owns it, or administers the instance. */
export const isOwnerOf = async (tx: ReadTransaction, viewer: SignedIn, account: number): Promise<boolean> =>
  viewer.admin || owns(tx, viewer.id, account)

/** A repository that the viewer has admin permission on. */
export const authorizeRepositoryAdmin =
  (viewer: SignedIn, owner: string, name: string): Authorizer<Repository> =>
  async (tx) => {
    const repository = await readableRepository(tx, viewer, owner, name)
    if (repository !== undefined && !(await permissionOn(tx, viewer, repository)).admin)
      throw new AllotError('forbidden', 'only those who administer the repository may do this')
    return repository
  }

/**
 * A repository that the viewer owns, or whose organization the viewer owns. Having admin permission on the
 * repository is not enough; administrators of the instance may.
 */
export const authorizeOwner =
  (viewer: SignedIn, owner: string, name: string): Authorizer<Repository> =>
  async (tx) => {
    const repository = await readableRepository(tx, viewer, owner, name)
    if (repository !== undefined && !(await isOwnerOf(tx, viewer, repository.owner)))
      throw new AllotError('forbidden', 'only owners may do this')
    return repository
  }

/**
 * To create, fork or transfer a repository into an organization needs the scope `write:organization`.
 * @throws AllotError forbidden
 */
export const requireScopeInto = (viewer: SignedIn, { kind }: Account): void => {
  if (kind === 'organization') requireScopes(viewer, { scope: 'write:organization' })
}

/** An organization in which the viewer can create repositories. */
export const authorizeCreateIn =
  (viewer: SignedIn, name: string): Authorizer<Account> =>
  async (tx) => {
    const organization = await visibleOrganization(tx, viewer, name)
    if (organization === undefined) return undefined
    requireScopeInto(viewer, organization)
    if (!viewer.admin && !(await canCreateIn(tx, viewer.id, organization.id)))
      throw new AllotError(
        'forbidden',
        `you may not create repositories in ${organization.name}: ask an owner for a team that may`,
      )
    return organization
  }

/** An organization that the viewer owns; administrators of the instance may change every one. */
export const authorizeOrganization =
  (viewer: SignedIn, name: string): Authorizer<Account> =>
  async (tx) => {
    const organization = await visibleOrganization(tx, viewer, name)
    if (organization !== undefined && !(await isOwnerOf(tx, viewer, organization.id)))
      throw new AllotError('forbidden', `only owners of ${organization.name} may do this`)
    return organization
  }

/**
 * An organization that the viewer can remove the member from: owners can remove anyone, and members can
 * leave.
 */
export const authorizeRemoveMember =
  (viewer: SignedIn, name: string, member: string): Authorizer<Account> =>
  async (tx) => {
    const isSelf = (await accountByName(tx, member))?.id === viewer.id
    return isSelf ? visibleOrganization(tx, viewer, name) : authorizeOrganization(viewer, name)(tx)
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
