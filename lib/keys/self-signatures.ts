import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import type { Key, PublicKeyPacket, PublicSubkeyPacket, SignaturePacket, Subkey, User } from 'openpgp'

/** Imported when it is first used: loading it takes longer than the start of a server. */
export type OpenPgpLibrary = typeof import('openpgp')

interface CertifiedUser {
  user: User
  /** The self-signature on the user id. */
  certification: SignaturePacket
}

export interface BoundSubkey {
  subkey: Subkey
  /** The signature of the primary key on the subkey. */
  binding: SignaturePacket
  /** Whether the subkey has signed the primary key in turn. */
  isCrossSigned: boolean
  isRevoked: boolean
}

export type KeyPacket = PublicKeyPacket | PublicSubkeyPacket

/**
 * Finds the valid self-signatures of a key, without regard to their dates. The library's own functions check
 * every certification against every revocation: millions of checks for a hostile key of 256 KiB.
 */
export class SelfSignatures {
  readonly #pgp: OpenPgpLibrary
  readonly #key: Key
  readonly #primary: KeyPacket
  readonly #types: OpenPgpLibrary['enums']['signature']

  constructor(pgp: OpenPgpLibrary, key: Key) {
    this.#pgp = pgp
    this.#key = key
    this.#primary = key.keyPacket as PublicKeyPacket
    this.#types = pgp.enums.signature
  }

  /** The latest signature on the key itself, which has precedence over those on its user ids. */
  direct(): Promise<SignaturePacket | undefined> {
    const signatures = this.#key
      .toPacketList()
      .filter((packet): packet is SignaturePacket => 'signatureType' in packet)
      .filter(({ signatureType }) => signatureType === this.#types.key)
    return this.#latest(signatures, this.#types.key, { key: this.#primary })
  }

  /** Whether the key has revoked itself. */
  async isRevoked(): Promise<boolean> {
    const { revocationSignatures } = this.#key
    const revocation = this.#types.keyRevocation
    return (await this.#firstValid(revocationSignatures, revocation, { key: this.#primary })) !== undefined
  }

  /** The user ids with a valid certification, the primary one first. */
  async certifiedUsers(): Promise<CertifiedUser[]> {
    const certified: CertifiedUser[] = []
    for (const user of this.#key.users.filter(({ userID }) => userID !== null)) {
      const certification = await this.#certification(user)
      if (certification !== undefined) certified.push({ user, certification })
    }
    return certified.sort((a, b) => primacy(b) - primacy(a) || latestFirst(a.certification, b.certification))
  }

  /** The subkeys with a valid binding signature, expired and revoked ones included. */
  async boundSubkeys(): Promise<BoundSubkey[]> {
    const bound: BoundSubkey[] = []
    for (const subkey of this.#key.subkeys) {
      const data = { key: this.#primary, bind: subkey.keyPacket }
      const binding = await this.#latest(subkey.bindingSignatures, this.#types.subkeyBinding, data)
      if (binding === undefined) continue
      const { revocationSignatures } = subkey
      const revocation = await this.#firstValid(revocationSignatures, this.#types.subkeyRevocation, data)
      const isCrossSigned = await this.#isCrossSigned(subkey, binding, data)
      bound.push({ subkey, binding, isCrossSigned, isRevoked: revocation !== undefined })
    }
    return bound
  }

  /**
   * The valid self-certification of a user id. As in GnuPG, one that is later than a revocation is valid
   * again.
   */
  async #certification(user: User): Promise<SignaturePacket | undefined> {
    const data = { key: this.#primary, userID: user.userID }
    const certification = await this.#latest(user.selfCertifications, this.#types.certGeneric, data)
    if (certification === undefined) return undefined
    const later = user.revocationSignatures.filter(
      (revocation) => latestFirst(revocation, certification) <= 0,
    )
    const isRevoked = (await this.#firstValid(later, this.#types.certRevocation, data)) !== undefined
    return isRevoked ? undefined : certification
  }

  /**
   * Whether a signing subkey has signed the primary key, too: otherwise anyone could bind another person's
   * key and claim its signatures.
   */
  async #isCrossSigned(subkey: Subkey, binding: SignaturePacket, data: object): Promise<boolean> {
    const embedded = binding.embeddedSignature
    const signer = subkey.keyPacket as PublicSubkeyPacket
    return embedded !== null && this.#isValid(embedded, this.#types.keyBinding, data, signer)
  }

  #latest(signatures: SignaturePacket[], type: number, data: object) {
    return this.#firstValid(signatures.toSorted(latestFirst), type, data)
  }

  async #firstValid(signatures: SignaturePacket[], type: number, data: object) {
    for (const signature of signatures) if (await this.#isValid(signature, type, data)) return signature
    return undefined
  }

  async #isValid(
    signature: SignaturePacket,
    type: number,
    data: object,
    signer = this.#primary,
  ): Promise<boolean> {
    if (!signature.issuerKeyID.equals(signer.getKeyID())) return false
    const check = needsNodeCrypto(signer)
      ? verifyByNodeCrypto(this.#pgp, signature, signer, type, data)
      : // The types do not allow null, which makes the library ignore dates.
        signature.verify(signer, type, data, null as unknown as Date).then(() => true)
    return check.catch(() => false)
  }
}

const primacy = ({ certification }: CertifiedUser) => Number(certification.isPrimaryUserID ?? false)
const latestFirst = (a: SignaturePacket, b: SignaturePacket) => Number(b.created) - Number(a.created)

/** Curves for which the library needs an optional package. node:crypto supports them. */
const needsNodeCrypto = (packet: KeyPacket): boolean => {
  const { algorithm, curve } = packet.getAlgorithmInfo()
  return algorithm === 'ecdsa' && /^(brainpool|secp256k1)/.test(curve ?? '')
}

/** Members that the library's types omit. */
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

/** Makes the same checks as the library's `SignaturePacket.verify`, without regard to dates. */
const verifyByNodeCrypto = async (
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
  const signatureBytes = Buffer.concat([padStart(r, size), padStart(s, size)])
  return verify(hash, packet.toHash(type, data, false), key, signatureBytes)
}

const padStart = (number: Uint8Array, size: number) =>
  Buffer.concat([Buffer.alloc(size - number.length), number])

const EC_PUBLIC_KEY = Buffer.from('06072a8648ce3d0201', 'hex')

/** The public key at a point of a curve, by a SubjectPublicKeyInfo in DER (RFC 5480). */
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
