import * as v from 'valibot'
import { scopeOfKey } from '../accounts/keys.ts'
import { now } from '../clock.ts'
import type { Pagination } from '../http/index.ts'
import { accounts, type GpgKey, type SshKey } from '../records/schema/index.ts'
import { TEXT_LIMITS } from '../records/text-limits.ts'
import { requireScopesToGive } from '../scopes.ts'
import { example, keyId, number, parameter, shortText, Time, text, timestamp } from './fields.ts'
import { at, type Services } from './route.ts'
import { presentUser, User } from './users.ts'
import type { View } from './view.ts'

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

/** Keys of one account. Their `user` is shown to the account itself and to administrators. */
const keyView: View<typeof PublicKey, SshKey> = {
  schema: PublicKey,
  async all(keys, request, read) {
    const { user, apiUrl } = request
    const id = keys[0]?.account
    const isShown = id !== undefined && user !== null && (user.admin || user.id === id)
    const account = isShown ? await read((tx) => accounts.get(tx, [id])) : undefined
    const owner = account && { user: presentUser(account, request) }
    return keys.map((key) => ({
      id: key.id,
      key: key.key,
      title: key.title,
      url: `${apiUrl}/user/keys/${key.id}`,
      fingerprint: key.fingerprint,
      created_at: timestamp(key.createdAt),
      read_only: key.readOnly === true,
      key_type: 'user',
      ...owner,
    }))
  },
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

const listKeys = (
  { sshKeys }: Services['hosting'],
  { query, page }: { query: { fingerprint?: string | undefined }; page: Pagination },
  account: number,
) =>
  query.fingerprint ? sshKeys.withFingerprint(account, query.fingerprint, page) : sshKeys.list(account, page)

const own = at('/user', { tag: 'user', scope: 'user', reads: 'required', ids: { id: keyId } })
const ofUser = at('/users/{username}', { tag: 'user', scope: 'user' })

export const sshKeyRoutes = [
  own.list('userCurrentListKeys', '/keys', {
    summary: "The signed-in user's SSH public keys",
    query: FingerprintQuery,
    of: keyView,
    run: (request, { hosting }) => listKeys(hosting, request, request.user.id),
  }),
  own.post('userCurrentPostKey', '/keys', {
    summary: 'Add an SSH public key',
    body: CreateKeyOption,
    of: keyView,
    run: async ({ user, client, body: { read_only: readOnly, ...body } }, { hosting }) => {
      requireScopesToGive(user, 'an SSH key', [scopeOfKey({ readOnly })])
      return hosting.sshKeys.add(user.id, { ...body, readOnly }, client())
    },
  }),
  own.get('userCurrentGetKey', '/keys/{id}', {
    summary: "One of the signed-in user's SSH public keys",
    of: keyView,
    run: ({ user, params }, { hosting }) => hosting.sshKeys.get(user.id, params.id),
  }),
  own.delete('userCurrentDeleteKey', '/keys/{id}', {
    summary: 'Delete an SSH public key',
    run: ({ user, params }, { hosting }) => hosting.sshKeys.remove(user.id, params.id),
  }),
  ofUser.list('userListKeys', '/keys', {
    summary: "A user's SSH public keys",
    query: FingerprintQuery,
    of: keyView,
    run: async (request, { hosting }) => {
      const account = await hosting.accounts.find(request.user, request.params.username)
      return account && listKeys(hosting, request, account.id)
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

/** Keys of one account, whose address decides which of their emails is verified. */
const gpgKeyView: View<typeof GPGKey, GpgKey> = {
  schema: GPGKey,
  async all(keys, _recipient, read) {
    const [first] = keys
    const owner = first && (await read((tx) => accounts.get(tx, [first.account])))
    return keys.map((key) => presentGpgKey(key, owner?.email ?? ''))
  },
}

export const gpgKeyRoutes = [
  own.list('userCurrentListGPGKeys', '/gpg_keys', {
    summary: "The signed-in user's GPG keys",
    of: gpgKeyView,
    run: ({ user, page }, { hosting }) => hosting.gpgKeys.list(user.id, page),
  }),
  own.post('userCurrentPostGPGKey', '/gpg_keys', {
    summary: 'Add a GPG key',
    body: CreateGPGKeyOption,
    of: gpgKeyView,
    run: ({ user, body, client }, { hosting }) =>
      hosting.gpgKeys.add(user.id, { armored: body.armored_public_key }, client()),
  }),
  own.get('userCurrentGetGPGKey', '/gpg_keys/{id}', {
    summary: "One of the signed-in user's GPG keys",
    of: gpgKeyView,
    run: ({ user, params }, { hosting }) => hosting.gpgKeys.get(user.id, params.id),
  }),
  own.delete('userCurrentDeleteGPGKey', '/gpg_keys/{id}', {
    summary: 'Delete a GPG key',
    run: ({ user, params }, { hosting }) => hosting.gpgKeys.remove(user.id, params.id),
  }),
  ofUser.list('userListGPGKeys', '/gpg_keys', {
    summary: "A user's GPG keys",
    of: gpgKeyView,
    run: async ({ user, params, page }, { hosting }) => {
      const account = await hosting.accounts.find(user, params.username)
      return account && hosting.gpgKeys.list(account.id, page)
    },
  }),
]
