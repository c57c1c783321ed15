import { WorkerPool } from '../workers.ts'

export interface ParsedSshKey {
  type: string
  bits: number
  /** The key itself, in base64. */
  blob: string
  comment: string
  /** `type base64 comment`, a line of OpenSSH's `authorized_keys`. */
  text: string
  /** `SHA256:…`, as `ssh-keygen -l` prints it. */
  fingerprint: string
}

export interface Capabilities {
  canSign: boolean
  canEncryptComms: boolean
  canEncryptStorage: boolean
  canCertify: boolean
}

/** The common members of primary keys and subkeys. */
export interface OpenPgpPart extends Capabilities {
  /** 16 upper-case hexadecimal digits. */
  keyId: string
  /** Upper-case hexadecimal digits: 40 of a version 4 key, 64 of a version 6 key. */
  fingerprint: string
  /** The public-key packet, in base64. */
  publicKey: string
  /** Seconds since 1970. */
  createdAt: number
  /** Seconds since 1970. Null: never. Expired keys are read, too: they tell who made a signature. */
  expiresAt: number | null
  /** Whether it has a valid revocation of its own. Revoked keys are read, too. */
  revoked: boolean
}

export interface OpenPgpKey extends OpenPgpPart {
  /**
   * Addresses of the user ids with a valid self-certification that is not revoked; distinct without regard to
   * case.
   */
  emails: string[]
  /** Subkeys with a valid binding signature, revoked or not. */
  subkeys: OpenPgpPart[]
}

/** A task of the worker: the text that a client sent. */
export interface KeyText {
  kind: 'ssh' | 'openpgp'
  text: string
}

export type ParsedKey = ParsedSshKey | OpenPgpKey

/**
 * Parses the public keys that users add. Invariant: keys are parsed in a worker thread, within a deadline.
 * This module imports no parser, so that neither the serving thread nor the package's type declarations load
 * one.
 */
export interface KeyReader {
  /**
   * @throws AllotError invalid when the text is not a key or takes too long, unavailable when too many keys
   * wait
   */
  ssh(client: string, text: string): Promise<ParsedSshKey>
  openPgp(client: string, text: string): Promise<OpenPgpKey>
  close(): Promise<void>
}

const DEADLINE_MS = 2000

/** The build puts the bundled worker beside the bundle that contains this module. */
const WORKER = new URL(import.meta.url.endsWith('.js') ? './keys-worker.js' : './worker.ts', import.meta.url)

export const createKeyReader = (deadlineMs = DEADLINE_MS): KeyReader => {
  const pool = new WorkerPool<KeyText, ParsedKey>({
    file: WORKER,
    deadlineMs,
    maxMemoryMb: 192,
    budget: { slots: 2, queue: 100, message: 'too many keys are being read: try again' },
    messages: {
      tooSlow: `this key takes longer than ${deadlineMs} milliseconds to read`,
      outOfMemory: 'this key takes too much memory to read',
    },
  })
  return {
    ssh: (client, text) => pool.run(client, () => ({ kind: 'ssh', text })) as Promise<ParsedSshKey>,
    openPgp: (client, text) => pool.run(client, () => ({ kind: 'openpgp', text })) as Promise<OpenPgpKey>,
    close: () => pool.close(),
  }
}
