import { AllotError } from './errors.ts'

/** Scopes as Forgejo names them; `write:x` implies `read:x`. */
export const SCOPES = [
  'all',
  'read:user',
  'write:user',
  'read:repository',
  'write:repository',
  'read:organization',
  'write:organization',
  'read:package',
  'write:package',
  'read:issue',
  'write:issue',
  'read:admin',
  'write:admin',
  // Allows exports, which hold password hashes and private data. Neither `read:admin` nor `write:admin`
  // includes it.
  'read:secrets',
  'read:misc',
  'write:misc',
] as const

/** A scope of tokens, such as `read:user`. */
export type Scope = (typeof SCOPES)[number]

/** The scopes of a password, and of a host whose login names none. */
export const ALL_SCOPES: ReadonlySet<string> = new Set(['all'])

/** Whether the scopes include one: `write:x` includes `read:x`, and `all` includes every scope. */
export const hasScope = (scopes: ReadonlySet<string> | undefined, scope: string): boolean =>
  scopes === undefined ||
  scopes.has('all') ||
  scopes.has(scope) ||
  scopes.has(scope.replace(/^read:/, 'write:'))

/**
 * Refuses to give lasting access that may do more than the credentials of the request, which it outlives: by
 * a token, a key, a password or the right of an administrator.
 * @param what has the scopes then, such as `an SSH key`
 * @throws AllotError forbidden that names the first scope which the credentials lack
 */
export const requireScopesToGive = (
  { scopes }: { readonly scopes?: ReadonlySet<string> | undefined },
  what: string,
  given: readonly string[],
): void => {
  const wider = given.find((scope) => !hasScope(scopes, scope))
  if (wider !== undefined)
    throw new AllotError(
      'forbidden',
      `this token cannot give ${what} the scope ${wider}, which it does not have itself`,
    )
}

/**
 * Refuses credentials without the scopes, all of them.
 * @throws AllotError forbidden that names the missing scopes
 */
export const requireScopes = (
  { scopes }: { readonly scopes?: ReadonlySet<string> | undefined },
  { scope }: { readonly scope?: Scope | readonly Scope[] },
): void => {
  if (scope === undefined) return
  const needed = typeof scope === 'string' ? [scope] : scope
  const missing = needed.filter((name) => !hasScope(scopes, name))
  if (missing.length > 0)
    // All of them are missing and needed; the wording is Forgejo's, whose clients compare it.
    throw new AllotError(
      'forbidden',
      `token does not have at least one of required scope(s): [${missing.join(', ')}]`,
    )
}
