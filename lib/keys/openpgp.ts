import type { Key, PublicKeyPacket, PublicSubkeyPacket, SignaturePacket, Subkey, User } from 'openpgp'
import { AllotError, invalid } from '../errors.ts'

interface KeyPart {
  /** 16 upper-case hexadecimal digits. */
  keyId: string
  /** The bare public-key packet, in base64. */
  publicKey: string
  canSign: boolean
  canEncryptComms: boolean
  canEncryptStorage: boolean
  canCertify: boolean
  createdAt: Date
  /** Null: never. */
  expiresAt: Date | null
}

export interface OpenPgpKey extends KeyPart {
  fingerprint: string
  /** Addresses of the user ids whose self-certification holds and is not revoked. */
  emails: string[]
  subkeys: KeyPart[]
}

const LONGEST = 256 * 1024
/** Each costs a signature check; no key in use comes near. */
const MOST_PARTS = 64

type Library = typeof import('openpgp')
let library: Promise<Library> | undefined
/** Imported when first used: it takes longer to load than the rest of a server to start. */
const openpgp = (): Promise<Library> => {
  library ??= import('openpgp')
  return library
}

/** One armoured public key. @throws AllotError invalid that says why it is none. */
export const parseOpenPgpKey = async (armored: string, now = new Date()): Promise<OpenPgpKey> => {
  refuseOtherFormats(armored)
  const pgp = await openpgp()
  const key = await onlyKey(pgp, armored)
  if (await key.isRevoked(undefined, undefined, now)) throw invalid('armored_public_key: this key is revoked')
  const signature = await selfSignature(key, now)
  return {
    ...partOf(pgp, key, signature, await expiryOf(() => key.getExpirationTime())),
    fingerprint: key.getFingerprint().toUpperCase(),
    emails: await certifiedEmails(key, now),
    subkeys: await boundSubkeys(pgp, key, now),
  }
}

const refuseOtherFormats = (armored: string) => {
  if (armored.length > LONGEST)
    throw invalid(`armored_public_key: must not be longer than ${LONGEST} characters`)
  if (/-----BEGIN PGP PRIVATE KEY BLOCK-----/.test(armored))
    throw invalid('armored_public_key: this is a private key, which must be kept secret')
  if (!/-----BEGIN PGP PUBLIC KEY BLOCK-----/.test(armored))
    throw invalid(
      'armored_public_key: expected a block that begins with -----BEGIN PGP PUBLIC KEY BLOCK-----',
    )
}

const onlyKey = async (pgp: Library, armored: string): Promise<Key> => {
  const keys = await pgp.readKeys({ armoredKeys: armored.trim() }).catch((cause: unknown) => {
    throw new AllotError('invalid', 'armored_public_key: this block holds no key that can be read', { cause })
  })
  const [key] = keys
  if (key === undefined) throw invalid('armored_public_key: this block holds no key')
  if (keys.length > 1) throw invalid('armored_public_key: this block holds several keys; add them one by one')
  if (key.isPrivate()) throw invalid('armored_public_key: this is a private key, which must be kept secret')
  if (key.users.length + key.subkeys.length > MOST_PARTS)
    throw invalid(`armored_public_key: a key with more than ${MOST_PARTS} user ids and subkeys is not taken`)
  return key
}

/** "keys without a self-signature that holds are 422" */
const selfSignature = async (key: Key, now: Date): Promise<SignaturePacket> => {
  try {
    return (await key.getPrimaryUser(now)).selfCertification
  } catch (cause) {
    throw new AllotError('invalid', 'armored_public_key: this key has no self-signature that holds', {
      cause,
    })
  }
}

const certifiedEmails = async (key: Key, now: Date): Promise<string[]> => {
  const emails = new Set<string>()
  for (const user of key.users) {
    const email = user.userID?.email
    if (email && (await isCertified(user, now))) emails.add(email)
  }
  return [...emails]
}

/** `verify` throws for a certification that is revoked, expired or forged. */
const isCertified = (user: User, now: Date): Promise<boolean> =>
  user.verify(now).then(
    (outcome) => outcome === true,
    () => false,
  )

const boundSubkeys = async (pgp: Library, key: Key, now: Date): Promise<KeyPart[]> => {
  const parts: KeyPart[] = []
  for (const subkey of key.subkeys) {
    const binding = await bindingOf(subkey, now)
    if (binding !== undefined)
      parts.push(
        partOf(pgp, subkey, binding, await expiryOf(() => subkey.getExpirationTime(binding.created ?? now))),
      )
  }
  return parts
}

/** The signature that binds a subkey to its primary; also of one that has expired since, but of none that is revoked. */
const bindingOf = async (subkey: Subkey, now: Date): Promise<SignaturePacket | undefined> => {
  const latest = subkey.bindingSignatures.at(-1)
  if (latest === undefined || (await isRevoked(subkey, latest, now))) return undefined
  for (const date of [now, latest.created ?? now]) {
    const binding = await subkey.verify(date).catch(() => undefined)
    if (binding !== undefined) return binding
  }
  return undefined
}

/** Any revocation of the subkey counts, whatever key is said to have made it: openpgp's types want that key named. */
const isRevoked = (subkey: Subkey, binding: SignaturePacket, now: Date): Promise<boolean> =>
  subkey.isRevoked(binding, subkey.mainKey.keyPacket as PublicKeyPacket, now).catch(() => true)

const expiryOf = async (read: () => Promise<Date | number | null>): Promise<Date | null> => {
  const expiry = await read().catch(() => null)
  return expiry instanceof Date ? expiry : null
}

const CERTIFY = 1
const SIGN = 2
const ENCRYPT_COMMS = 4
const ENCRYPT_STORAGE = 8

/** What a key may be used for is what its self-signature, or its binding signature, says. */
const partOf = (
  pgp: Library,
  key: Key | Subkey,
  signature: SignaturePacket,
  expiresAt: Date | null,
): KeyPart => {
  const flags = signature.keyFlags?.[0] ?? 0
  return {
    keyId: key.getKeyID().toHex().toUpperCase(),
    publicKey: packetOf(pgp, key.keyPacket as PublicKeyPacket | PublicSubkeyPacket),
    canSign: (flags & SIGN) !== 0,
    canEncryptComms: (flags & ENCRYPT_COMMS) !== 0,
    canEncryptStorage: (flags & ENCRYPT_STORAGE) !== 0,
    canCertify: (flags & CERTIFY) !== 0,
    createdAt: key.getCreationTime(),
    expiresAt,
  }
}

const packetOf = (pgp: Library, packet: PublicKeyPacket | PublicSubkeyPacket): string => {
  const list = new pgp.PacketList<PublicKeyPacket | PublicSubkeyPacket>()
  list.push(packet)
  return Buffer.from(list.write()).toString('base64')
}
