import type { Key } from 'openpgp'
import { AllotError, invalid } from '../errors.ts'

/** Imported when it is first used: loading it takes longer than the start of a server. */
export type OpenPgpLibrary = typeof import('openpgp')

const MAX_LENGTH = 256 * 1024
/** Of all kinds. 256 KiB have space for about 1,000 signatures. */
const MAX_PACKETS = 2000
/** User ids and subkeys; keys in use have far fewer. */
const MAX_PARTS = 64

/**
 * Bytes of each number of a public-key packet: RSA up to 16384 bits, DSA and ElGamal up to 4096 bits, a DSA subgroup of up
 * to 256 bits. They determine the cost of a signature check, and the library limits only some of them.
 */
const MAX_NUMBER_LENGTHS: Record<string, number> = { n: 2048, e: 8, p: 512, q: 32, g: 512, y: 512 }

/**
 * Reads the first public key of an armored text, without verifying any signature. Like Forgejo, ignores further keys and
 * blocks.
 * @throws AllotError invalid when there is no public key, or when any key is private
 */
export const readArmored = async (pgp: OpenPgpLibrary, armored: string): Promise<Key> => {
  checkFormat(armored)
  const keys = await readKeys(pgp, armored.trim())
  if (keys.some((key) => key.isPrivate())) throw privateKey()
  const [key] = keys
  if (key === undefined) throw invalid('armored_public_key: this block contains no key')
  if (key.users.length + key.subkeys.length > MAX_PARTS)
    throw invalid(`armored_public_key: a key must not have more than ${MAX_PARTS} user ids and subkeys`)
  for (const { keyPacket } of [key, ...key.subkeys]) checkNumbers(keyPacket.publicParams)
  return key
}

/** Refuses private keys, which the library would accept. */
const checkFormat = (armored: string) => {
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
    if (!(data instanceof Uint8Array)) throw new Error('the library returned a stream for a text')
    if (countPackets(data, MAX_PACKETS) > MAX_PACKETS)
      throw invalid(`armored_public_key: a key must not have more than ${MAX_PACKETS} packets`)
    return await pgp.readKeys({ binaryKeys: data })
  } catch (cause) {
    if (cause instanceof AllotError) throw cause
    const message = 'armored_public_key: this block contains no key that can be read'
    throw new AllotError('invalid', message, { cause })
  }
}

const checkNumbers = (numbers: object | null) => {
  for (const [name, number] of Object.entries(numbers ?? {})) {
    const limit = MAX_NUMBER_LENGTHS[name]
    if (number instanceof Uint8Array && limit !== undefined && number.length > limit)
      throw invalid('armored_public_key: the numbers of this key are too large; use a shorter key')
  }
}

const privateKey = () =>
  invalid('armored_public_key: this is a private key, which must be kept secret; send the public key')

/**
 * Counts packets by their headers (RFC 9580 §4.2), each partial body as one. Limits the time that the library takes: it
 * would spend seconds on a text of small packets that it ignores. Invariant: lengths are read exactly as the library does.
 * @returns at most `limit` + 1
 */
export const countPackets = (data: Uint8Array, limit: number): number => {
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
