import * as v from 'valibot'
import type { Identity } from '../accounts/access.ts'
import { AllotError } from '../errors.ts'
import { requireScopes } from '../http/index.ts'
import type { Account, Token } from '../records/schema/index.ts'
import { requireScopesToGive } from '../scopes.ts'
import * as f from './fields.ts'
import { at, type Services } from './route.ts'
import { resource } from './view.ts'

const tokenView = resource<Token & { readonly secret?: string }>()({
  id: [f.number(4), ({ id }) => id],
  name: [f.text('ci'), ({ name }) => name],
  /** The token itself in the reply that creates it; empty in every other. */
  sha1: [f.text(''), ({ secret = '' }) => secret],
  token_last_eight: [f.text('f3b0c442'), ({ lastEight }) => lastEight],
  scopes: [v.array(f.text('read:user')), ({ scopes }) => scopes],
  created_at: [f.Time, ({ createdAt }) => f.timestamp(createdAt)],
  /** When the token was last used, at most 61 minutes too early; null while it was not. */
  last_used_at: [v.nullable(f.Time), ({ lastUsedAt }) => f.timeOrNull(lastUsedAt)],
})
export const AccessToken = tokenView.schema
export type AccessToken = v.InferOutput<typeof AccessToken>

const CreateAccessTokenOption = v.object({
  name: f.example(f.shortText, 'ci'),
  scopes: v.optional(v.pipe(v.array(v.pipe(f.text('read:user'), v.maxLength(50))), v.maxLength(50))),
})

/**
 * The account whose tokens a path names; undefined when the caller may not see it.
 * @throws AllotError forbidden for another user's tokens without an administrator's token that has the admin
 * scope
 */
const tokenOwner = async (
  { hosting }: Services,
  caller: Identity,
  username: string,
  scope: 'read:admin' | 'write:admin',
): Promise<Account | undefined> => {
  const account = await hosting.accounts.find(caller, username)
  if (account?.kind !== 'user') return undefined
  if (account.id === caller.id) return account
  if (!caller.admin)
    throw new AllotError('forbidden', 'the tokens of another user are for administrators only')
  requireScopes(caller, { scope })
  return account
}

const tokens = at('/users/{username}/tokens', { scope: 'user', reads: 'required' })

export const tokenRoutes = [
  tokens.list('userGetTokens', '', {
    summary: "A user's access tokens",
    of: tokenView,
    run: async ({ user, params, page }, services) => {
      const account = await tokenOwner(services, user, params.username, 'read:admin')
      return account && services.hosting.tokens.list(account.id, page)
    },
  }),
  tokens.post('userCreateToken', '', {
    summary: 'Make an access token, which is shown in this answer and never again',
    body: CreateAccessTokenOption,
    of: tokenView,
    also: [400],
    run: async ({ user, params, body: { name, scopes = [] } }, services) => {
      const account = await tokenOwner(services, user, params.username, 'write:admin')
      if (account === undefined) return undefined
      requireScopesToGive(user, 'a token', scopes)
      const { token, secret } = await services.hosting.tokens.create(account.id, name, scopes, user)
      return { ...token, secret }
    },
  }),
  tokens.delete('userDeleteAccessToken', '/{token}', {
    summary: 'Revoke an access token, by its id or name',
    run: async ({ user, params }, services) => {
      const account = await tokenOwner(services, user, params.username, 'write:admin')
      return account && services.hosting.tokens.remove(account.id, params.token, user)
    },
  }),
]
