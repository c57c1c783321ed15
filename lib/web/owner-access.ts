import type { Identity } from '../accounts/identity.ts'
import { AllotError } from '../errors.ts'
import { checkScopes } from '../http/scopes.ts'
import type { Account } from '../records/schema/index.ts'
import type { PageServices } from './route.ts'

/**
 * Whoever's storage the user may see: their own, that of organizations that they own, and for administrators everyone's.
 * @throws AllotError not_found for what is not there and for what the user may not know of, alike; forbidden for an
 * organization that the user does not own.
 */
export const accessibleOwner = async (
  { hosting }: PageServices,
  user: Identity,
  name: string,
): Promise<Account> => {
  const account = await hosting.accounts.find(user, name)
  if (account?.id === user.id) return scoped(user, account, 'read:user')
  if (account !== undefined && user.admin) return scoped(user, account, 'read:admin')
  if (account?.kind !== 'organization') throw new AllotError('not_found', 'there is no such owner')
  if (!(await hosting.organizations.isOwner(account.id, user.id)))
    throw new AllotError('forbidden', `the storage of ${account.name} is shown to its owners alone`)
  return scoped(user, account, 'read:organization')
}

const scoped = (user: Identity, account: Account, scope: string): Account => {
  checkScopes(user, { scope })
  return account
}

/** So many organizations are shown beside an owner. */
const SHOWN = 50

/** The organizations that somebody owns, by their names. */
export const ownedOrganizations = async ({ hosting }: PageServices, user: Identity): Promise<Account[]> => {
  const { items } = await hosting.organizations.of(user, user.id, { offset: 0, limit: 1000 })
  const owned = await Promise.all(
    items.map(async (one) => ((await hosting.organizations.isOwner(one.id, user.id)) ? [one] : [])),
  )
  return owned
    .flat()
    .sort((one, other) => one.name.localeCompare(other.name, 'en'))
    .slice(0, SHOWN)
}
