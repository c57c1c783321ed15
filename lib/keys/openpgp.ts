import type { PublicKeyPacket, PublicSubkeyPacket, SignaturePacket } from 'openpgp'
import { invalid } from '../errors.ts'
import { type OpenPgpLibrary, readArmored } from './armor.ts'
import type { Capabilities, OpenPgpKey, OpenPgpPart } from './reader.ts'
import { type BoundSubkey, SelfSignatures } from './signatures.ts'

let library: Promise<OpenPgpLibrary> | undefined

/**
 * Parses the first public key of an armored text. As in Forgejo, revoked and expired keys and those of the future are
 * accepted, too: signatures made with them can still be looked up.
 * @throws AllotError invalid
 */
export const parseOpenPgpKey = async (armored: string): Promise<OpenPgpKey> => {
  library ??= import('openpgp')
  const pgp = await library
  const key = await readArmored(pgp, armored)
  const signatures = new SelfSignatures(pgp, key)
  const certified = await signatures.certifiedUsers()
  const [primary] = certified
  if (primary === undefined)
    throw invalid('armored_public_key: this key has no valid self-signature on a user id')
  const statements = [await signatures.direct(), primary.certification]
  const keyId = keyIdOf(key)
  const subkeys = await signatures.boundSubkeys()
  return {
    ...partOf(pgp, key.keyPacket as PublicKeyPacket, statements),
    emails: distinct(certified.map(({ user }) => user.userID?.email ?? '')),
    subkeys: subkeys.map((subkey) => ({ ...subkeyOf(pgp, subkey), primaryKeyId: keyId })),
  }
}

/** The first spelling of each address. */
const distinct = (emails: string[]): string[] => {
  const first = new Map(emails.toReversed().map((email) => [email.toLowerCase(), email]))
  return emails.filter((email) => email !== '' && first.get(email.toLowerCase()) === email)
}

const subkeyOf = (pgp: OpenPgpLibrary, { subkey, binding, isCrossSigned }: BoundSubkey): OpenPgpPart => {
  const part = partOf(pgp, subkey.keyPacket as PublicSubkeyPacket, [binding])
  return { ...part, canSign: part.canSign && isCrossSigned }
}

/** @param statements self-signatures; the first that states flags or an expiry counts */
const partOf = (
  pgp: OpenPgpLibrary,
  packet: PublicKeyPacket | PublicSubkeyPacket,
  statements: (SignaturePacket | undefined)[],
): OpenPgpPart => ({
  keyId: keyIdOf(packet),
  fingerprint: packet.getFingerprint().toUpperCase(),
  publicKey: encodePacket(pgp, packet),
  ...capabilitiesOf(pgp, packet, statements.find((statement) => statement?.keyFlags)?.keyFlags),
  createdAt: packet.created,
  expiresAt: expiryOf(
    packet,
    statements.find((statement) => statement?.keyNeverExpires === false),
  ),
})

const expiryOf = ({ created }: { created: Date }, statement: SignaturePacket | undefined): Date | null => {
  const seconds = statement?.keyExpirationTime ?? 0
  return seconds === 0 ? null : new Date(created.getTime() + seconds * 1000)
}

const keyIdOf = (key: { getKeyID(): { toHex(): string } }) => key.getKeyID().toHex().toUpperCase()

const encodePacket = (pgp: OpenPgpLibrary, packet: PublicKeyPacket | PublicSubkeyPacket): string => {
  const list = new pgp.PacketList<PublicKeyPacket | PublicSubkeyPacket>()
  list.push(packet)
  return Buffer.from(list.write()).toString('base64')
}

/** Key flags (RFC 9580 §5.2.3.29). */
const CERTIFY = 0x01
const SIGN = 0x02
const ENCRYPT_COMMS = 0x04
const ENCRYPT_STORAGE = 0x08
const ENCRYPT = ENCRYPT_COMMS | ENCRYPT_STORAGE

/** The stated flags that the algorithm supports; without flags, everything that the algorithm supports. */
const capabilitiesOf = (
  { enums }: OpenPgpLibrary,
  packet: PublicKeyPacket | PublicSubkeyPacket,
  flags: Uint8Array | null | undefined,
): Capabilities => {
  const isPrimary = (packet.constructor as typeof PublicKeyPacket).tag === enums.packet.publicKey
  const defaults = SIGN | ENCRYPT | (isPrimary ? CERTIFY : 0)
  const allowed = supportedBy(enums.publicKey, packet.algorithm) & (flags?.[0] ?? defaults)
  return {
    canSign: (allowed & SIGN) !== 0,
    canEncryptComms: (allowed & ENCRYPT_COMMS) !== 0,
    canEncryptStorage: (allowed & ENCRYPT_STORAGE) !== 0,
    canCertify: (allowed & CERTIFY) !== 0,
  }
}

const supportedBy = (algorithms: OpenPgpLibrary['enums']['publicKey'], algorithm: number | null): number => {
  const { rsaEncryptSign, rsaEncrypt, elgamal, ecdh, x25519, x448 } = algorithms
  if (algorithm === rsaEncryptSign) return CERTIFY | SIGN | ENCRYPT
  const encryptionOnly: (number | null)[] = [rsaEncrypt, elgamal, ecdh, x25519, x448]
  return encryptionOnly.includes(algorithm) ? ENCRYPT : CERTIFY | SIGN
}
