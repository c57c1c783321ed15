import type { Identity } from '../accounts/identity.ts'
import { AllotError } from '../errors.ts'
import { checkScopes } from '../http/access.ts'
import type { Account } from '../records/schema/index.ts'
import type { PageServices } from './route.ts'

/**
 * Finds an owner whose storage the user may see: the user, an organization that the user owns, or, for administrators,
 * any owner.
 * @throws AllotError not_found when there is no such owner or the user may not know of it; forbidden when the user does
 * not own the organization, or the session lacks the scope
 */
export const accessibleOwner = async (
  { hosting }: PageServices,
  user: Identity,
  name: string,
): Promise<Account> => {
  const account = await hosting.accounts.find(user, name)
  if (account?.id === user.id) return withScope(user, account, 'read:user')
  if (account !== undefined && user.admin) return withScope(user, account, 'read:admin')
  if (account?.kind !== 'organization') throw new AllotError('not_found', `there is no owner named ${name}`)
  if (!(await hosting.organizations.isOwner(account.id, user.id)))
    throw new AllotError('forbidden', `only owners of ${account.name} can see its storage`)
  return withScope(user, account, 'read:organization')
}

const withScope = (user: Identity, account: Account, scope: string): Account => {
  checkScopes(user, { scope })
  return account
}

/** Whether the session has a scope: a session that a token started has the scopes of the token. */
export const canRead = ({ scopes }: Identity, category: 'organization' | 'admin'): boolean =>
  ['all', `read:${category}`, `write:${category}`].some((scope) => scopes.has(scope))

const MAX_ORGANIZATIONS = 50

/** The organizations that the user owns, by name; at most {@link MAX_ORGANIZATIONS}. */
export const ownedOrganizations = async ({ hosting }: PageServices, user: Identity): Promise<Account[]> => {
  const { items } = await hosting.organizations.of(user, user.id, { offset: 0, limit: 1000 })
  const isOwned = await Promise.all(items.map(({ id }) => hosting.organizations.isOwner(id, user.id)))
  return items
    .filter((_, index) => isOwned[index])
    .sort((left, right) => left.name.localeCompare(right.name, 'en'))
    .slice(0, MAX_ORGANIZATIONS)
}
