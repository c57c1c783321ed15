import type { Key } from 'openpgp'
import { AllotError, invalid } from '../errors.ts'

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

/**
 * How many packets there are by their headers (RFC 9580, section 4.2), at most one more than a limit; a packet in several
 * parts counts once for each part. The library takes so long over each that a text of nothing else, which it passes over,
 * would keep a processor busy for seconds. Invariant: every length that the library reads is followed here in the same way.
 */
export const countPackets = (data: Uint8Array, limit: number): number => {
  let count = 0
  for (let index = 0; index < data.length && count <= limit; ) {
    const isLegacy = (data[index]! & 0x40) === 0
    let part = isLegacy ? legacyPart(data, index + 1, data[index]! & 3) : partAt(data, index + 1)
    count++
    for (; part.isPartial && part.end < data.length && count <= limit; count++) part = partAt(data, part.end)
    index = part.end
  }
  return count
}

interface Part {
  end: number
  /** Whether another part of the same packet follows, with a length of its own. */
  isPartial: boolean
}

const partAt = (data: Uint8Array, start: number): Part => {
  const first = data[start] ?? 0
  const whole = (end: number) => ({ end, isPartial: false })
  if (first < 192) return whole(start + 1 + first)
  if (first < 224) return whole(start + 2 + ((first - 192) << 8) + (data[start + 1] ?? 0) + 192)
  if (first === 255) return whole(start + 5 + numberAt(data, start + 1, 4))
  return { end: start + 1 + 2 ** (first & 0x1f), isPartial: true }
}

const legacyPart = (data: Uint8Array, start: number, lengthType: number): Part => {
  if (lengthType === 3) return { end: data.length, isPartial: false }
  const size = 2 ** lengthType
  return { end: start + size + numberAt(data, start, size), isPartial: false }
}

const numberAt = (data: Uint8Array, index: number, size: number): number =>
  data.subarray(index, index + size).reduce((number, byte) => number * 256 + byte, 0)
