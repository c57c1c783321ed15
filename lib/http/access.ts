import { AllotError } from '../errors.ts'
import type { Identity, Route } from './route.ts'

/** "`write:x` implies `read:x`. A missing scope gets 403 and says which one is needed." */
export const checkScopes = ({ scopes }: Identity, { scope }: Pick<Route, 'scope'>): void => {
  if (scope === undefined || scopes.has('all')) return
  const needed = typeof scope === 'string' ? [scope] : scope
  const missing = needed.filter((one) => !scopes.has(one) && !scopes.has(one.replace(/^read:/, 'write:')))
  if (missing.length > 0)
    throw new AllotError(
      'forbidden',
      `token does not have at least one of required scope(s): [${missing.join(', ')}]`,
    )
}

/** "No credentials where they are needed get 401. Credentials without the right get 403." */
export const checkIdentity = (identity: Identity | null, { auth }: Pick<Route, 'auth'>): void => {
  if (auth === 'optional') return
  if (identity === null) throw new AllotError('unauthenticated', 'token is required')
  if (auth === 'admin' && !identity.admin) throw new AllotError('forbidden', 'user should be the site admin')
}
