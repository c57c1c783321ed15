import { createHash, createPublicKey } from 'node:crypto'
import sshpk from 'sshpk'
import { AllotError, invalidMember } from '../errors.ts'
import type { ParsedSshKey } from './reader.ts'

const MAX_LENGTH = 16 * 1024

/**
 * Parses one public key, in any format that a Forgejo takes: the line that OpenSSH writes, its bare base64,
 * PEM (PKCS#1 and SubjectPublicKeyInfo) and RFC 4716.
 * @throws AllotError invalid
 */
export const parseSshKey = (input: string): ParsedSshKey => {
  const text = input.trim()
  if (text === '') throw new AllotError('invalid', 'Key is required', { field: 'key' })
  if (text.length > MAX_LENGTH) throw invalidMember('key', `must not be longer than ${MAX_LENGTH} characters`)
  const line = lineOf(text)
  if (line.type !== '') checkType(line.type, text)
  const { blob } = line
  const bytes = decodeBase64(blob)
  const type = line.type || typeIn(bytes)
  // A removed line end leaves a space.
  const comment = line.comment.trimEnd()
  return {
    type,
    bits: bitsOf(type, bytes),
    blob,
    comment,
    text: [type, blob, comment].join(' ').trimEnd(),
    fingerprint: `SHA256:${createHash('sha256').update(bytes).digest('base64').replace('=', '')}`,
  }
}

/** A key as OpenSSH writes it on one line. */
interface SshLine {
  /** Empty for a bare blob, which contains its type. */
  type: string
  /** The public key in base64. */
  blob: string
  comment: string
}

/** Every blob starts with the length of its type, four bytes of which the first three are 0. */
const BLOB_START = 'AAAA'
const SSH2_BEGIN = '---- BEGIN SSH2 PUBLIC KEY ----'
const SSH2_END = '---- END SSH2 PUBLIC KEY ----'

/** Where a key begins: a type before its content, or the first line of a block. */
const KEY_BEGIN = /(?:^|\s)(?:ssh|ecdsa|sk)-[\w@.-]+[ \t]+AAAA|^-{4,5} ?BEGIN /gm

const lineOf = (text: string): SshLine => {
  if (/^(-+ ?BEGIN [A-Z0-9 ]{0,99}PRIVATE KEY|PuTTY-User-Key-File-)/m.test(text))
    throw invalidMember('key', 'this is a private key, which must be kept secret; send the public key')
  if ([...text.matchAll(KEY_BEGIN)].length > 1)
    throw invalidMember('key', 'there is more than one key in this text: add one at a time')
  if (/^-----BEGIN (RSA )?PUBLIC KEY-----/.test(text)) return bareLine(fromPem(text))
  if (text.startsWith(SSH2_BEGIN)) return bareLine(fromRfc4716(text))
  if (/^-{4,5} ?BEGIN/.test(text))
    throw invalidMember(
      'key',
      'expected an SSH public key, such as `ssh-ed25519 AAAA…`, or one in PEM or RFC 4716',
    )
  // Removes line ends: those of a wrapped line.
  const line = text.replace(/\r?\n/g, '')
  if (/(?!\t)\p{Cc}/u.test(line)) throw invalidMember('key', 'must not contain control characters')
  const [, first = '', second, comment = ''] = /^(\S+)(?:[ \t]+(\S+))?(?:[ \t]+(.+))?$/s.exec(line) ?? []
  return second === undefined && first.startsWith(BLOB_START)
    ? bareLine(first)
    : { type: first, blob: second ?? '', comment }
}

const bareLine = (blob: string): SshLine => ({ type: '', blob, comment: '' })

const fromPem = (text: string): string => {
  try {
    const key = createPublicKey({ key: text, format: 'pem' })
    const pem = key.export({ type: 'spki', format: 'pem' })
    return sshpk.parseKey(pem, 'pem').toBuffer('rfc4253').toString('base64')
  } catch (cause) {
    const problem = 'this PEM block does not contain a public key of a type that SSH supports'
    throw invalidMember('key', problem, cause)
  }
}

/**
 * RFC 4716 §3: headers, which a backslash continues on the next line, then base64. As for ssh-keygen, lines
 * may end with spaces.
 */
const fromRfc4716 = (text: string): string => {
  const trimmed = text.split('\n').map((line) => line.trimEnd())
  const lines = trimmed.join('\n').replaceAll('\\\n', '').split('\n')
  const end = lines.indexOf(SSH2_END)
  if (end === -1) throw invalidMember('key', `this block does not end with ${SSH2_END}`)
  return lines
    .slice(1, end)
    .filter((line) => !line.includes(':'))
    .join('')
}

const typeIn = (blob: Buffer): string => {
  const type = firstOf(blob)
  checkType(type, type)
  return type
}

const checkType = (type: string, line: string) => {
  if (sshKeyTypes.includes(type)) return
  if (type === 'ssh-dss') throw invalidMember('key', 'DSA keys are too weak; use an ssh-ed25519 key')
  if (/-cert-v\d+@/.test(type)) throw invalidMember('key', 'this is a certificate, not a key')
  if (line.split(/[ \t]+/).some((word) => sshKeyTypes.includes(word)))
    throw invalidMember('key', 'options before the key are not supported')
  throw invalidMember('key', `the type must be one of ${sshKeyTypes.join(', ')}`)
}

const decodeBase64 = (base64: string): Buffer => {
  const blob = Buffer.from(base64, 'base64')
  if (base64 === '' || blob.toString('base64') !== base64)
    throw invalidMember('key', 'its content is not well-formed base64')
  return blob
}

const MIN_RSA_BITS = 2048
const MAX_RSA_BITS = 16_384
/**
 * Bytes. In practice the exponent is 65537; a large one makes signature checks slow. OpenSSL has the same
 * limit for long keys.
 */
const MAX_EXPONENT_LENGTH = 8

/** The content of a blob after the name of its type. */
interface Layout {
  /** How many strings there are. */
  strings: number
  /**
   * Type of a key on a security key without its application, which is the last string. Absent for other keys.
   */
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
const sshKeyTypes: readonly string[] = Object.keys(layouts)

/**
 * Validates a blob. sshpk does not support keys on security keys, so their application is removed first.
 * @param type one of `sshKeyTypes`
 * @returns the size of the key in bits
 * @throws AllotError invalid
 */
const bitsOf = (type: string, blob: Buffer): number => {
  const { strings, plainType } = layouts[type]!
  const content = stringsIn(type, blob, strings)
  if (type === 'ssh-rsa') return rsaBits(content)
  if (plainType === undefined) return bitsByLibrary(type, content)
  if (content.pop()!.length === 0) throw invalidMember('key', 'a security key must name its application')
  return bitsByLibrary(plainType, content)
}

const stringsIn = (type: string, blob: Buffer, count: number): Buffer[] => {
  if (firstOf(blob) !== type) throw invalidMember('key', `its content is not of the type ${type}`)
  const { strings, rest } = readStrings(blob, 1 + count)
  if (rest > 0) throw invalidMember('key', 'there are bytes after the end of the key')
  return strings.slice(1)
}

const firstOf = (blob: Buffer): string => readStrings(blob, 1).strings[0]!.toString('latin1')

const rsaBits = ([exponent, modulus]: Buffer[]): number => {
  for (const number of [exponent!, modulus!]) checkNumber(number)
  if (isEven(modulus!) || isEven(exponent!) || exponent!.equals(Buffer.of(1)))
    throw invalidMember('key', 'its content is not an RSA key')
  if (exponent!.length > MAX_EXPONENT_LENGTH)
    throw invalidMember('key', 'the exponent of this RSA key is too large; use 65537')
  const bits = bitsByLibrary('ssh-rsa', [exponent!, modulus!])
  if (bits < MIN_RSA_BITS)
    throw invalidMember('key', `an RSA key needs at least ${MIN_RSA_BITS} bits, this one has ${bits}`)
  if (bits > MAX_RSA_BITS)
    throw invalidMember(
      'key',
      `an RSA key must not have more than ${MAX_RSA_BITS} bits, this one has ${bits}`,
    )
  return bits
}

/** RFC 4251 §5: numbers are in two's complement, without unnecessary leading bytes. */
const checkNumber = (number: Buffer) => {
  const [first = 0, second = 0] = number
  if (first >= 0x80) throw invalidMember('key', 'the numbers of an RSA key must not be negative')
  if (number.length > 0 && first === 0 && second < 0x80)
    throw invalidMember('key', 'the numbers of an RSA key must not have unnecessary leading zeros')
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
    throw invalidMember('key', `its content is not an ${type} key`, cause)
  }
}

/**
 * The first strings of a blob in SSH's wire format (RFC 4251 §5), and how many bytes follow.
 * @throws AllotError invalid when the blob ends before
 */
export const readStrings = (blob: Buffer, count: number): { strings: Buffer[]; rest: number } => {
  const strings: Buffer[] = []
  let offset = 0
  while (strings.length < count) {
    const start = offset + 4
    offset = start <= blob.length ? start + blob.readUInt32BE(offset) : Number.POSITIVE_INFINITY
    if (offset > blob.length) throw invalidMember('key', 'its content ends too early')
    strings.push(blob.subarray(start, offset))
  }
  return { strings, rest: blob.length - offset }
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
