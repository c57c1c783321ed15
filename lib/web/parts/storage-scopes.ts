/** Who may see the storage of an account: one rule for the pages and for the links to them. */
import type { Identity } from '../../accounts/access.ts'
import type { Account } from '../../records/schema/index.ts'
import { hasScope, type Scope } from '../../scopes.ts'
import type { PageServices } from './route.ts'

/**
 * Scopes, each of which lets the session see the storage of the account; none when the user may not see it.
 */
export const storageScopes = async (
  { hosting }: PageServices,
  user: Identity,
  { id, kind }: Account,
): Promise<Scope[]> => {
  if (user.id === id) return ['read:user']
  const isOwner = kind === 'organization' && (await hosting.organizations.isOwner(id, user.id))
  return [
    ...(user.admin ? (['read:admin'] as const) : []),
    ...(isOwner ? (['read:organization'] as const) : []),
  ]
}

/** Whether the pages of the storage show the account in the session. */
export const maySeeStorage = async (
  services: PageServices,
  user: Identity,
  account: Account,
): Promise<boolean> =>
  (await storageScopes(services, user, account)).some((scope) => hasScope(user.scopes, scope))
