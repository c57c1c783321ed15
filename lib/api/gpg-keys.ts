import * as v from 'valibot'
import { Empty, Forbidden, NotFound, ValidationError } from '../http/index.ts'
import { keyId } from './fields.ts'
import { GPGKey, gpgKeyResource } from './key-schema.ts'
import { accountNamed } from './resolve-account.ts'
import { pageOf, reply, route, type Services } from './route.ts'

const CreateGPGKeyOption = v.object({
  /** A key with the signatures of a hundred others has room in it. */
  armored_public_key: v.pipe(v.string(), v.maxLength(128 * 1024)),
})

/** The one address that is verified on a key of this account. */
const emailOf = async ({ hosting }: Services, id: number) => (await hosting.accounts.byId(id))?.email ?? ''

export const gpgKeyRoutes = [
  route({
    method: 'GET',
    path: '/user/gpg_keys',
    operationId: 'userCurrentListGPGKeys',
    tag: 'user',
    summary: "The signed-in user's GPG keys",
    auth: 'required',
    scope: 'read:user',
    paging: 'lenient',
    responses: { 200: v.array(GPGKey) },
    handle: async ({ user, page }, services) => {
      const { items, total } = await services.hosting.gpgKeys.list(user.id, page)
      const email = await emailOf(services, user.id)
      return pageOf(
        items.map((key) => gpgKeyResource(key, email)),
        total,
      )
    },
  }),
  route({
    method: 'POST',
    path: '/user/gpg_keys',
    operationId: 'userCurrentPostGPGKey',
    tag: 'user',
    summary: 'Add a GPG key',
    auth: 'required',
    scope: 'write:user',
    body: CreateGPGKeyOption,
    responses: { 201: GPGKey, 422: ValidationError },
    handle: async ({ user, body, client }, services) => {
      const key = await services.hosting.gpgKeys.add(user.id, { armored: body.armored_public_key }, client)
      return reply(201, gpgKeyResource(key, await emailOf(services, user.id)))
    },
  }),
  route({
    method: 'GET',
    path: '/user/gpg_keys/{id}',
    operationId: 'userCurrentGetGPGKey',
    tag: 'user',
    summary: "One of the signed-in user's GPG keys",
    auth: 'required',
    scope: 'read:user',
    params: keyId,
    responses: { 200: GPGKey, 404: NotFound },
    handle: async ({ user, params }, services) => {
      const key = await services.hosting.gpgKeys.get(user.id, params.id)
      return key === undefined
        ? reply(404)
        : reply(200, gpgKeyResource(key, await emailOf(services, user.id)))
    },
  }),
  route({
    method: 'DELETE',
    path: '/user/gpg_keys/{id}',
    operationId: 'userCurrentDeleteGPGKey',
    tag: 'user',
    summary: 'Delete a GPG key',
    auth: 'required',
    scope: 'write:user',
    params: keyId,
    responses: { 204: Empty, 403: Forbidden, 404: NotFound },
    handle: async ({ user, params }, { hosting }) =>
      (await hosting.gpgKeys.remove(user.id, params.id)) ? reply(204) : reply(404),
  }),
  route({
    method: 'GET',
    path: '/users/{username}/gpg_keys',
    operationId: 'userListGPGKeys',
    tag: 'user',
    summary: "A user's GPG keys",
    auth: 'optional',
    scope: 'read:user',
    paging: 'lenient',
    responses: { 200: v.array(GPGKey), 404: NotFound },
    handle: async ({ user, params, page }, services) => {
      const account = await accountNamed(services, user, params.username)
      if (account === undefined) return reply(404)
      const { items, total } = await services.hosting.gpgKeys.list(account.id, page)
      return pageOf(
        items.map((key) => gpgKeyResource(key, account.email)),
        total,
      )
    },
  }),
]
