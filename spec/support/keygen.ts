import { gnupg, type Listed } from '../keys/gnupg.ts'
import { sshKeygen } from '../keys/ssh-keygen.ts'

/** Generates a key pair with ssh-keygen, in a temporary directory. */
export const generateSshKey = (
  type: string,
  bits?: number,
): { key: string; secret: string; fingerprint: string } => {
  const keygen = sshKeygen()
  try {
    const pair = keygen.generate(type, bits, 'a comment')
    const key = pair.public.trim()
    return { key, secret: pair.private, fingerprint: keygen.list(key).fingerprint }
  } finally {
    keygen.end()
  }
}

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
