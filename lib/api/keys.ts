import * as v from 'valibot'
import { Empty, Forbidden, NotFound, type PageRequest, ValidationError } from '../http/index.ts'
import type { SshKey } from '../records/schema/index.ts'
import { acceptedBooleans, keyParams, shortText, timestamp } from './fields.ts'
import { type Recipient, reply, replyEmpty, replyPage, route, type Services } from './route.ts'
import { presentUser, User } from './users.ts'

export const PublicKey = v.object({
  id: v.number(),
  key: v.string(),
  title: v.string(),
  url: v.string(),
  fingerprint: v.string(),
  created_at: v.string(),
  read_only: v.boolean(),
  key_type: v.string(),
  user: v.optional(User),
})

const presentSshKey = (
  key: SshKey,
  { apiUrl }: Recipient,
  user: User | undefined,
): v.InferOutput<typeof PublicKey> => ({
  id: key.id,
  key: key.key,
  title: key.title,
  url: `${apiUrl}/user/keys/${key.id}`,
  fingerprint: key.fingerprint,
  created_at: timestamp(key.createdAt),
  read_only: false,
  key_type: 'user',
  ...(user === undefined ? {} : { user }),
})

const CreateKeyOption = v.object({
  title: shortText,
  /** Eight times the longest key that is accepted. */
  key: v.pipe(v.string(), v.maxLength(16 * 1024)),
  ...acceptedBooleans('read_only'),
})

const FingerprintQuery = v.object({ fingerprint: v.optional(shortText) })

/** The `user` of an account's keys, which is shown to the account itself and to administrators. */
const keyOwner = async ({ hosting }: Services, request: Recipient, id: number): Promise<User | undefined> => {
  const { user } = request
  if (user === null || (user.id !== id && !user.admin)) return undefined
  const account = await hosting.accounts.byId(id)
  return account && presentUser(account, request)
}

const replyKeys = async (
  services: Services,
  request: Recipient & { query: { fingerprint?: string | undefined }; page: PageRequest },
  account: number,
) => {
  const { query, page } = request
  const { sshKeys } = services.hosting
  const keys = query.fingerprint
    ? await sshKeys.withFingerprint(account, query.fingerprint, page)
    : await sshKeys.list(account, page)
  const owner = await keyOwner(services, request, account)
  return replyPage(keys, (key) => presentSshKey(key, request, owner))
}

const read = { auth: 'required', scope: 'read:user', tag: 'user' } as const
const write = { auth: 'required', scope: 'write:user', tag: 'user' } as const

export const sshKeyRoutes = [
  route({
    ...read,
    method: 'GET',
    path: '/user/keys',
    operationId: 'userCurrentListKeys',
    summary: "The signed-in user's SSH public keys",
    query: FingerprintQuery,
    paging: 'lenient',
    responses: { 200: v.array(PublicKey) },
    handle: (request, services) => replyKeys(services, request, request.user.id),
  }),
  route({
    ...write,
    method: 'POST',
    path: '/user/keys',
    operationId: 'userCurrentPostKey',
    summary: 'Add an SSH public key',
    body: CreateKeyOption,
    responses: { 201: PublicKey, 422: ValidationError },
    handle: async (request, services) => {
      const { user, body, client } = request
      const key = await services.hosting.sshKeys.add(user.id, body, client)
      return reply(201, presentSshKey(key, request, await keyOwner(services, request, user.id)))
    },
  }),
  route({
    ...read,
    method: 'GET',
    path: '/user/keys/{id}',
    operationId: 'userCurrentGetKey',
    summary: "One of the signed-in user's SSH public keys",
    params: keyParams,
    responses: { 200: PublicKey, 404: NotFound },
    handle: async (request, services) => {
      const { user, params } = request
      const key = await services.hosting.sshKeys.get(user.id, params.id)
      if (key === undefined) return reply(404)
      return reply(200, presentSshKey(key, request, await keyOwner(services, request, user.id)))
    },
  }),
  route({
    ...write,
    method: 'DELETE',
    path: '/user/keys/{id}',
    operationId: 'userCurrentDeleteKey',
    summary: 'Delete an SSH public key',
    params: keyParams,
    responses: { 204: Empty, 403: Forbidden, 404: NotFound },
    handle: async ({ user, params }, { hosting }) =>
      replyEmpty(await hosting.sshKeys.remove(user.id, params.id)),
  }),
  route({
    ...read,
    auth: 'optional',
    method: 'GET',
    path: '/users/{username}/keys',
    operationId: 'userListKeys',
    summary: "A user's SSH public keys",
    query: FingerprintQuery,
    paging: 'lenient',
    responses: { 200: v.array(PublicKey), 404: NotFound },
    handle: async (request, services) => {
      const account = await services.hosting.accounts.find(request.user, request.params.username)
      return account === undefined ? reply(404) : replyKeys(services, request, account.id)
    },
  }),
]
