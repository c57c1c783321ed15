import * as v from 'valibot'
import type { Identity } from '../accounts/identity.ts'
import { AllotError } from '../errors.ts'
import { checkScopes, Empty, ErrorBody, Forbidden, NotFound, ValidationError } from '../http/index.ts'
import type { Account } from '../records/schema/index.ts'
import { pageOf, reply, route, type Services } from './route.ts'
import { AccessToken, accessTokenResource } from './token-schema.ts'

const CreateAccessTokenOption = v.object({
  name: v.pipe(v.string(), v.maxLength(255)),
  scopes: v.optional(v.pipe(v.array(v.pipe(v.string(), v.maxLength(50))), v.maxLength(50))),
})

/** Undefined for an account that the caller may not see. Tokens of other users need an administrator and an admin scope. */
const ownAccount = async (
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
  checkScopes(caller, { scope })
  return account
}

/** A token must not make one that may do more than itself; a password may make any. */
const refuseWiderScopes = (caller: Identity, scopes: readonly string[]) => {
  const wider = scopes.find((scope) => !grants(caller.scopes, scope))
  if (wider !== undefined)
    throw new AllotError(
      'forbidden',
      `this token cannot make one with the scope ${wider}, which it does not have itself`,
    )
}

const grants = (scopes: ReadonlySet<string>, scope: string): boolean =>
  scopes.has('all') || scopes.has(scope) || scopes.has(scope.replace(/^read:/, 'write:'))

export const tokenRoutes = [
  route({
    method: 'GET',
    path: '/users/{username}/tokens',
    operationId: 'userGetTokens',
    tag: 'user',
    summary: "A user's access tokens",
    auth: 'required',
    scope: 'read:user',
    paging: 'lenient',
    responses: { 200: v.array(AccessToken), 403: Forbidden, 404: NotFound },
    handle: async ({ user, params, page }, services) => {
      const account = await ownAccount(services, user, params.username, 'read:admin')
      if (account === undefined) return reply(404)
      const { items, total } = await services.hosting.tokens.list(account.id, page)
      return pageOf(
        items.map((token) => accessTokenResource(token)),
        total,
      )
    },
  }),
  route({
    method: 'POST',
    path: '/users/{username}/tokens',
    operationId: 'userCreateToken',
    tag: 'user',
    summary: 'Make an access token, which is shown in this answer and never again',
    auth: 'required',
    scope: 'write:user',
    body: CreateAccessTokenOption,
    responses: { 201: AccessToken, 400: ErrorBody, 403: Forbidden, 404: NotFound, 422: ValidationError },
    handle: async ({ user, params, body }, services) => {
      const account = await ownAccount(services, user, params.username, 'write:admin')
      if (account === undefined) return reply(404)
      refuseWiderScopes(user, body.scopes ?? [])
      const { token, secret } = await services.hosting.tokens.create(account.id, body.name, body.scopes ?? [])
      return reply(201, accessTokenResource(token, secret))
    },
  }),
  route({
    method: 'DELETE',
    path: '/users/{username}/tokens/{token}',
    operationId: 'userDeleteAccessToken',
    tag: 'user',
    summary: 'Revoke an access token, by its id or name',
    auth: 'required',
    scope: 'write:user',
    responses: { 204: Empty, 403: Forbidden, 404: NotFound },
    handle: async ({ user, params }, services) => {
      const account = await ownAccount(services, user, params.username, 'write:admin')
      if (account === undefined) return reply(404)
      return (await services.hosting.tokens.remove(account.id, params.token)) ? reply(204) : reply(404)
    },
  }),
]
