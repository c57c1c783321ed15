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
  readonly #key: Key
  readonly #primary: KeyPacket
  readonly #types: OpenPgpLibrary['enums']['signature']

  constructor(pgp: OpenPgpLibrary, key: Key) {
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
    try {
      if (needsOwnHash(signer)) Object.assign(signature, { hashed: await hashOf(signature, type, data) })
      // The types do not allow null, which makes the library ignore dates.
      await signature.verify(signer, type, data, null as unknown as Date)
      return true
    } catch {
      return false
    }
  }
}

const primacy = ({ certification }: CertifiedUser) => Number(certification.isPrimaryUserID ?? false)
const latestFirst = (a: SignaturePacket, b: SignaturePacket) => Number(b.created) - Number(a.created)

/**
 * Curves whose signatures the library checks by an optional package, unless it gets the hash of what they
 * sign: then it does so itself.
 */
const needsOwnHash = (packet: KeyPacket): boolean => {
  const { algorithm, curve } = packet.getAlgorithmInfo()
  return algorithm === 'ecdsa' && /^(brainpool|secp256k1)/.test(curve ?? '')
}

/** By a method that the library's types omit. */
const hashOf = (signature: SignaturePacket, type: number, data: object): Promise<Uint8Array> => {
  const packet = signature as unknown as { hash(type: number, data: object): Promise<Uint8Array> }
  return packet.hash(type, data)
}
