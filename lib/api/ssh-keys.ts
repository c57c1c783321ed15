import * as v from 'valibot'
import { Empty, Forbidden, NotFound, type PageRequest, ValidationError } from '../http/index.ts'
import { acceptedBooleans, keyId } from './fields.ts'
import { PublicKey, publicKeyResource } from './key-schema.ts'
import type { ListRequest } from './list-response.ts'
import { accountNamed } from './resolve-account.ts'
import { pageOf, reply, route, type Services } from './route.ts'
import { userResource } from './user-schema.ts'

const CreateKeyOption = v.object({
  title: v.pipe(v.string(), v.maxLength(255)),
  /** The longest key that is taken is an eighth of that. */
  key: v.pipe(v.string(), v.maxLength(16 * 1024)),
  ...acceptedBooleans('read_only'),
})

const fingerprintQuery = v.object({ fingerprint: v.optional(v.pipe(v.string(), v.maxLength(255))) })

const listed = (
  { hosting }: Services,
  account: number,
  fingerprint: string | undefined,
  page: PageRequest,
) =>
  fingerprint
    ? hosting.sshKeys.withFingerprint(account, fingerprint, page)
    : hosting.sshKeys.list(account, page)

/** The user of a key, which its owner and administrators are shown. */
const ownerIn = async ({ hosting }: Services, { user, baseUrl }: ListRequest, id: number) => {
  if (user === null || (user.id !== id && !user.admin)) return undefined
  const account = await hosting.accounts.byId(id)
  return account && userResource(account, user, baseUrl)
}

export const sshKeyRoutes = [
  route({
    method: 'GET',
    path: '/user/keys',
    operationId: 'userCurrentListKeys',
    tag: 'user',
    summary: "The signed-in user's SSH public keys",
    auth: 'required',
    scope: 'read:user',
    query: fingerprintQuery,
    paging: 'lenient',
    responses: { 200: v.array(PublicKey) },
    handle: async (request, services) => {
      const { user, query, page, apiUrl } = request
      const { items, total } = await listed(services, user.id, query.fingerprint, page)
      const owner = await ownerIn(services, request, user.id)
      return pageOf(
        items.map((key) => publicKeyResource(key, apiUrl, owner)),
        total,
      )
    },
  }),
  route({
    method: 'POST',
    path: '/user/keys',
    operationId: 'userCurrentPostKey',
    tag: 'user',
    summary: 'Add an SSH public key',
    auth: 'required',
    scope: 'write:user',
    body: CreateKeyOption,
    responses: { 201: PublicKey, 422: ValidationError },
    handle: async (request, services) => {
      const { user, body, client, apiUrl } = request
      const key = await services.hosting.sshKeys.add(user.id, body, client)
      return reply(201, publicKeyResource(key, apiUrl, await ownerIn(services, request, user.id)))
    },
  }),
  route({
    method: 'GET',
    path: '/user/keys/{id}',
    operationId: 'userCurrentGetKey',
    tag: 'user',
    summary: "One of the signed-in user's SSH public keys",
    auth: 'required',
    scope: 'read:user',
    params: keyId,
    responses: { 200: PublicKey, 404: NotFound },
    handle: async (request, services) => {
      const { user, params, apiUrl } = request
      const key = await services.hosting.sshKeys.get(user.id, params.id)
      if (key === undefined) return reply(404)
      return reply(200, publicKeyResource(key, apiUrl, await ownerIn(services, request, user.id)))
    },
  }),
  route({
    method: 'DELETE',
    path: '/user/keys/{id}',
    operationId: 'userCurrentDeleteKey',
    tag: 'user',
    summary: 'Delete an SSH public key',
    auth: 'required',
    scope: 'write:user',
    params: keyId,
    responses: { 204: Empty, 403: Forbidden, 404: NotFound },
    handle: async ({ user, params }, { hosting }) =>
      (await hosting.sshKeys.remove(user.id, params.id)) ? reply(204) : reply(404),
  }),
  route({
    method: 'GET',
    path: '/users/{username}/keys',
    operationId: 'userListKeys',
    tag: 'user',
    summary: "A user's SSH public keys",
    auth: 'optional',
    scope: 'read:user',
    query: fingerprintQuery,
    paging: 'lenient',
    responses: { 200: v.array(PublicKey), 404: NotFound },
    handle: async (request, services) => {
      const { user, params, query, page, apiUrl } = request
      const account = await accountNamed(services, user, params.username)
      if (account === undefined) return reply(404)
      const { items, total } = await listed(services, account.id, query.fingerprint, page)
      const owner = await ownerIn(services, request, account.id)
      return pageOf(
        items.map((key) => publicKeyResource(key, apiUrl, owner)),
        total,
      )
    },
  }),
]
