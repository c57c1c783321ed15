import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { generateKey } from 'openpgp'
import sshpk from 'sshpk'
import { gnupg, type Listed } from '../keys/gnupg.ts'

export type SshKeyType = 'ed25519' | 'ecdsa' | 'rsa'

/** Generates a key pair that OpenSSH reads, with a comment. */
export const generateSshKey = (
  type: SshKeyType,
  bits?: number,
): { key: string; secret: string; fingerprint: string } => {
  const pem = privateKeyOf(type, bits).export({ type: 'pkcs8', format: 'pem' })
  const secret = sshpk.parsePrivateKey(pem, 'pem')
  const key = secret.toPublic()
  key.comment = 'a comment'
  const fingerprint = key.fingerprint('sha256').toString().replace(/=+$/, '')
  return { key: key.toString('ssh').trim(), secret: secret.toString('ssh-private'), fingerprint }
}

const privateKeyOf = (type: SshKeyType, bits?: number): KeyObject => {
  if (type === 'ed25519') return generateKeyPairSync(type).privateKey
  if (type === 'rsa') return generateKeyPairSync(type, { modulusLength: bits ?? 3072 }).privateKey
  return generateKeyPairSync('ec', { namedCurve: `P-${bits ?? 256}` }).privateKey
}

/**
 * Generates an OpenPGP key without gpg.
 * @returns its public part in ASCII armor
 */
export const generateOpenPgpKey = async (email: string): Promise<string> =>
  (await generateKey({ type: 'ecc', userIDs: { email } })).publicKey

export interface GpgKey {
  armored: string
  secret: string
  /** The key and its subkeys as gpg lists them. */
  listed: Listed[]
}

/** Generates a key pair with gpg, in a temporary directory. */
export const generateGpgKey = (
  userId: string,
  algorithm = 'default',
  usage = 'default',
  expire = 'never',
): GpgKey => {
  const gpg = gnupg()
  try {
    const fingerprint = gpg.generate(userId, algorithm, usage, expire)
    return {
      armored: gpg.armored(fingerprint),
      secret: gpg.secret(fingerprint),
      listed: gpg.list(fingerprint),
    }
  } finally {
    gpg.end()
  }
}
