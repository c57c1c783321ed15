/** What accounts sign in and prove themselves with: tokens, sessions and public keys. */
import { createHash } from 'node:crypto'
import * as v from 'valibot'
import { Collection } from '../collection.ts'
import { id, seconds } from '../fields.ts'

const Token = v.object({
  /** Identifies the token. */
  id,
  /** Id of the user. */
  account: id,
  /** Name that the user gave it, unique among the tokens of the user. */
  name: v.string(),
  /** SHA-256 of the token, in hex. The token itself is not stored. */
  hash: v.string(),
  /** Last eight characters of the token, to tell tokens apart. */
  lastEight: v.string(),
  /** The scopes of the token, such as `read:repository`; `all` includes every scope. */
  scopes: v.array(v.string()),
  /** When it was created, in seconds since 1970. */
  createdAt: seconds,
  /** When it was last used, at most 61 minutes too early; absent while it was not. */
  lastUsedAt: v.optional(seconds),
})
/** An access token of a user. */
export type Token = v.InferOutput<typeof Token>

export const tokens = new Collection({
  name: 'token',
  schema: Token,
  id: (token) => [token.id],
  numbers: { sequence: 'token' },
  unique: { hash: (token) => [token.hash], name: (token) => [token.account, token.name] },
  ordered: { account: (token) => [token.account] },
  counted: { account: (token) => [token.account] },
  belongsTo: [{ to: 'account', by: 'account' }],
})

const Session = v.object({
  /** SHA-256 of the session cookie's value, in hex. */
  hash: v.string(),
  account: id,
  /**
   * The token that the user signed in with: deleting it ends the session. Null after a sign-in with a
   * password.
   */
  token: v.nullable(id),
  /** SHA-256 of the password hash at sign-in: changing the password ends the session. Null for a token. */
  password: v.nullable(v.string()),
  /** Short name of the browser and its system, such as `Firefox on Linux`; absent: it sent none. */
  browser: v.optional(v.string()),
  /** IP address that the user signed in from, the /64 network of an IPv6 address. */
  address: v.string(),
  createdAt: seconds,
  /** When it was last used, at most 61 minutes too early. */
  lastUsedAt: seconds,
  expiresAt: seconds,
})
export type Session = v.InferOutput<typeof Session>

/** Sessions of the web pages (lib/accounts/sessions.ts). */
export const sessions = new Collection({
  name: 'session',
  schema: Session,
  id: (session) => [session.hash],
  ordered: {
    account: (session) => [session.account, session.createdAt],
    expiry: (session) => [session.expiresAt],
  },
  belongsTo: [{ to: 'account', by: 'account', removed: 'now' }],
})

const SshKey = v.object({
  /** Identifies the key. */
  id,
  /** Id of the user. */
  account: id,
  /** Name that the user gave it. */
  title: v.string(),
  /** The key as a line of `authorized_keys`. */
  key: v.string(),
  /** `SHA256:…`, as `ssh-keygen -l` prints it. */
  fingerprint: v.string(),
  /** When it was created, in seconds since 1970. */
  createdAt: seconds,
  /** Whether it may fetch, and not push; absent: it may do both. */
  readOnly: v.optional(v.boolean()),
})
/** An SSH key of a user. */
export type SshKey = v.InferOutput<typeof SshKey>

/**
 * Keys are unique per account only: a refusal across accounts would reveal that a hidden account has the key.
 */
const accountKey = (key: { account: number; fingerprint: string }) => [key.account, key.fingerprint] as const

/** Index key of a title, which may itself be too long for a key. */
export const titleHash = (title: string): string => createHash('sha256').update(title).digest('hex')

export const sshKeys = new Collection({
  name: 'sshKey',
  schema: SshKey,
  id: (key) => [key.id],
  numbers: { sequence: 'sshKey' },
  unique: { fingerprint: accountKey },
  ordered: {
    account: (key) => [key.account],
    // The account that added the key first comes first (lib/accounts/keys.ts).
    fingerprint: (key) => [key.fingerprint],
    title: (key) => [key.account, titleHash(key.title)],
  },
  counted: { account: (key) => [key.account] },
  belongsTo: [{ to: 'account', by: 'account' }],
})

const OpenPgpPart = v.object({
  /** Identifies the key or subkey. */
  id,
  /** The last 16 hexadecimal digits of the fingerprint, in upper case. */
  keyId: v.string(),
  /** The public key, in base64. */
  publicKey: v.string(),
  /** Whether it can sign data. */
  canSign: v.boolean(),
  /** Whether it can encrypt messages. */
  canEncryptComms: v.boolean(),
  /** Whether it can encrypt stored data. */
  canEncryptStorage: v.boolean(),
  /** Whether it can certify other keys. */
  canCertify: v.boolean(),
  /** When the key was created, in seconds since 1970. */
  createdAt: seconds,
  /** When the key expires, in seconds since 1970; null when it does not. */
  expiresAt: v.nullable(seconds),
  /** Whether it is revoked; absent: no. */
  revoked: v.optional(v.boolean()),
})
type OpenPgpPart = v.InferOutput<typeof OpenPgpPart>

const GpgKey = v.object({
  ...OpenPgpPart.entries,
  /** Id of the user. */
  account: id,
  /** Upper-case hexadecimal digits. */
  fingerprint: v.string(),
  /** Addresses of the user ids of the key. */
  emails: v.array(v.string()),
  /** The subkeys, each with its own abilities. */
  subkeys: v.array(OpenPgpPart),
})
/** A GPG key of a user. */
// Not inferred as a whole: declarations lose the comments of members that come from a spread.
export type GpgKey = OpenPgpPart & Omit<v.InferOutput<typeof GpgKey>, keyof OpenPgpPart>

export const gpgKeys = new Collection({
  name: 'gpgKey',
  schema: GpgKey,
  id: (key) => [key.id],
  numbers: { sequence: 'gpgKey', of: (key) => [key.id, ...key.subkeys.map((subkey) => subkey.id)] },
  unique: { fingerprint: accountKey },
  ordered: { account: (key) => [key.account], fingerprint: (key) => [key.fingerprint] },
  counted: { account: (key) => [key.account] },
  belongsTo: [{ to: 'account', by: 'account' }],
})
