import { createHash, createPublicKey } from 'node:crypto'
import sshpk from 'sshpk'
import { AllotError, invalid } from '../errors.ts'
import { WireReader } from './wire.ts'

export interface SshKey {
  type: string
  bits: number
  /** The key itself, in base64. */
  blob: string
  comment: string
  /** `type base64 comment`, as OpenSSH keeps it in `authorized_keys`. */
  text: string
  /** `SHA256:…`, as `ssh-keygen -l` prints it. */
  fingerprint: string
}

const LONGEST = 16 * 1024
const SHORTEST_RSA = 2048

/** How the content of each type is read; it answers the bits. */
const readers: Record<string, (type: string, blob: Buffer) => number> = {
  'ssh-ed25519': readWithLibrary,
  'ssh-rsa': readRsa,
  'ecdsa-sha2-nistp256': readWithLibrary,
  'ecdsa-sha2-nistp384': readWithLibrary,
  'ecdsa-sha2-nistp521': readWithLibrary,
  'sk-ssh-ed25519@openssh.com': readSecurityKey,
  'sk-ecdsa-sha2-nistp256@openssh.com': readSecurityKey,
}

/** One public key in OpenSSH's one-line format. @throws AllotError invalid that says why it is none. */
export const parseSshKey = (input: string): SshKey => {
  const text = input.trim()
  refuseOtherFormats(text)
  const [type = '', base64 = '', ...rest] = text.split(/[ \t]+/)
  const read = readerOf(type, text)
  const blob = decoded(base64)
  const bits = read(type, blob)
  const comment = rest.join(' ')
  return {
    type,
    bits,
    blob: base64,
    comment,
    text: [type, base64, ...rest].join(' '),
    fingerprint: `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`,
  }
}

const refuseOtherFormats = (text: string) => {
  if (text === '') throw invalid('Key is required')
  if (text.length > LONGEST) throw invalid(`key: must not be longer than ${LONGEST} characters`)
  if (/PRIVATE KEY/.test(text)) throw invalid('key: this is a private key, which must be kept secret')
  if (/^-{4,5} ?BEGIN/.test(text))
    throw invalid("key: only OpenSSH's one-line format is taken, such as `ssh-ed25519 AAAA…`")
  if (/[\r\n]/.test(text)) throw invalid('key: must be one key on one line')
  if (/(?!\t)\p{Cc}/u.test(text)) throw invalid('key: must not hold control characters')
}

const readerOf = (type: string, text: string) => {
  if (Object.hasOwn(readers, type)) return readers[type]!
  if (type === 'ssh-dss') throw invalid('key: DSA keys are too weak to be taken')
  if (/-cert-v\d+@/.test(type)) throw invalid('key: this is a certificate, not a key')
  if (text.split(/[ \t]+/).some((word) => Object.hasOwn(readers, word)))
    throw invalid('key: options before the key are not taken')
  throw invalid(`key: the type must be one of ${Object.keys(readers).join(', ')}`)
}

const decoded = (base64: string): Buffer => {
  const blob = Buffer.from(base64, 'base64')
  if (base64 === '' || blob.toString('base64') !== base64)
    throw invalid('key: its content is not well-formed base64')
  return blob
}

/** "ed25519, RSA from 2048 bits, ECDSA": sshpk reads what they hold, and node:crypto whether it is a key at all. */
function readWithLibrary(type: string, blob: Buffer): number {
  checkType(type, new WireReader(blob))
  try {
    const key = sshpk.parseKey(`${type} ${blob.toString('base64')}`, 'ssh')
    if (!key.toBuffer('rfc4253').equals(blob))
      throw invalid('key: there are bytes that do not belong to the key')
    createPublicKey(key.toString('pkcs8'))
    return key.size
  } catch (cause) {
    if (cause instanceof AllotError) throw cause
    throw new AllotError('invalid', `key: its content is no ${type} key`, { cause })
  }
}

function readRsa(type: string, blob: Buffer): number {
  const wire = new WireReader(blob)
  checkType(type, wire)
  const [exponent, modulus] = [wire.string(), wire.string()]
  if (isEven(modulus) || isEven(exponent) || (exponent.length === 1 && exponent[0]! < 3))
    throw invalid('key: its numbers are those of no RSA key')
  const bits = readWithLibrary(type, blob)
  if (bits < SHORTEST_RSA)
    throw invalid(`key: an RSA key needs at least ${SHORTEST_RSA} bits, this one has ${bits}`)
  if (bits > 16_384) throw invalid('key: an RSA key must not have more than 16384 bits')
  return bits
}

const isEven = (number: Buffer) => number.length === 0 || number.at(-1)! % 2 === 0

/** `sk-` keys live on a security key; sshpk does not know them. They are the plain key with an application name. */
function readSecurityKey(type: string, blob: Buffer): number {
  const wire = new WireReader(blob)
  checkType(type, wire)
  const plain = type === 'sk-ssh-ed25519@openssh.com' ? readEd25519(wire) : readNistp256(wire)
  const application = wire.string().toString('utf8')
  wire.end()
  if (application === '') throw invalid('key: a security key must name its application')
  return readWithLibrary(plain.type, plain.blob)
}

const readEd25519 = (wire: WireReader) => {
  const point = wire.string()
  return { type: 'ssh-ed25519', blob: blobOf([Buffer.from('ssh-ed25519'), point]) }
}

const readNistp256 = (wire: WireReader) => {
  const [curve, point] = [wire.string(), wire.string()]
  return { type: 'ecdsa-sha2-nistp256', blob: blobOf([Buffer.from('ecdsa-sha2-nistp256'), curve, point]) }
}

const blobOf = (strings: readonly Buffer[]): Buffer =>
  Buffer.concat(
    strings.flatMap((string) => {
      const length = Buffer.alloc(4)
      length.writeUInt32BE(string.length)
      return [length, string]
    }),
  )

const checkType = (type: string, wire: WireReader) => {
  if (wire.string().toString('latin1') !== type) throw invalid(`key: its content is not of the type ${type}`)
}
