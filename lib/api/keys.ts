import * as v from 'valibot'
import { scopeOfKey } from '../accounts/keys.ts'
import { now } from '../clock.ts'
import { Empty, Forbidden, NotFound, type Pagination, ValidationError } from '../http/index.ts'
import type { GpgKey, SshKey } from '../records/schema/index.ts'
import { TEXT_LIMITS } from '../records/text-limits.ts'
import { requireScopesToGive } from '../scopes.ts'
import { example, keyParams, number, parameter, shortText, Time, text, timestamp } from './fields.ts'
import { type Recipient, reply, replyEmpty, replyPage, route, type Services } from './route.ts'
import { presentUser, User } from './users.ts'

const SSH_KEY =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFPr7Mm60ALRWE24VPU1YvZPKEMA4Ckzo7OK+C2+mnQT alice@laptop'

export const PublicKey = v.object({
  id: number(5),
  key: text(SSH_KEY),
  title: text('laptop'),
  url: text('https://code.example.org/api/v1/user/keys/5'),
  fingerprint: text('SHA256:KpzXcUFEJ46HTMBY2hUV0vIprdt8B50nJ9VNUU1BpsA'),
  created_at: Time,
  read_only: v.boolean(),
  key_type: text('user'),
  user: v.optional(User),
})

/** Presents keys of an account. Their `user` is shown to the account itself and to administrators. */
const sshKeyPresenter = async ({ hosting }: Services, request: Recipient, id: number) => {
  const { user, apiUrl } = request
  const isShown = user !== null && (user.admin || user.id === id)
  const account = isShown ? await hosting.accounts.byId(id) : undefined
  const owner = account && { user: presentUser(account, request) }
  return (key: SshKey): v.InferOutput<typeof PublicKey> => ({
    id: key.id,
    key: key.key,
    title: key.title,
    url: `${apiUrl}/user/keys/${key.id}`,
    fingerprint: key.fingerprint,
    created_at: timestamp(key.createdAt),
    read_only: key.readOnly === true,
    key_type: 'user',
    ...owner,
  })
}

const CreateKeyOption = v.object({
  title: example(shortText, 'laptop'),
  /** The longest key that is accepted. */
  key: v.pipe(text(SSH_KEY), v.maxLength(TEXT_LIMITS.sshKey.key)),
  read_only: v.optional(example(v.boolean(), false)),
})

const FingerprintQuery = v.object({
  fingerprint: v.optional(parameter(shortText, 'Fingerprint of the only key to list, such as `SHA256:…`.')),
})

const replyKeys = async (
  services: Services,
  request: Recipient & { query: { fingerprint?: string | undefined }; page: Pagination },
  account: number,
) => {
  const { query, page } = request
  const { sshKeys } = services.hosting
  const keys = query.fingerprint
    ? await sshKeys.withFingerprint(account, query.fingerprint, page)
    : await sshKeys.list(account, page)
  return replyPage(keys, await sshKeyPresenter(services, request, account))
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
    paging: 'pages',
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
    responses: { 201: PublicKey, 403: Forbidden, 422: ValidationError },
    handle: async (request, services) => {
      const { user, client } = request
      const { read_only: readOnly, ...body } = request.body
      requireScopesToGive(user, 'an SSH key', [scopeOfKey({ readOnly })])
      const key = await services.hosting.sshKeys.add(user.id, { ...body, readOnly }, client())
      const present = await sshKeyPresenter(services, request, user.id)
      return reply(201, present(key))
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
      const present = await sshKeyPresenter(services, request, user.id)
      return reply(200, present(key))
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
    paging: 'pages',
    responses: { 200: v.array(PublicKey), 404: NotFound },
    handle: async (request, services) => {
      const account = await services.hosting.accounts.find(request.user, request.params.username)
      return account === undefined ? reply(404) : replyKeys(services, request, account.id)
    },
  }),
]

export const GPGKeyEmail = v.object({ email: text('alice@example.org'), verified: v.boolean() })

const members = {
  id: number(6),
  primary_key_id: text(''),
  key_id: text('4C0AE6A2D1F5B9E3'),
  public_key: text('xjMEZ…'),
  emails: v.array(GPGKeyEmail),
  can_sign: v.boolean(),
  can_encrypt_comms: v.boolean(),
  can_encrypt_storage: v.boolean(),
  can_certify: v.boolean(),
  created_at: Time,
  expires_at: v.nullable(v.string()),
  revoked: v.boolean(),
  expired: v.boolean(),
}
const Subkey = v.object({ ...members, subkeys: example(v.pipe(v.array(v.string()), v.maxLength(0)), []) })
export const GPGKey = v.object({ ...members, subkeys: v.array(Subkey) })

/**
 * @param ownerEmail address of the key's owner, the only one that is verified; shown as verified to everyone
 */
const presentGpgKey = (key: GpgKey, ownerEmail: string): v.InferOutput<typeof GPGKey> => ({
  ...presentPart(key, key, ''),
  emails: key.emails.map((email) => ({
    email,
    verified: ownerEmail !== '' && email.toLowerCase() === ownerEmail.toLowerCase(),
  })),
  subkeys: key.subkeys.map((subkey) => ({ ...presentPart(subkey, key, key.keyId), emails: [], subkeys: [] })),
})

/** @param primary whose revocation and expiry hold for its subkeys, too */
const presentPart = (key: GpgKey['subkeys'][number], primary: GpgKey, primaryKeyId: string) => {
  const revoked = key.revoked === true || primary.revoked === true
  const expired = [key, primary].some(({ expiresAt }) => expiresAt !== null && expiresAt <= now())
  const isUsable = !revoked && !expired
  return {
    id: key.id,
    primary_key_id: primaryKeyId,
    key_id: key.keyId,
    public_key: key.publicKey,
    can_sign: isUsable && key.canSign,
    can_encrypt_comms: isUsable && key.canEncryptComms,
    can_encrypt_storage: isUsable && key.canEncryptStorage,
    can_certify: isUsable && key.canCertify,
    created_at: timestamp(key.createdAt),
    expires_at: key.expiresAt === null ? null : timestamp(key.expiresAt),
    revoked,
    expired,
  }
}

const CreateGPGKeyOption = v.object({
  /** Large enough for a key with the signatures of a hundred others. */
  armored_public_key: v.pipe(text('-----BEGIN PGP PUBLIC KEY BLOCK-----…'), v.maxLength(128 * 1024)),
})

const ownerEmailOf = async ({ hosting }: Services, id: number) =>
  (await hosting.accounts.byId(id))?.email ?? ''

export const gpgKeyRoutes = [
  route({
    ...read,
    method: 'GET',
    path: '/user/gpg_keys',
    operationId: 'userCurrentListGPGKeys',
    summary: "The signed-in user's GPG keys",
    paging: 'pages',
    responses: { 200: v.array(GPGKey) },
    handle: async ({ user, page }, services) => {
      const keys = await services.hosting.gpgKeys.list(user.id, page)
      const email = await ownerEmailOf(services, user.id)
      return replyPage(keys, (key) => presentGpgKey(key, email))
    },
  }),
  route({
    ...write,
    method: 'POST',
    path: '/user/gpg_keys',
    operationId: 'userCurrentPostGPGKey',
    summary: 'Add a GPG key',
    body: CreateGPGKeyOption,
    responses: { 201: GPGKey, 422: ValidationError },
    handle: async ({ user, body, client }, services) => {
      const key = await services.hosting.gpgKeys.add(user.id, { armored: body.armored_public_key }, client())
      return reply(201, presentGpgKey(key, await ownerEmailOf(services, user.id)))
    },
  }),
  route({
    ...read,
    method: 'GET',
    path: '/user/gpg_keys/{id}',
    operationId: 'userCurrentGetGPGKey',
    summary: "One of the signed-in user's GPG keys",
    params: keyParams,
    responses: { 200: GPGKey, 404: NotFound },
    handle: async ({ user, params }, services) => {
      const key = await services.hosting.gpgKeys.get(user.id, params.id)
      return key === undefined
        ? reply(404)
        : reply(200, presentGpgKey(key, await ownerEmailOf(services, user.id)))
    },
  }),
  route({
    ...write,
    method: 'DELETE',
    path: '/user/gpg_keys/{id}',
    operationId: 'userCurrentDeleteGPGKey',
    summary: 'Delete a GPG key',
    params: keyParams,
    responses: { 204: Empty, 403: Forbidden, 404: NotFound },
    handle: async ({ user, params }, { hosting }) =>
      replyEmpty(await hosting.gpgKeys.remove(user.id, params.id)),
  }),
  route({
    ...read,
    auth: 'optional',
    method: 'GET',
    path: '/users/{username}/gpg_keys',
    operationId: 'userListGPGKeys',
    summary: "A user's GPG keys",
    paging: 'pages',
    responses: { 200: v.array(GPGKey), 404: NotFound },
    handle: async ({ user, params, page }, { hosting }) => {
      const account = await hosting.accounts.find(user, params.username)
      if (account === undefined) return reply(404)
      return replyPage(await hosting.gpgKeys.list(account.id, page), (key) =>
        presentGpgKey(key, account.email),
      )
    },
  }),
]
