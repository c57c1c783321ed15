import { createPool } from '../workers/pool.ts'
import type { SshKey } from './ssh.ts'

/**
 * What is known of an OpenPGP key. Apart from the code that reads keys, because declarations of the package lead here and
 * must not lead on to those of the OpenPGP library.
 */
export interface Capabilities {
  canSign: boolean
  canEncryptComms: boolean
  canEncryptStorage: boolean
  canCertify: boolean
}

/** What a key and a subkey have in common. */
export interface OpenPgpPart extends Capabilities {
  /** 16 upper-case hexadecimal digits. */
  keyId: string
  /** Upper-case hexadecimal digits: 40 of a version 4 key, 64 of a version 6 key. */
  fingerprint: string
  /** The bare public-key packet, in base64. */
  publicKey: string
  createdAt: Date
  /** Null: never. It may be past: an expired key still tells who signed while it was in force. */
  expiresAt: Date | null
}

export interface OpenPgpSubkey extends OpenPgpPart {
  primaryKeyId: string
}

export interface OpenPgpKey extends OpenPgpPart {
  /** As written, of the user ids whose self-certification holds and is not revoked; each once, whatever its case. */
  emails: string[]
  /** Those whose binding signature holds, revoked or not. */
  subkeys: OpenPgpSubkey[]
}

/** A public key as a client sent it. */
export interface KeyText {
  kind: 'ssh' | 'openpgp'
  text: string
}

export type ParsedKey = SshKey | OpenPgpKey

/**
 * Reads keys of clients. Invariant: no parser of foreign keys runs on the thread that serves requests, however small the
 * key is; a key takes a worker thread for at most the deadline.
 */
export interface KeyReader {
  /** @throws AllotError invalid for what is not such a key and for what takes too long, unavailable while too many wait. */
  ssh(client: string, text: string): Promise<SshKey>
  openPgp(client: string, text: string): Promise<OpenPgpKey>
  close(): Promise<void>
}

const DEADLINE_MS = 2000

/** In the package the module has been bundled into another folder than the worker's source. */
const WORKER = new URL(import.meta.url.endsWith('.js') ? './keys-worker.js' : './worker.ts', import.meta.url)

export const createKeyReader = (deadlineMs = DEADLINE_MS): KeyReader => {
  const pool = createPool<KeyText, ParsedKey>({
    ...{ file: WORKER, threads: 2, queue: 100, deadlineMs, maxMemoryMb: 192 },
    messages: {
      tooSlow: `this key takes longer than ${deadlineMs} milliseconds to read`,
      outOfMemory: 'this key takes too much memory to read',
      busy: 'too many keys are being read: try again',
    },
  })
  return {
    ssh: (client, text) => pool.run(client, () => ({ kind: 'ssh', text })) as Promise<SshKey>,
    openPgp: (client, text) => pool.run(client, () => ({ kind: 'openpgp', text })) as Promise<OpenPgpKey>,
    close: pool.close,
  }
}
