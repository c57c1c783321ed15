import * as v from 'valibot'
import type { Identity } from '../accounts/access.ts'
import { AllotError } from '../errors.ts'
import { Empty, ErrorBody, Forbidden, NotFound, requireScopes, ValidationError } from '../http/index.ts'
import type { Account, Token } from '../records/schema/index.ts'
import { requireScopesToGive } from '../scopes.ts'
import { example, number, shortText, Time, text, timestamp } from './fields.ts'
import { reply, replyEmpty, replyPage, route, type Services } from './route.ts'

export const AccessToken = v.object({
  id: number(4),
  name: text('ci'),
  /** The token itself in the reply that creates it; empty in every other. */
  sha1: text(''),
  token_last_eight: text('f3b0c442'),
  scopes: v.array(text('read:user')),
  created_at: Time,
  /** When the token was last used, at most 61 minutes too early; null while it was not. */
  last_used_at: v.nullable(Time),
})
export type AccessToken = v.InferOutput<typeof AccessToken>

const presentToken = (token: Token, secret = ''): AccessToken => ({
  id: token.id,
  name: token.name,
  sha1: secret,
  token_last_eight: token.lastEight,
  scopes: token.scopes,
  created_at: timestamp(token.createdAt),
  last_used_at: token.lastUsedAt === undefined ? null : timestamp(token.lastUsedAt),
})

const CreateAccessTokenOption = v.object({
  name: example(shortText, 'ci'),
  scopes: v.optional(v.pipe(v.array(v.pipe(text('read:user'), v.maxLength(50))), v.maxLength(50))),
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

const write = { auth: 'required', scope: 'write:user', tag: 'user' } as const

export const tokenRoutes = [
  route({
    method: 'GET',
    path: '/users/{username}/tokens',
    operationId: 'userGetTokens',
    tag: 'user',
    summary: "A user's access tokens",
    auth: 'required',
    scope: 'read:user',
    paging: 'pages',
    responses: { 200: v.array(AccessToken), 403: Forbidden, 404: NotFound },
    handle: async ({ user, params, page }, services) => {
      const account = await tokenOwner(services, user, params.username, 'read:admin')
      if (account === undefined) return reply(404)
      return replyPage(await services.hosting.tokens.list(account.id, page), (token) => presentToken(token))
    },
  }),
  route({
    ...write,
    method: 'POST',
    path: '/users/{username}/tokens',
    operationId: 'userCreateToken',
    summary: 'Make an access token, which is shown in this answer and never again',
    body: CreateAccessTokenOption,
    responses: { 201: AccessToken, 400: ErrorBody, 403: Forbidden, 404: NotFound, 422: ValidationError },
    handle: async ({ user, params, body: { name, scopes = [] } }, services) => {
      const account = await tokenOwner(services, user, params.username, 'write:admin')
      if (account === undefined) return reply(404)
      requireScopesToGive(user, 'a token', scopes)
      const { token, secret } = await services.hosting.tokens.create(account.id, name, scopes, user)
      return reply(201, presentToken(token, secret))
    },
  }),
  route({
    ...write,
    method: 'DELETE',
    path: '/users/{username}/tokens/{token}',
    operationId: 'userDeleteAccessToken',
    summary: 'Revoke an access token, by its id or name',
    responses: { 204: Empty, 403: Forbidden, 404: NotFound },
    handle: async ({ user, params }, services) => {
      const account = await tokenOwner(services, user, params.username, 'write:admin')
      if (account === undefined) return reply(404)
      return replyEmpty(await services.hosting.tokens.remove(account.id, params.token, user))
    },
  }),
]
