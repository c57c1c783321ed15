import type { Key, PublicKeyPacket, PublicSubkeyPacket, SignaturePacket } from 'openpgp'
import { AllotError, invalidMember } from '../errors.ts'
import type { Capabilities, OpenPgpKey, OpenPgpPart } from './reader.ts'
import { type BoundSubkey, type KeyPacket, type OpenPgpLibrary, SelfSignatures } from './self-signatures.ts'

/**
 * Parses the public key of an armored text. As in Forgejo, revoked and expired keys and those of the
 * future are accepted, too: signatures made with them can still be looked up.
 * @throws AllotError invalid
 */
export const parseOpenPgpKey = async (armored: string): Promise<OpenPgpKey> => {
  const pgp = await import('openpgp')
  const key = await readArmored(pgp, armored)
  const signatures = new SelfSignatures(pgp, key)
  const certified = await signatures.certifiedUsers()
  const [primary] = certified
  if (primary === undefined)
    throw invalidMember('armored_public_key', 'this key has no valid self-signature on a user id')
  const statements = [await signatures.direct(), primary.certification]
  const subkeys = await signatures.boundSubkeys()
  return {
    ...partOf(pgp, key.keyPacket as PublicKeyPacket, statements),
    revoked: await signatures.isRevoked(),
    emails: distinct(certified.map(({ user }) => user.userID?.email ?? '')),
    subkeys: subkeys.map((subkey) => subkeyOf(pgp, subkey)),
  }
}

/** The first spelling of each address. */
const distinct = (emails: string[]): string[] => {
  const first = new Map(emails.toReversed().map((email) => [email.toLowerCase(), email]))
  return emails.filter((email) => email !== '' && first.get(email.toLowerCase()) === email)
}

const subkeyOf = (pgp: OpenPgpLibrary, bound: BoundSubkey): OpenPgpPart => {
  const part = partOf(pgp, bound.subkey.keyPacket as PublicSubkeyPacket, [bound.binding])
  return { ...part, canSign: part.canSign && bound.isCrossSigned, revoked: bound.isRevoked }
}

/** @param statements self-signatures; the first that states flags or an expiry counts */
const partOf = (
  pgp: OpenPgpLibrary,
  packet: KeyPacket,
  statements: (SignaturePacket | undefined)[],
): Omit<OpenPgpPart, 'revoked'> => {
  const flags = statements.find((statement) => statement?.keyFlags)?.keyFlags
  const lifetime = statements.find((statement) => statement?.keyNeverExpires === false)?.keyExpirationTime
  const createdAt = packet.created.getTime() / 1000
  return {
    keyId: packet.getKeyID().toHex().toUpperCase(),
    fingerprint: packet.getFingerprint().toUpperCase(),
    publicKey: encodePacket(pgp, packet),
    ...capabilitiesOf(pgp, packet, flags),
    createdAt,
    expiresAt: lifetime ? createdAt + lifetime : null,
  }
}

const encodePacket = (pgp: OpenPgpLibrary, packet: KeyPacket): string => {
  const list = new pgp.PacketList<KeyPacket>()
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
  packet: KeyPacket,
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

const MAX_LENGTH = 256 * 1024
/** Packets of all kinds in one key. 256 KiB have space for about 1,000 signatures. */
const MAX_PACKETS = 2000
/** User ids and subkeys; keys in use have far fewer. */
const MAX_PARTS = 64

/**
 * Reads the public key of an armored text, without verifying any signature.
 * @throws AllotError invalid when there is no public key, more than one, or a private key
 */
const readArmored = async (pgp: OpenPgpLibrary, armored: string): Promise<Key> => {
  checkFormat(armored)
  const keys = await readKeys(pgp, armored.trim())
  if (keys.some((key) => key.isPrivate())) throw privateKey()
  if (keys.length > 1) throw severalKeys()
  const [key] = keys
  if (key === undefined) throw invalidMember('armored_public_key', 'this block contains no key')
  if (key.users.length + key.subkeys.length > MAX_PARTS)
    throw invalidMember(
      'armored_public_key',
      `a key must not have more than ${MAX_PARTS} user ids and subkeys`,
    )
  return key
}

const PUBLIC_KEY = '-----BEGIN PGP PUBLIC KEY BLOCK-----'

const severalKeys = () =>
  invalidMember('armored_public_key', 'there is more than one key in this text: add one at a time')

/** Refuses private keys, which the library would accept, and several blocks, of which it reads the first. */
const checkFormat = (armored: string) => {
  if (armored.length > MAX_LENGTH)
    throw invalidMember('armored_public_key', `must not be longer than ${MAX_LENGTH} characters`)
  if (/^-----BEGIN PGP PRIVATE KEY BLOCK-----/m.test(armored)) throw privateKey()
  const [first, ...more] = armored.trim().match(/^-----BEGIN PGP [^\n-]{0,99}-----/gm) ?? []
  if (first === PUBLIC_KEY && more.includes(PUBLIC_KEY)) throw severalKeys()
  if (first !== PUBLIC_KEY)
    throw invalidMember(
      'armored_public_key',
      'expected a block that begins with -----BEGIN PGP PUBLIC KEY BLOCK-----',
    )
}

const readKeys = async (pgp: OpenPgpLibrary, armored: string): Promise<Key[]> => {
  try {
    const { data } = await pgp.unarmor(armored)
    if (!(data instanceof Uint8Array)) throw new Error('the library returned a stream for a text')
    if (countPackets(data, MAX_PACKETS) > MAX_PACKETS)
      throw invalidMember('armored_public_key', `a key must not have more than ${MAX_PACKETS} packets`)
    return await pgp.readKeys({ binaryKeys: data })
  } catch (cause) {
    if (cause instanceof AllotError) throw cause
    throw invalidMember('armored_public_key', 'this block contains no key that can be read', cause)
  }
}

const privateKey = () =>
  invalidMember('armored_public_key', 'this is a private key, which must be kept secret; send the public key')

/**
 * Counts packets by their headers (RFC 9580 §4.2), each partial body as one. Limits the time that the library
 * takes: it spends seconds on small packets, also after it has refused a key, while the next key waits.
 * Invariant: lengths are read exactly as the library does.
 * @returns at most `limit` + 1
 */
const countPackets = (data: Uint8Array, limit: number): number => {
  let count = 0
  for (let index = 0; index < data.length && count <= limit; ) {
    const isLegacy = (data[index]! & 0x40) === 0
    let body = isLegacy ? legacyBody(data, index + 1, data[index]! & 3) : bodyAt(data, index + 1)
    count++
    for (; body.isPartial && body.end < data.length && count <= limit; count++) body = bodyAt(data, body.end)
    index = body.end
  }
  return count
}

interface PacketBody {
  end: number
  /** Whether another part of the same packet follows, with its own length. */
  isPartial: boolean
}

const bodyAt = (data: Uint8Array, start: number): PacketBody => {
  const first = data[start] ?? 0
  const complete = (end: number) => ({ end, isPartial: false })
  if (first < 192) return complete(start + 1 + first)
  if (first < 224) return complete(start + 2 + ((first - 192) << 8) + (data[start + 1] ?? 0) + 192)
  if (first === 255) return complete(start + 5 + numberAt(data, start + 1, 4))
  return { end: start + 1 + 2 ** (first & 0x1f), isPartial: true }
}

const legacyBody = (data: Uint8Array, start: number, lengthType: number): PacketBody => {
  if (lengthType === 3) return { end: data.length, isPartial: false }
  const size = 2 ** lengthType
  return { end: start + size + numberAt(data, start, size), isPartial: false }
}

const numberAt = (data: Uint8Array, index: number, size: number): number =>
  data.subarray(index, index + size).reduce((number, byte) => number * 256 + byte, 0)
