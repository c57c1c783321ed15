import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const inFolder = <T>(work: (folder: string) => T): T => {
  const folder = mkdtempSync(join(tmpdir(), 'allot-keys-'))
  try {
    return work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A pair that the real ssh-keygen has made. */
export const sshPair = (
  type: string,
  ...options: string[]
): { key: string; secret: string; fingerprint: string } =>
  inFolder((folder) => {
    const file = join(folder, 'key')
    execFileSync('ssh-keygen', ['-q', '-t', type, ...options, '-N', '', '-C', 'a comment', '-f', file])
    const fingerprint = execFileSync('ssh-keygen', ['-lf', `${file}.pub`], { encoding: 'utf8' }).split(
      ' ',
    )[1]!
    return {
      key: readFileSync(`${file}.pub`, 'utf8').trim(),
      secret: readFileSync(file, 'utf8'),
      fingerprint,
    }
  })

export interface GpgPair {
  armored: string
  secret: string
  /** What gpg says of the key: its rows of colon-separated columns. */
  rows: string[][]
}

/** A pair that the real gpg has made, in a home of its own. */
export const gpgPair = (
  userId: string,
  { algorithm = 'default', usage = 'default', expire = 'never' } = {},
): GpgPair =>
  inFolder((folder) => {
    const gpg = (...args: string[]) =>
      execFileSync(
        'gpg',
        ['--homedir', folder, '--batch', '--quiet', '--no-tty', '--passphrase', '', ...args],
        {
          encoding: 'utf8',
          stdio: ['ignore', 'pipe', 'ignore'],
        },
      )
    try {
      gpg('--pinentry-mode', 'loopback', '--quick-generate-key', userId, algorithm, usage, expire)
      const rows = gpg('--with-colons', '--list-keys')
        .trim()
        .split('\n')
        .map((line) => line.split(':'))
      const secret = gpg('--pinentry-mode', 'loopback', '--armor', '--export-secret-keys')
      return { armored: gpg('--armor', '--export'), secret, rows }
    } finally {
      execFileSync('gpgconf', ['--homedir', folder, '--kill', 'all'])
    }
  })
