import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import type { PublicKeyPacket, PublicSubkeyPacket, SignaturePacket } from 'openpgp'
import type { OpenPgpLibrary } from './armor.ts'

type Packet = PublicKeyPacket | PublicSubkeyPacket

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
export const isUncheckedCurve = (packet: Packet): boolean => {
  const { algorithm, curve } = packet.getAlgorithmInfo()
  return algorithm === 'ecdsa' && /^(brainpool|secp256k1)/.test(curve ?? '')
}

/** Whether a signature by such a key holds, whatever its date: what `SignaturePacket.verify` tells of other keys. */
export const holdsOnCurve = async (
  pgp: OpenPgpLibrary,
  signature: SignaturePacket,
  signer: Packet,
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
