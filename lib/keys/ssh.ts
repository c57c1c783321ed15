import { createHash, createPublicKey } from 'node:crypto'
import sshpk from 'sshpk'
import { AllotError, invalid } from '../errors.ts'
import type { SshKey } from './reader.ts'
import { bitsOf, sshKeyTypes, WireReader } from './ssh-blob.ts'

const MAX_LENGTH = 16 * 1024

/**
 * Parses one public key, in any format that a Forgejo takes: the line that OpenSSH writes, its bare base64, PEM (PKCS#1 and
 * SubjectPublicKeyInfo) and RFC 4716.
 * @throws AllotError invalid
 */
export const parseSshKey = (input: string): SshKey => {
  const text = input.trim()
  if (text === '') throw invalid('Key is required')
  if (text.length > MAX_LENGTH) throw invalid(`key: must not be longer than ${MAX_LENGTH} characters`)
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
    fingerprint: `SHA256:${createHash('sha256').update(bytes).digest('base64').replace(/=+$/, '')}`,
  }
}

/** A key as OpenSSH writes it on one line. */
interface SshLine {
  /** Empty for a bare blob, which contains its type. */
  type: string
  /** In base64. */
  blob: string
  comment: string
}

/** Every blob starts with the length of its type, four bytes of which the first three are 0. */
const BLOB_START = 'AAAA'
const SSH2_BEGIN = '---- BEGIN SSH2 PUBLIC KEY ----'
const SSH2_END = '---- END SSH2 PUBLIC KEY ----'

const lineOf = (text: string): SshLine => {
  if (/^(-+ ?BEGIN [A-Z0-9 ]{0,99}PRIVATE KEY|PuTTY-User-Key-File-)/m.test(text))
    throw invalid('key: this is a private key, which must be kept secret; send the public key')
  if (/^-----BEGIN (RSA )?PUBLIC KEY-----/.test(text)) return bareLine(fromPem(text))
  if (text.startsWith(SSH2_BEGIN)) return bareLine(fromRfc4716(text))
  if (/^-{4,5} ?BEGIN/.test(text))
    throw invalid('key: expected an SSH public key, such as `ssh-ed25519 AAAA…`, or one in PEM or RFC 4716')
  // Removes line ends: what follows them becomes a part of the comment.
  const line = text.replace(/\r?\n/g, '')
  if (/(?!\t)\p{Cc}/u.test(line)) throw invalid('key: must not contain control characters')
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
    const message = 'key: this PEM block does not contain a public key of a type that SSH supports'
    throw new AllotError('invalid', message, { cause })
  }
}

/** RFC 4716 §3: headers, which a backslash continues on the next line, then base64. */
const fromRfc4716 = (text: string): string => {
  const lines = text.replace(/\\\r?\n/g, '').split(/\r?\n/)
  const end = lines.indexOf(SSH2_END)
  if (end === -1) throw invalid(`key: this block does not end with ${SSH2_END}`)
  return lines
    .slice(1, end)
    .filter((line) => !line.includes(':'))
    .join('')
}

const typeIn = (blob: Buffer): string => {
  const type = new WireReader(blob).string().toString('latin1')
  checkType(type, type)
  return type
}

const checkType = (type: string, line: string) => {
  if (sshKeyTypes.includes(type)) return
  if (type === 'ssh-dss') throw invalid('key: DSA keys are too weak; use an ssh-ed25519 key')
  if (/-cert-v\d+@/.test(type)) throw invalid('key: this is a certificate, not a key')
  if (line.split(/[ \t]+/).some((word) => sshKeyTypes.includes(word)))
    throw invalid('key: options before the key are not supported')
  throw invalid(`key: the type must be one of ${sshKeyTypes.join(', ')}`)
}

const decodeBase64 = (base64: string): Buffer => {
  const blob = Buffer.from(base64, 'base64')
  if (base64 === '' || blob.toString('base64') !== base64)
    throw invalid('key: its content is not well-formed base64')
  return blob
}
