import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import type { Key, PublicKeyPacket, PublicSubkeyPacket, SignaturePacket, Subkey, User } from 'openpgp'
import { invalid } from '../errors.ts'
import type { OpenPgpLibrary } from './armor.ts'

/**
 * Checks that may be made for one key. A key in use needs one or two for each of its user ids and subkeys; the slowest
 * that may be sent, of DSA with 4096 bits, take 20 ms each.
 */
const MOST_CHECKS = 128

/** A user id and the signature by which its key says that it is its own. */
export interface Certified {
  user: User
  certification: SignaturePacket
}

/** A subkey, the signature that binds it, and whether the subkey has signed in turn that it belongs there. */
export interface Bound {
  subkey: Subkey
  binding: SignaturePacket
  crossSigned: boolean
}

type Packet = PublicKeyPacket | PublicSubkeyPacket

/**
 * Which signatures of a key on itself hold, whatever their dates. The library answers this too, yet checks every
 * certification against every revocation: a hostile key of 256 KiB would cost millions of checks.
 */
export class SelfSignatures {
  readonly #pgp: OpenPgpLibrary
  readonly #key: Key
  readonly #primary: Packet
  readonly #types: OpenPgpLibrary['enums']['signature']
  #checks = 0

  constructor(pgp: OpenPgpLibrary, key: Key) {
    this.#pgp = pgp
    this.#key = key
    this.#primary = key.keyPacket as PublicKeyPacket
    this.#types = pgp.enums.signature
  }

  /** The latest signature on the key itself, which says more than those on its user ids. */
  direct(): Promise<SignaturePacket | undefined> {
    const direct = this.#key
      .toPacketList()
      .filter((packet): packet is SignaturePacket => 'signatureType' in packet)
      .filter(({ signatureType }) => signatureType === this.#types.key)
    return this.#latest(direct, this.#types.key, { key: this.#primary })
  }

  /** The user ids whose certification holds, the primary one first. */
  async certified(): Promise<Certified[]> {
    const all: Certified[] = []
    for (const user of this.#key.users.filter(({ userID }) => userID !== null)) {
      const certification = await this.#certification(user)
      if (certification !== undefined) all.push({ user, certification })
    }
    return all.sort((a, b) => primacy(b) - primacy(a) || later(a.certification, b.certification))
  }

  /** The subkeys that are bound; also those that have expired since or are revoked. */
  async bound(): Promise<Bound[]> {
    const all: Bound[] = []
    for (const subkey of this.#key.subkeys) {
      const data = { key: this.#primary, bind: subkey.keyPacket }
      const binding = await this.#latest(subkey.bindingSignatures, this.#types.subkeyBinding, data)
      if (binding === undefined) continue
      all.push({ subkey, binding, crossSigned: await this.#isCrossSigned(subkey, binding, data) })
    }
    return all
  }

  /** A user id that was revoked may be certified again later, as GnuPG has it. */
  async #certification(user: User): Promise<SignaturePacket | undefined> {
    const data = { key: this.#primary, userID: user.userID }
    const certification = await this.#latest(user.selfCertifications, this.#types.certGeneric, data)
    if (certification === undefined) return undefined
    const after = user.revocationSignatures.filter((revocation) => later(revocation, certification) <= 0)
    return (await this.#anyHolds(after, this.#types.certRevocation, data)) ? undefined : certification
  }

  /** Without this anyone could bind another's signing key to their own and claim what it signs. */
  async #isCrossSigned(subkey: Subkey, binding: SignaturePacket, data: object): Promise<boolean> {
    const embedded = binding.embeddedSignature
    const signer = subkey.keyPacket as PublicSubkeyPacket
    return embedded !== null && this.#holds(embedded, this.#types.keyBinding, data, signer)
  }

  async #latest(signatures: SignaturePacket[], type: number, data: object) {
    for (const signature of signatures.toSorted(later))
      if (await this.#holds(signature, type, data)) return signature
    return undefined
  }

  async #anyHolds(signatures: SignaturePacket[], type: number, data: object): Promise<boolean> {
    for (const signature of signatures) if (await this.#holds(signature, type, data)) return true
    return false
  }

  async #holds(
    signature: SignaturePacket,
    type: number,
    data: object,
    signer = this.#primary,
  ): Promise<boolean> {
    if (!signature.issuerKeyID.equals(signer.getKeyID())) return false
    if (++this.#checks > MOST_CHECKS) throw invalid('armored_public_key: this key has too many signatures')
    const settled = isUncheckedCurve(signer)
      ? holdsOnCurve(this.#pgp, signature, signer, type, data)
      : // The library's types leave out null, which makes it ignore dates.
        signature.verify(signer, type, data, null as unknown as Date).then(() => true)
    return settled.catch(() => false)
  }
}

const primacy = ({ certification }: Certified) => Number(certification.isPrimaryUserID ?? false)
const later = (a: SignaturePacket, b: SignaturePacket) => Number(b.created) - Number(a.created)

type KeyPacket = PublicKeyPacket | PublicSubkeyPacket

/** What the library's types leave out. */
interface EcdsaSignature {
  params: Promise<EcdsaNumbers> | EcdsaNumbers
  toHash(type: number, data: object, isDetached: boolean): Uint8Array
  unknownSubpackets: { critical: boolean }[]
  rawNotations: { critical: boolean }[]
  revocationKeyClass: number | null
}
interface EcdsaNumbers {
  r: Uint8Array
  s: Uint8Array
}
interface EcdsaKey {
  oid: { oid: Uint8Array }
  Q: Uint8Array
}

/** Whether the key signs on a curve whose signatures the library checks only with a package that it does not depend on. */
export const isUncheckedCurve = (packet: KeyPacket): boolean => {
  const { algorithm, curve } = packet.getAlgorithmInfo()
  return algorithm === 'ecdsa' && /^(brainpool|secp256k1)/.test(curve ?? '')
}

/** Whether a signature by such a key holds, whatever its date: what `SignaturePacket.verify` tells of other keys. */
export const holdsOnCurve = async (
  pgp: OpenPgpLibrary,
  signature: SignaturePacket,
  signer: KeyPacket,
  type: number,
  data: object,
): Promise<boolean> => {
  const { hashAlgorithm, publicKeyAlgorithm } = signature
  if (publicKeyAlgorithm !== signer.algorithm || hashAlgorithm === null) return false
  if (pgp.config.rejectHashAlgorithms.has(hashAlgorithm)) return false
  const packet = signature as unknown as EcdsaSignature
  const isCritical = [...packet.unknownSubpackets, ...packet.rawNotations].some(({ critical }) => critical)
  if (isCritical || packet.revocationKeyClass !== null) return false
  const { oid, Q } = signer.publicParams as EcdsaKey
  const size = (Q.length - 1) / 2
  const { r, s } = await packet.params
  if (r.length > size || s.length > size) return false
  const key = { key: publicKeyOn(oid.oid, Q), dsaEncoding: 'ieee-p1363' } as const
  const hash = pgp.enums.read(pgp.enums.hash, hashAlgorithm)
  return verify(
    hash,
    packet.toHash(type, data, false),
    key,
    Buffer.concat([padded(r, size), padded(s, size)]),
  )
}

const padded = (number: Uint8Array, size: number) =>
  Buffer.concat([Buffer.alloc(size - number.length), number])

const EC_PUBLIC_KEY = Buffer.from('06072a8648ce3d0201', 'hex')

/** SubjectPublicKeyInfo in DER (RFC 5480). */
const publicKeyOn = (oid: Uint8Array, point: Uint8Array): KeyObject => {
  const algorithm = der(0x30, EC_PUBLIC_KEY, der(0x06, oid))
  const key = der(0x30, algorithm, der(0x03, Buffer.of(0), point))
  return createPublicKey({ key, format: 'der', type: 'spki' })
}

const der = (tag: number, ...parts: Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts)
  const { length } = content
  return Buffer.concat([length < 128 ? Buffer.of(tag, length) : Buffer.of(tag, 0x81, length), content])
}
