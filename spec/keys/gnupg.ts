import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runSync } from '../support/child.ts'

/** A key or subkey as `gpg --with-colons` lists it. */
export interface Listed {
  keyId: string
  fingerprint: string
  /** Seconds since 1970. */
  createdAt: number
  expiresAt: number | null
  /** Letters among `a`, `c`, `e` and `s`, sorted. */
  capabilities: string
}

/** The creation date of keys, by default. */
const MADE = '20260101T000000'

/** Runs gpg with its own home folder. */
export const gnupg = () => {
  const home = mkdtempSync(join(tmpdir(), 'allot-gpg-'))
  const env = { ...process.env, GNUPGHOME: home, LC_ALL: 'C' }
  const fixed = ['--batch', '--yes', '--quiet', '--pinentry-mode', 'loopback', '--passphrase', '']
  const run = (words: string[], { at = MADE, input = '' }: { at?: string; input?: string | Buffer } = {}) =>
    runSync('gpg', [...fixed, '--faked-system-time', `${at}!`, ...words], { env, input })
  const listed = (of: string) => colons(run(['--with-colons', '--list-keys', of]))
  return {
    run,
    /** @returns the fingerprint */
    generate(userId: string, algorithm = 'ed25519', usage = 'default', expires = 'never', at = MADE): string {
      run(['--quick-gen-key', userId, algorithm, usage, expires], { at })
      return listed(`=${userId}`)[0]!.fingerprint
    },
    list: listed,
    armored: (...keys: string[]) => run(['--armor', '--export', ...keys]),
    secret: (key: string) => run(['--armor', '--export-secret-keys', key]),
    /** Revokes a key with the revocation certificate that gpg made for it. */
    revoke(fingerprint: string): void {
      const kept = readFileSync(join(home, 'openpgp-revocs.d', `${fingerprint}.rev`), 'utf8')
      run(['--import'], { input: kept.replace(':-----BEGIN', '-----BEGIN') })
    },
    end(): void {
      runSync('gpgconf', ['--kill', 'gpg-agent'], { env })
      rmSync(home, { recursive: true, force: true })
    },
  }
}

const colons = (text: string): Listed[] => {
  const keys: Listed[] = []
  for (const fields of text.split('\n').map((line) => line.split(':'))) {
    const [kind, , , , keyId = '', created, expires, , , value = '', , usage = ''] = fields
    if (kind === 'fpr') keys.at(-1)!.fingerprint ||= value
    if (kind !== 'pub' && kind !== 'sub') continue
    const capabilities = [...usage].filter((letter) => /[a-z]/.test(letter)).sort()
    const [createdAt, expiresAt] = [secondsIn(created)!, secondsIn(expires)]
    keys.push({ keyId, fingerprint: '', createdAt, expiresAt, capabilities: capabilities.join('') })
  }
  return keys
}

const secondsIn = (field = '') => (field === '' ? null : Number(field))
