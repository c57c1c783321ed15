import * as pgp from 'openpgp'
import { AllotError } from '../../lib/errors.ts'
import { parseOpenPgpKey } from '../../lib/keys/openpgp.ts'

export const MADE = new Date('2026-01-01T00:00:00Z')
export const LATER = new Date('2026-02-01T00:00:00Z')

/** Members of a signature packet. */
export type Says = Partial<pgp.SignaturePacket>
type Packet = pgp.BasePacket

/** A generated key and its packets. */
export const generate = async (email: string, subkeys?: pgp.SubkeyOptions[]) => {
  const given = subkeys === undefined ? {} : { subkeys }
  const options = { type: 'ecc', userIDs: { email }, date: MADE, format: 'object', ...given } as const
  const { privateKey, publicKey } = await pgp.generateKey(options)
  const [primary, userId, certification, ...rest] = [...publicKey.toPacketList()]
  return { secret: privateKey, primary: primary!, userId: userId!, certification: certification!, rest }
}

/** The types omit the configuration parameter. */
type Sign = (
  key: pgp.SecretKeyPacket,
  data: object,
  date: Date,
  detached: boolean,
  config: pgp.Config,
) => Promise<void>

/** Signs with any members, also ones that no honest software writes. */
export const signed = async (
  secret: pgp.PrivateKey,
  data: object,
  signatureType: pgp.enums.signature,
  says: Says = {},
  at = LATER,
): Promise<pgp.SignaturePacket> => {
  const packet = new pgp.SignaturePacket()
  const signer = secret.keyPacket as pgp.SecretKeyPacket
  const hashAlgorithm = pgp.enums.hash.sha256
  Object.assign(packet, { signatureType, hashAlgorithm, publicKeyAlgorithm: signer.algorithm }, says)
  await (packet.sign as unknown as Sign).call(packet, signer, data, at, false, pgp.config)
  return packet
}

export const binary = (...packets: Packet[]): Uint8Array => {
  const list = new pgp.PacketList<pgp.AnyPacket>()
  list.push(...(packets as pgp.AnyPacket[]))
  return list.write()
}

export const armored = (bytes: Uint8Array): string => pgp.armor(pgp.enums.armor.publicKey, bytes)

export const parse = (...packets: Packet[]) => parseOpenPgpKey(armored(binary(...packets)))

export const refused = (why: RegExp) => (error: unknown) =>
  error instanceof AllotError && error.code === 'invalid' && why.test(error.message)

export const uidNamed = (email: string) => pgp.UserIDPacket.fromObject({ email })
