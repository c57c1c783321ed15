import { createHash } from 'node:crypto'
import { invalid } from '../errors.ts'
import { bitsOf, sshKeyTypes } from './ssh-blob.ts'

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

/** One public key in OpenSSH's one-line format. @throws AllotError invalid that says why it is none. */
export const parseSshKey = (input: string): SshKey => {
  const line = input.trim()
  refuseOtherFormats(line)
  const [, type = '', blob = '', comment = ''] = /^(\S+)(?:[ \t]+(\S+))?(?:[ \t]+(.+))?$/s.exec(line) ?? []
  refuseOtherTypes(type, line)
  const bytes = decoded(blob)
  return {
    type,
    bits: bitsOf(type, bytes),
    blob,
    comment,
    text: [type, blob, comment].join(' ').trimEnd(),
    fingerprint: `SHA256:${createHash('sha256').update(bytes).digest('base64').replace(/=+$/, '')}`,
  }
}

const refuseOtherFormats = (line: string) => {
  if (line === '') throw invalid('Key is required')
  if (line.length > LONGEST) throw invalid(`key: must not be longer than ${LONGEST} characters`)
  if (/^(-+ ?BEGIN [A-Z0-9 ]{0,99}PRIVATE KEY|PuTTY-User-Key-File-)/m.test(line))
    throw invalid('key: this is a private key, which must be kept secret')
  if (/^-{4,5} ?BEGIN/.test(line))
    throw invalid("key: only OpenSSH's one-line format is taken, such as `ssh-ed25519 AAAA…`")
  if (/[\r\n]/.test(line)) throw invalid('key: must be one key on one line')
  if (/(?!\t)\p{Cc}/u.test(line)) throw invalid('key: must not hold control characters')
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
