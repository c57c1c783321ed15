import { createHash, createPublicKey } from 'node:crypto'
import sshpk from 'sshpk'
import { AllotError, invalid } from '../errors.ts'
import { bitsOf, sshKeyTypes, WireReader } from './ssh-blob.ts'

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

const MAX_LENGTH = 16 * 1024

/** One public key. @throws AllotError invalid that says why it is none. */
export const parseSshKey = (input: string): SshKey => {
  const given = input.trim()
  if (given === '') throw invalid('Key is required')
  if (given.length > MAX_LENGTH) throw invalid(`key: must not be longer than ${MAX_LENGTH} characters`)
  const line = readSshFormat(given)
  if (line.type !== '') refuseOtherTypes(line.type, given)
  const { blob } = line
  const bytes = decoded(blob)
  const type = line.type || typeIn(bytes)
  // Without the space that a dropped line end has left.
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

const typeIn = (blob: Buffer): string => {
  const type = new WireReader(blob).string().toString('latin1')
  refuseOtherTypes(type, type)
  return type
}

const refuseOtherTypes = (type: string, line: string) => {
  if (sshKeyTypes.includes(type)) return
  if (type === 'ssh-dss') throw invalid('key: DSA keys are too weak to be taken')
  if (/-cert-v\d+@/.test(type)) throw invalid('key: this is a certificate, not a key')
  if (line.split(/[ \t]+/).some((word) => sshKeyTypes.includes(word)))
    throw invalid('key: options before the key are not taken')
  throw invalid(`key: the type must be one of ${sshKeyTypes.join(', ')}`)
}

const decoded = (base64: string): Buffer => {
  const blob = Buffer.from(base64, 'base64')
  if (base64 === '' || blob.toString('base64') !== base64)
    throw invalid('key: its content is not well-formed base64')
  return blob
}

/** A key as OpenSSH writes it on one line. The type is empty for a bare blob, which names its type itself. */
export interface SshLine {
  type: string
  /** In base64. */
  blob: string
  comment: string
}

/**
 * Reads a key in any format that a Forgejo takes: OpenSSH's line, the bare base64 of it, PEM (PKCS#1 and SubjectPublicKeyInfo)
 * and RFC 4716. Line ends within a line are dropped, so that what follows them becomes part of the comment.
 * @throws AllotError invalid for a private key and for other formats
 */
export const readSshFormat = (text: string): SshLine => {
  if (/^(-+ ?BEGIN [A-Z0-9 ]{0,99}PRIVATE KEY|PuTTY-User-Key-File-)/m.test(text))
    throw invalid('key: this is a private key, which must be kept secret')
  if (/^-----BEGIN (RSA )?PUBLIC KEY-----/.test(text)) return lineOf(fromPem(text))
  if (text.startsWith(SSH2_BEGIN)) return lineOf(fromRfc4716(text))
  if (/^-{4,5} ?BEGIN/.test(text))
    throw invalid('key: expected an SSH public key, such as `ssh-ed25519 AAAA…`, or one in PEM or RFC 4716')
  const line = text.replace(/\r?\n/g, '')
  if (/(?!\t)\p{Cc}/u.test(line)) throw invalid('key: must not hold control characters')
  const [, first = '', second, comment = ''] = /^(\S+)(?:[ \t]+(\S+))?(?:[ \t]+(.+))?$/s.exec(line) ?? []
  return second === undefined && first.startsWith(BLOB_BEGIN)
    ? lineOf(first)
    : { type: first, blob: second ?? '', comment }
}

/** Every blob begins with the length of its type, which is below 256, in four bytes. */
const BLOB_BEGIN = 'AAAA'
const SSH2_BEGIN = '---- BEGIN SSH2 PUBLIC KEY ----'
const SSH2_END = '---- END SSH2 PUBLIC KEY ----'

const lineOf = (blob: string): SshLine => ({ type: '', blob, comment: '' })

const fromPem = (text: string): string => {
  try {
    const key = createPublicKey({ key: text, format: 'pem' })
    const pem = key.export({ type: 'spki', format: 'pem' })
    return sshpk.parseKey(pem, 'pem').toBuffer('rfc4253').toString('base64')
  } catch (cause) {
    throw new AllotError('invalid', 'key: this PEM block holds no public key of a type that SSH knows', {
      cause,
    })
  }
}

/** RFC 4716, section 3: headers, which a backslash continues on the next line, then base64. */
const fromRfc4716 = (text: string): string => {
  const lines = text.replace(/\\\r?\n/g, '').split(/\r?\n/)
  const end = lines.indexOf(SSH2_END)
  if (end === -1) throw invalid(`key: this block does not end with ${SSH2_END}`)
  return lines
    .slice(1, end)
    .filter((line) => !line.includes(':'))
    .join('')
}
