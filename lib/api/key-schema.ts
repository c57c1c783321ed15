import * as v from 'valibot'
import type { GpgKey as GpgRecord, SshKey } from '../records/schema/index.ts'
import { timestamp } from './time.ts'
import { User } from './user-schema.ts'

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
export type PublicKey = v.InferOutput<typeof PublicKey>

export const publicKeyResource = (key: SshKey, apiUrl: string, user?: User): PublicKey => ({
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

export const GPGKeyEmail = v.object({ email: v.string(), verified: v.boolean() })

const part = {
  id: v.number(),
  primary_key_id: v.string(),
  key_id: v.string(),
  public_key: v.string(),
  emails: v.array(GPGKeyEmail),
  can_sign: v.boolean(),
  can_encrypt_comms: v.boolean(),
  can_encrypt_storage: v.boolean(),
  can_certify: v.boolean(),
  created_at: v.string(),
  expires_at: v.nullable(v.string()),
}
const Subkey = v.object({ ...part, subkeys: v.pipe(v.array(v.string()), v.maxLength(0)) })
export const GPGKey = v.object({ ...part, subkeys: v.array(Subkey) })
export type GPGKey = v.InferOutput<typeof GPGKey>

/** @param email the address of the key's owner: the only one that is verified, and shown as that to everyone. */
export const gpgKeyResource = (key: GpgRecord, email: string): GPGKey => ({
  ...partOf(key, ''),
  emails: key.emails.map((one) => ({
    email: one,
    verified: email !== '' && one.toLowerCase() === email.toLowerCase(),
  })),
  subkeys: key.subkeys.map((subkey) => ({ ...partOf(subkey, key.keyId), emails: [], subkeys: [] })),
})

const partOf = (key: GpgRecord['subkeys'][number], primaryKeyId: string) => ({
  id: key.id,
  primary_key_id: primaryKeyId,
  key_id: key.keyId,
  public_key: key.publicKey,
  can_sign: key.canSign,
  can_encrypt_comms: key.canEncryptComms,
  can_encrypt_storage: key.canEncryptStorage,
  can_certify: key.canCertify,
  created_at: timestamp(key.createdAt),
  expires_at: key.expiresAt === null ? null : timestamp(key.expiresAt),
})
