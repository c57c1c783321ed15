import type { Connection } from 'ssh2'
import { importWith } from '../optional-package.ts'

/** The library that speaks the SSH protocol, an optional package. */
export type Ssh2 = typeof import('ssh2')

/** @throws AllotError unavailable when the package is not installed */
export const loadSsh2 = async (): Promise<Ssh2> => {
  const { default: ssh2 } = await importWith('ssh2', 'SSH connections', () => import('ssh2'))
  return ssh2 as unknown as Ssh2
}

/**
 * Sends a request that every client must reply to (RFC 4254, section 4), after all that was sent before. The
 * library has it for its own pings only, in a member that it does not document.
 */
export const ping = (client: Connection): void =>
  (client as unknown as { readonly _protocol: { ping(): void } })._protocol.ping()

/**
 * Milliseconds between the library's own pings: the longest timer, so that it never sends them. They would
 * close the connection of a client that takes longer than a minute to read what was sent before. The limits
 * of connections and commands end those of clients that are gone.
 */
export const PING_INTERVAL = 2 ** 31 - 1

/**
 * The algorithms that the server offers. Left out: SHA-1, key exchanges that cost a server much and a client
 * nothing, and compression, since packs are compressed.
 */
export const ALGORITHMS = {
  kex: [
    'curve25519-sha256',
    'curve25519-sha256@libssh.org',
    'ecdh-sha2-nistp256',
    'ecdh-sha2-nistp384',
    'ecdh-sha2-nistp521',
    'diffie-hellman-group14-sha256',
  ],
  cipher: [
    'aes128-gcm@openssh.com',
    'aes256-gcm@openssh.com',
    'aes128-ctr',
    'aes256-ctr',
    'chacha20-poly1305@openssh.com',
  ],
  hmac: ['hmac-sha2-256-etm@openssh.com', 'hmac-sha2-512-etm@openssh.com', 'hmac-sha2-256', 'hmac-sha2-512'],
  serverHostKey: [
    'ssh-ed25519',
    'ecdsa-sha2-nistp256',
    'ecdsa-sha2-nistp384',
    'ecdsa-sha2-nistp521',
    'rsa-sha2-512',
    'rsa-sha2-256',
  ],
  compress: ['none'],
} satisfies import('ssh2').Algorithms
