import type { Key } from 'openpgp'
import { AllotError, invalid } from '../errors.ts'
import { countPackets } from './packets.ts'

/** The OpenPGP library, imported when first used: it takes longer to load than the rest of a server to start. */
export type OpenPgpLibrary = typeof import('openpgp')

const MAX_LENGTH = 256 * 1024
/** Of every kind, the signatures of others among them: 256 KiB hold about a thousand of these. */
const MOST_PACKETS = 2000
/** User ids and subkeys; no key in use comes near. */
const MOST_PARTS = 64

/**
 * The widest number of each name in a public-key packet, in bytes: RSA to 16384 bits, DSA and ElGamal to 4096, with DSA's subgroup to 256.
 * What a signature check costs follows from these, and the library bounds only some of them.
 */
const WIDEST: Record<string, number> = { n: 2048, e: 8, p: 512, q: 32, g: 512, y: 512 }

/**
 * The first public key of an armoured text, nothing of it verified yet: like Forgejo, it ignores further keys and blocks.
 * @throws AllotError invalid when there is none, and when any key of the text is a private one
 */
export const readArmored = async (pgp: OpenPgpLibrary, armored: string): Promise<Key> => {
  refuseOtherFormats(armored)
  const keys = await readKeys(pgp, armored.trim())
  if (keys.some((one) => one.isPrivate())) throw privateKey()
  const [key] = keys
  if (key === undefined) throw invalid('armored_public_key: this block holds no key')
  if (key.users.length + key.subkeys.length > MOST_PARTS)
    throw invalid(`armored_public_key: a key with more than ${MOST_PARTS} user ids and subkeys is not taken`)
  for (const part of [key, ...key.subkeys]) refuseWideNumbers(part.keyPacket.publicParams)
  return key
}

/** The library itself would accept a private key. */
const refuseOtherFormats = (armored: string) => {
  if (armored.length > MAX_LENGTH)
    throw invalid(`armored_public_key: must not be longer than ${MAX_LENGTH} characters`)
  if (/^-----BEGIN PGP PRIVATE KEY BLOCK-----/m.test(armored)) throw privateKey()
  const [first] = armored.trim().match(/^-----BEGIN PGP [^\n-]{0,99}-----/m) ?? []
  if (first !== '-----BEGIN PGP PUBLIC KEY BLOCK-----')
    throw invalid(
      'armored_public_key: expected a block that begins with -----BEGIN PGP PUBLIC KEY BLOCK-----',
    )
}

const readKeys = async (pgp: OpenPgpLibrary, armored: string): Promise<Key[]> => {
  try {
    const { data } = await pgp.unarmor(armored)
    if (!(data instanceof Uint8Array)) throw new Error('a text was read as a stream')
    if (countPackets(data, MOST_PACKETS) > MOST_PACKETS) throw tooManyPackets()
    return await pgp.readKeys({ binaryKeys: data })
  } catch (cause) {
    if (cause instanceof AllotError) throw cause
    throw new AllotError('invalid', 'armored_public_key: this block holds no key that can be read', { cause })
  }
}

const refuseWideNumbers = (numbers: object | null) => {
  for (const [name, number] of Object.entries(numbers ?? {}))
    if (number instanceof Uint8Array && number.length > (WIDEST[name] ?? number.length))
      throw invalid('armored_public_key: a key with numbers this large is not taken')
}

const tooManyPackets = () =>
  invalid(`armored_public_key: a key with more than ${MOST_PACKETS} packets is not taken`)
const privateKey = () => invalid('armored_public_key: this is a private key, which must be kept secret')
