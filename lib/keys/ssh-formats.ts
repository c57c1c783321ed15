import { createPublicKey } from 'node:crypto'
import sshpk from 'sshpk'
import { AllotError, invalid } from '../errors.ts'

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
