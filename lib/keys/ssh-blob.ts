import { createPublicKey } from 'node:crypto'
import sshpk from 'sshpk'
import { AllotError, invalid } from '../errors.ts'

const MIN_RSA_BITS = 2048
const MAX_RSA_BITS = 16_384
/** Bytes. In practice the exponent is 65537; a large one makes signature checks slow. OpenSSL has the same limit for long keys. */
const MAX_EXPONENT_LENGTH = 8

/** The content of a blob after the name of its type. */
interface Layout {
  /** How many strings there are. */
  strings: number
  /** For a key on a security key: the type of the same key without the application, which is the last string. */
  plainType?: string
}

const layouts: Record<string, Layout> = {
  'ssh-ed25519': { strings: 1 },
  'ssh-rsa': { strings: 2 },
  'ecdsa-sha2-nistp256': { strings: 2 },
  'ecdsa-sha2-nistp384': { strings: 2 },
  'ecdsa-sha2-nistp521': { strings: 2 },
  'sk-ssh-ed25519@openssh.com': { strings: 2, plainType: 'ssh-ed25519' },
  'sk-ecdsa-sha2-nistp256@openssh.com': { strings: 3, plainType: 'ecdsa-sha2-nistp256' },
}

/** The supported types. */
export const sshKeyTypes: readonly string[] = Object.keys(layouts)

/**
 * Validates a blob. sshpk does not support keys on security keys, so their application is removed first.
 * @param type one of `sshKeyTypes`
 * @returns the size of the key in bits
 * @throws AllotError invalid
 */
export const bitsOf = (type: string, blob: Buffer): number => {
  const { strings, plainType } = layouts[type]!
  const content = stringsIn(type, blob, strings)
  if (type === 'ssh-rsa') return rsaBits(content)
  if (plainType === undefined) return bitsByLibrary(type, content)
  if (content.pop()!.length === 0) throw invalid('key: a security key must name its application')
  return bitsByLibrary(plainType, content)
}

const stringsIn = (type: string, blob: Buffer, count: number): Buffer[] => {
  const reader = new WireReader(blob)
  if (reader.string().toString('latin1') !== type)
    throw invalid(`key: its content is not of the type ${type}`)
  const strings = Array.from({ length: count }, () => reader.string())
  reader.end()
  return strings
}

const rsaBits = ([exponent, modulus]: Buffer[]): number => {
  for (const number of [exponent!, modulus!]) checkNumber(number)
  if (isEven(modulus!) || isEven(exponent!) || exponent!.equals(Buffer.of(1)))
    throw invalid('key: its content is not an RSA key')
  if (exponent!.length > MAX_EXPONENT_LENGTH)
    throw invalid('key: the exponent of this RSA key is too large; use 65537')
  const bits = bitsByLibrary('ssh-rsa', [exponent!, modulus!])
  if (bits < MIN_RSA_BITS)
    throw invalid(`key: an RSA key needs at least ${MIN_RSA_BITS} bits, this one has ${bits}`)
  if (bits > MAX_RSA_BITS)
    throw invalid(`key: an RSA key must not have more than ${MAX_RSA_BITS} bits, this one has ${bits}`)
  return bits
}

/** RFC 4251 §5: numbers are in two's complement, without unnecessary leading bytes. */
const checkNumber = (number: Buffer) => {
  const [first = 0, second = 0] = number
  if (first >= 0x80) throw invalid('key: the numbers of an RSA key must not be negative')
  if (number.length > 0 && first === 0 && second < 0x80)
    throw invalid('key: the numbers of an RSA key must not have unnecessary leading zeros')
}

const isEven = (number: Buffer) => (number.at(-1) ?? 0) % 2 === 0

/** sshpk parses the key; node:crypto then checks it, such as whether a point is on its curve. */
const bitsByLibrary = (type: string, content: Buffer[]): number => {
  const blob = blobOf([Buffer.from(type), ...content])
  try {
    const key = sshpk.parseKey(`${type} ${blob.toString('base64')}`, 'ssh')
    if (!key.toBuffer('rfc4253').equals(blob)) throw new Error('sshpk writes this key with other bytes')
    createPublicKey(key.toString('pkcs8'))
    return key.size
  } catch (cause) {
    throw new AllotError('invalid', `key: its content is not an ${type} key`, { cause })
  }
}

/** Reads the strings of a blob in SSH's wire format (RFC 4251 §5). */
export class WireReader {
  readonly #blob: Buffer
  #offset = 0

  constructor(blob: Buffer) {
    this.#blob = blob
  }

  /** The next string. @throws AllotError invalid when the blob ends before it */
  string(): Buffer {
    const start = this.#offset + 4
    if (start > this.#blob.length) throw endsTooEarly()
    const end = start + this.#blob.readUInt32BE(this.#offset)
    if (end > this.#blob.length) throw endsTooEarly()
    this.#offset = end
    return this.#blob.subarray(start, end)
  }

  /** @throws AllotError invalid unless all bytes were read */
  end(): void {
    if (this.#offset !== this.#blob.length) throw invalid('key: there are bytes after the end of the key')
  }
}

/** Strings in SSH's wire format. */
export const blobOf = (strings: readonly Buffer[]): Buffer =>
  Buffer.concat(
    strings.flatMap((string) => {
      const length = Buffer.alloc(4)
      length.writeUInt32BE(string.length)
      return [length, string]
    }),
  )

const endsTooEarly = () => invalid('key: its content ends too early')
