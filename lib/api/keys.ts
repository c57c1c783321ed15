import * as v from 'valibot'
import { scopeOfKey } from '../accounts/keys.ts'
import { now } from '../clock.ts'
import type { Pagination } from '../http/index.ts'
import { type Account, accounts, type GpgKey, type SshKey } from '../records/schema/index.ts'
import { TEXT_LIMITS } from '../records/text-limits.ts'
import { requireScopesToGive } from '../scopes.ts'
import * as f from './fields.ts'
import { at, type Services } from './route.ts'
import { presentUser, User } from './users.ts'
import { resource, type View } from './view.ts'

const SSH_KEY =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFPr7Mm60ALRWE24VPU1YvZPKEMA4Ckzo7OK+C2+mnQT alice@laptop'

const publicKey = resource<SshKey & { readonly owner: Account | undefined }>()({
  id: [f.number(5), ({ id }) => id],
  key: [f.text(SSH_KEY), ({ key }) => key],
  title: [f.text('laptop'), ({ title }) => title],
  url: [f.link('/api/v1/user/keys/5'), ({ id }, { apiUrl }) => `${apiUrl}/user/keys/${id}`],
  fingerprint: [
    f.text('SHA256:KpzXcUFEJ46HTMBY2hUV0vIprdt8B50nJ9VNUU1BpsA'),
    ({ fingerprint }) => fingerprint,
  ],
  created_at: [f.Time, ({ createdAt }) => f.timestamp(createdAt)],
  read_only: [v.boolean(), ({ readOnly }) => readOnly === true],
  key_type: [f.text('user'), () => 'user'],
  user: [v.optional(User), ({ owner }, recipient) => owner && presentUser(owner, recipient)],
})
export const PublicKey = publicKey.schema

/** Keys of one account. Their `user` is shown to the account itself and to administrators. */
const keyView: View<typeof PublicKey, SshKey> = {
  schema: PublicKey,
  async all(keys, recipient, read) {
    const { user } = recipient
    const id = keys[0]?.account
    const isShown = id !== undefined && user !== null && (user.admin || user.id === id)
    const owner = isShown ? await read((tx) => accounts.get(tx, [id])) : undefined
    return keys.map((key) => publicKey.present({ ...key, owner }, recipient))
  },
}

const CreateKeyOption = v.object({
  title: f.example(f.shortText, 'laptop'),
  /** The longest key that is accepted. */
  key: v.pipe(f.text(SSH_KEY), v.maxLength(TEXT_LIMITS.sshKey.key)),
  read_only: v.optional(f.example(v.boolean(), false)),
})

const FingerprintQuery = v.object({
  fingerprint: f.optionalQuery(f.shortText, 'Fingerprint of the only key to list, such as `SHA256:…`.'),
})

const listKeys = (
  { sshKeys }: Services['hosting'],
  { query, page }: { query: { fingerprint?: string | undefined }; page: Pagination },
  account: number,
) =>
  query.fingerprint ? sshKeys.withFingerprint(account, query.fingerprint, page) : sshKeys.list(account, page)

const own = at('/user', { scope: 'user', reads: 'required', ids: { id: f.keyId } })
const ofUser = at('/users/{username}', { scope: 'user' })

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

export const GPGKeyEmail = v.object({ email: f.text('alice@example.org'), verified: v.boolean() })

type Part = GpgKey['subkeys'][number]

interface KeyPart {
  readonly part: Part
  /** Its revocation and expiry hold for its subkeys, too. */
  readonly primary: GpgKey
  /** Address of the key's owner, the only one that is verified; shown as verified to everyone. */
  readonly ownerEmail?: string
}

const isRevoked = ({ part, primary }: KeyPart) => part.revoked === true || primary.revoked === true
const isExpired = ({ part, primary }: KeyPart) =>
  [part, primary].some(({ expiresAt }) => expiresAt !== null && expiresAt <= now())
const isUsable = (key: KeyPart) => !isRevoked(key) && !isExpired(key)

const keyPart = resource<KeyPart>()({
  id: [f.number(6), ({ part }) => part.id],
  primary_key_id: [f.text(''), ({ part, primary }) => (part === primary ? '' : primary.keyId)],
  key_id: [f.text('4C0AE6A2D1F5B9E3'), ({ part }) => part.keyId],
  public_key: [f.text('xjMEZ…'), ({ part }) => part.publicKey],
  emails: [
    v.array(GPGKeyEmail),
    ({ part, primary, ownerEmail = '' }) =>
      (part === primary ? primary.emails : []).map((email) => ({
        email,
        verified: ownerEmail !== '' && email.toLowerCase() === ownerEmail.toLowerCase(),
      })),
  ],
  can_sign: [v.boolean(), (key) => isUsable(key) && key.part.canSign],
  can_encrypt_comms: [v.boolean(), (key) => isUsable(key) && key.part.canEncryptComms],
  can_encrypt_storage: [v.boolean(), (key) => isUsable(key) && key.part.canEncryptStorage],
  can_certify: [v.boolean(), (key) => isUsable(key) && key.part.canCertify],
  created_at: [f.Time, ({ part }) => f.timestamp(part.createdAt)],
  expires_at: [v.nullable(v.string()), ({ part }) => f.timeOrNull(part.expiresAt)],
  revoked: [v.boolean(), isRevoked],
  expired: [v.boolean(), isExpired],
})

const Subkey = v.object({
  ...keyPart.schema.entries,
  subkeys: f.example(v.pipe(v.array(v.string()), v.maxLength(0)), []),
})
export const GPGKey = v.object({ ...keyPart.schema.entries, subkeys: v.array(Subkey) })

const CreateGPGKeyOption = v.object({
  /** Large enough for a key with the signatures of a hundred others. */
  armored_public_key: v.pipe(f.text('-----BEGIN PGP PUBLIC KEY BLOCK-----…'), v.maxLength(128 * 1024)),
})

/** Keys of one account, whose address decides which of their emails is verified. */
const gpgKeyView: View<typeof GPGKey, GpgKey> = {
  schema: GPGKey,
  async all(keys, recipient, read) {
    const [first] = keys
    const owner = first && (await read((tx) => accounts.get(tx, [first.account])))
    return keys.map((primary) => ({
      ...keyPart.present({ part: primary, primary, ownerEmail: owner?.email ?? '' }, recipient),
      subkeys: primary.subkeys.map((part) => ({
        ...keyPart.present({ part, primary }, recipient),
        subkeys: [],
      })),
    }))
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
