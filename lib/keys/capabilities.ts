import type { PublicKeyPacket, PublicSubkeyPacket } from 'openpgp'
import type { OpenPgpLibrary } from './armor.ts'
import type { Capabilities } from './openpgp-key.ts'

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
