import type { PublicKeyPacket, PublicSubkeyPacket, SignaturePacket } from 'openpgp'
import { invalid } from '../errors.ts'
import { type OpenPgpLibrary, readArmored } from './armor.ts'
import type { Capabilities, OpenPgpKey, OpenPgpPart } from './reader.ts'
import { type Bound, SelfSignatures } from './signatures.ts'

let library: Promise<OpenPgpLibrary> | undefined

/**
 * The first public key of an armoured text. As at a Forgejo its state does not matter: a revoked or an expired key and
 * one of the future are accepted too, since signatures that were made with them stay to be looked up.
 * @throws AllotError invalid that says why it is none.
 */
export const parseOpenPgpKey = async (armored: string): Promise<OpenPgpKey> => {
  library ??= import('openpgp')
  const pgp = await library
  const key = await readArmored(pgp, armored)
  const signatures = new SelfSignatures(pgp, key)
  const certified = await signatures.certified()
  const [primary] = certified
  if (primary === undefined) throw invalid('armored_public_key: this key has no self-signature that holds')
  const statements = [await signatures.direct(), primary.certification]
  const keyId = keyIdOf(key)
  return {
    ...partOf(pgp, key.keyPacket as PublicKeyPacket, statements),
    emails: distinct(certified.map(({ user }) => user.userID?.email ?? '')),
    subkeys: (await signatures.bound()).map((bound) => ({ ...subkeyOf(pgp, bound), primaryKeyId: keyId })),
  }
}

const distinct = (emails: string[]): string[] => {
  const known = new Map(emails.toReversed().map((email) => [email.toLowerCase(), email]))
  return emails.filter((email) => email !== '' && known.get(email.toLowerCase()) === email)
}

const subkeyOf = (pgp: OpenPgpLibrary, { subkey, binding, crossSigned }: Bound): OpenPgpPart => {
  const part = partOf(pgp, subkey.keyPacket as PublicSubkeyPacket, [binding])
  return { ...part, canSign: part.canSign && crossSigned }
}

/** @param statements what the key says of itself; of two that speak of one thing, the first counts. */
const partOf = (
  pgp: OpenPgpLibrary,
  packet: PublicKeyPacket | PublicSubkeyPacket,
  statements: (SignaturePacket | undefined)[],
): OpenPgpPart => ({
  keyId: keyIdOf(packet),
  fingerprint: packet.getFingerprint().toUpperCase(),
  publicKey: encoded(pgp, packet),
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

const encoded = (pgp: OpenPgpLibrary, packet: PublicKeyPacket | PublicSubkeyPacket): string => {
  const list = new pgp.PacketList<PublicKeyPacket | PublicSubkeyPacket>()
  list.push(packet)
  return Buffer.from(list.write()).toString('base64')
}

/** The key flags of RFC 9580, section 5.2.3.29. */
const CERTIFY = 0x01
const SIGN = 0x02
const ENCRYPT_COMMS = 0x04
const ENCRYPT_STORAGE = 0x08
const ENCRYPT = ENCRYPT_COMMS | ENCRYPT_STORAGE

/** What a key may be used for: what it says, as far as its algorithm can do it; all that this can when it says nothing. */
export const capabilitiesOf = (
  { enums: { packet: tags, publicKey: algorithms } }: OpenPgpLibrary,
  packet: PublicKeyPacket | PublicSubkeyPacket,
  flags: Uint8Array | null | undefined,
): Capabilities => {
  const certify = (packet.constructor as typeof PublicKeyPacket).tag === tags.publicKey ? CERTIFY : 0
  const can = abilities(algorithms, packet.algorithm)
  const may = can & (flags?.[0] ?? SIGN | ENCRYPT | certify)
  return {
    canSign: (may & SIGN) !== 0,
    canEncryptComms: (may & ENCRYPT_COMMS) !== 0,
    canEncryptStorage: (may & ENCRYPT_STORAGE) !== 0,
    canCertify: (may & CERTIFY) !== 0,
  }
}

const abilities = (algorithms: OpenPgpLibrary['enums']['publicKey'], algorithm: number | null): number => {
  const { rsaEncryptSign, rsaEncrypt, elgamal, ecdh, x25519, x448 } = algorithms
  if (algorithm === rsaEncryptSign) return CERTIFY | SIGN | ENCRYPT
  const encrypts = [rsaEncrypt, elgamal, ecdh, x25519, x448].some((one) => one === algorithm)
  return encrypts ? ENCRYPT : CERTIFY | SIGN
}
