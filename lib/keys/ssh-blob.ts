import { createPublicKey } from 'node:crypto'
import sshpk from 'sshpk'
import { AllotError, invalid } from '../errors.ts'

const SHORTEST_RSA = 2048
const LONGEST_RSA = 16_384
/** In bytes. Everyone's is 65537; OpenSSL bounds that of a long key the same, since checking a signature costs by it. */
const LONGEST_EXPONENT = 8

/** What follows the name of the type in a blob. */
interface Layout {
  strings: number
  /** The type that a key on a security key is but for the application's name, which comes last. */
  plain?: string
}

const layouts: Record<string, Layout> = {
  'ssh-ed25519': { strings: 1 },
  'ssh-rsa': { strings: 2 },
  'ecdsa-sha2-nistp256': { strings: 2 },
  'ecdsa-sha2-nistp384': { strings: 2 },
  'ecdsa-sha2-nistp521': { strings: 2 },
  'sk-ssh-ed25519@openssh.com': { strings: 2, plain: 'ssh-ed25519' },
  'sk-ecdsa-sha2-nistp256@openssh.com': { strings: 3, plain: 'ecdsa-sha2-nistp256' },
}

/** The types that are taken. */
export const sshKeyTypes: readonly string[] = Object.keys(layouts)

/**
 * The size of a key in bits, once its content is known to be a key of that type.
 * @param type one of sshKeyTypes. @throws AllotError invalid that says why it is none.
 */
export const bitsOf = (type: string, blob: Buffer): number => {
  const { strings, plain } = layouts[type]!
  const content = contentOf(type, blob, strings)
  if (type === 'ssh-rsa') return rsaBits(content)
  if (plain === undefined) return readWithLibrary(type, content)
  if (content.pop()!.length === 0) throw invalid('key: a security key must name its application')
  return readWithLibrary(plain, content)
}

const contentOf = (type: string, blob: Buffer, strings: number): Buffer[] => {
  const wire = new WireReader(blob)
  if (wire.string().toString('latin1') !== type) throw invalid(`key: its content is not of the type ${type}`)
  const content = Array.from({ length: strings }, () => wire.string())
  wire.end()
  return content
}

const rsaBits = ([exponent, modulus]: Buffer[]): number => {
  for (const number of [exponent!, modulus!]) refuseOddWriting(number)
  if (isEven(modulus!) || isEven(exponent!) || exponent!.equals(Buffer.of(1)))
    throw invalid('key: its numbers are those of no RSA key')
  if (exponent!.length > LONGEST_EXPONENT) throw invalid('key: the exponent of this RSA key is too large')
  const bits = readWithLibrary('ssh-rsa', [exponent!, modulus!])
  if (bits < SHORTEST_RSA)
    throw invalid(`key: an RSA key needs at least ${SHORTEST_RSA} bits, this one has ${bits}`)
  if (bits > LONGEST_RSA)
    throw invalid(`key: an RSA key must not have more than ${LONGEST_RSA} bits, this one has ${bits}`)
  return bits
}

/** RFC 4251, section 5: numbers are in two's complement, without bytes they do not need. */
const refuseOddWriting = (number: Buffer) => {
  const [first = 0, second = 0] = number
  if (first >= 0x80) throw invalid('key: the numbers of an RSA key must not be negative')
  if (number.length > 0 && first === 0 && second < 0x80)
    throw invalid('key: the numbers of an RSA key must not begin with more zeros than they need')
}

const isEven = (number: Buffer) => (number.at(-1) ?? 0) % 2 === 0

/** sshpk reads what a key holds, and node:crypto whether that is a key at all: a point on its curve, of its length. */
const readWithLibrary = (type: string, content: Buffer[]): number => {
  const blob = blobOf([Buffer.from(type), ...content])
  try {
    const key = sshpk.parseKey(`${type} ${blob.toString('base64')}`, 'ssh')
    if (!key.toBuffer('rfc4253').equals(blob)) throw new Error('sshpk would write this key otherwise')
    createPublicKey(key.toString('pkcs8'))
    return key.size
  } catch (cause) {
    throw new AllotError('invalid', `key: its content is no ${type} key`, { cause })
  }
}

/** Reads the strings of an SSH wire format blob (RFC 4251, section 5) one after another. */
export class WireReader {
  readonly #blob: Buffer
  #at = 0

  constructor(blob: Buffer) {
    this.#blob = blob
  }

  string(): Buffer {
    const start = this.#at + 4
    if (start > this.#blob.length) throw damaged()
    const end = start + this.#blob.readUInt32BE(this.#at)
    if (end > this.#blob.length) throw damaged()
    this.#at = end
    return this.#blob.subarray(start, end)
  }

  end(): void {
    if (this.#at !== this.#blob.length) throw invalid('key: there are bytes after the end of the key')
  }
}

/** The strings in wire format, one after another. */
export const blobOf = (strings: readonly Buffer[]): Buffer =>
  Buffer.concat(
    strings.flatMap((string) => {
      const length = Buffer.alloc(4)
      length.writeUInt32BE(string.length)
      return [length, string]
    }),
  )

const damaged = () => invalid('key: its content ends too early')
