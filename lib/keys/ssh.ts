import { createHash } from 'node:crypto'
import { invalid } from '../errors.ts'
import { bitsOf, sshKeyTypes } from './ssh-blob.ts'
import { readSshFormat } from './ssh-formats.ts'
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
