import { blobOf, readStrings } from '../../lib/keys/ssh.ts'
import { sshKeygen } from './ssh-keygen.ts'

/** For all spec files of a process: its folder stays until the process exits. */
export const keygen = sshKeygen()

/** A key line with a blob of these strings. */
export const lineOf = (type: string, ...content: (string | Buffer)[]): string =>
  `${type} ${blobOf([type, ...content].map((one) => Buffer.from(one as string))).toString('base64')}`

export const contentOf = (line: string): Buffer[] => {
  const blob = Buffer.from(line.split(' ')[1]!, 'base64')
  for (let count = 1; ; count++) {
    const { strings, rest } = readStrings(blob, count)
    if (rest === 0) return strings.slice(1)
  }
}

const plain = [
  ['ed25519', undefined, 'ssh-ed25519'],
  ['rsa', 2048, 'ssh-rsa'],
  ['rsa', 3072, 'ssh-rsa'],
  ['ecdsa', 256, 'ecdsa-sha2-nistp256'],
  ['ecdsa', 384, 'ecdsa-sha2-nistp384'],
  ['ecdsa', 521, 'ecdsa-sha2-nistp521'],
] as const
export const generated = plain.map(([type, bits, name]) => ({ name, bits, key: keygen.generate(type, bits) }))
const lineNamed = (name: string) => generated.find((one) => one.name === name)!.key.public.trim()

export const [ed25519, nistp256, rsa] = ['ssh-ed25519', 'ecdsa-sha2-nistp256', 'ssh-rsa'].map(lineNamed) as [
  string,
  string,
  string,
]
/** ssh-keygen cannot make these without the device, so they are built as OpenSSH's PROTOCOL.u2f describes. */
export const securityKeys = [
  lineOf('sk-ssh-ed25519@openssh.com', ...contentOf(ed25519), 'ssh:'),
  lineOf('sk-ecdsa-sha2-nistp256@openssh.com', ...contentOf(nistp256), 'ssh:allot'),
]
export const lines = [...generated.map(({ key }) => key.public.trim()), ...securityKeys]
