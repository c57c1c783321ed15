import { gnupg, type Listed } from '../keys/gnupg.ts'
import { sshKeygen } from '../keys/ssh-keygen.ts'

/** One pair that the real ssh-keygen has made, and nothing left behind. */
export const generateSshKey = (
  type: string,
  bits?: number,
): { key: string; secret: string; fingerprint: string } => {
  const keygen = sshKeygen()
  try {
    const made = keygen.generate(type, bits, 'a comment')
    const key = made.public.trim()
    return { key, secret: made.private, fingerprint: keygen.list(key).fingerprint }
  } finally {
    keygen.end()
  }
}

export interface GpgKey {
  armored: string
  secret: string
  /** What gpg says of the key and its subkeys. */
  listed: Listed[]
}

/** One pair that the real gpg has made, and nothing left behind. */
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
