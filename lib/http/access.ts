/**
 * Who may call a route: credentials, administrator rights and scopes. The dispatcher checks it before a
 * handler runs; pages read a form first, for its CSRF token.
 */
import { AllotError } from '../errors.ts'
import { requireScopes, type Scope } from '../scopes.ts'

/**
 * Who sent a request, as far as access to routes depends on it. The scope `all` grants everything, and
 * `write:x` implies `read:x`.
 */
export interface Caller {
  readonly username: string
  readonly admin: boolean
  readonly scopes: ReadonlySet<string>
}

/**
 * `required`: 401 without credentials. `admin`: 401 without credentials, 403 for everyone but administrators.
 */
export type Auth = 'optional' | 'required' | 'admin'

/** Declares who may call a route. */
export interface AccessRule {
  /** `none`: the request is not even authenticated, so wrong credentials are not noticed. */
  readonly auth: Auth | 'none'
  /** Scopes that a request with credentials needs, all of them. */
  readonly scope?: Scope | readonly Scope[]
}

/** Messages of 401 and 403 for requests that lack a login or administrator rights. */
export interface AccessMessages {
  readonly unauthenticated: string
  readonly notAdmin: string
}

export const API_MESSAGES: AccessMessages = {
  unauthenticated: 'token is required',
  notAdmin: 'user should be the site admin',
}

/**
 * Checks scopes first, so that a token without the scope gets 403 wherever it is used.
 * @throws AllotError forbidden, unauthenticated
 */
export const checkAccess = (
  caller: Caller | null,
  rule: AccessRule,
  messages: AccessMessages = API_MESSAGES,
): void => {
  if (caller !== null) requireScopes(caller, rule)
  if (rule.auth === 'optional') return
  if (caller === null) throw new AllotError('unauthenticated', messages.unauthenticated)
  if (rule.auth === 'admin' && !caller.admin) throw new AllotError('forbidden', messages.notAdmin)
}
