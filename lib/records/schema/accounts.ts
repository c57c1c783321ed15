import { createHash } from 'node:crypto'
import * as v from 'valibot'
import { TrigramIndex } from '../../search/index.ts'
import { Collection } from '../collection.ts'
import { audienceOf, id, seconds, Visibility } from '../fields.ts'

const Account = v.object({
  id,
  kind: v.picklist(['user', 'organization']),
  name: v.string(),
  fullName: v.string(),
  email: v.string(),
  website: v.string(),
  description: v.string(),
  location: v.string(),
  visibility: Visibility,
  admin: v.boolean(),
  active: v.boolean(),
  /** An scrypt hash (lib/accounts/login.ts); null when the account signs in with tokens or through the host only. */
  password: v.nullable(v.string()),
  createdAt: seconds,
  updatedAt: seconds,
})
export type Account = v.InferOutput<typeof Account>

/** Finds users by a part of their login or full name. */
export const accountNames = new TrigramIndex<Account>({
  collection: 'account',
  name: 'trigrams',
  of: (account) =>
    account.kind === 'user' ? [audienceOf[account.visibility], [account.name, account.fullName]] : undefined,
})

export const accounts = new Collection({
  name: 'account',
  schema: Account,
  id: (account) => [account.id],
  unique: {
    name: (account) => [account.name.toLowerCase()],
    email: (account) =>
      account.kind === 'user' && account.email !== '' ? [account.email.toLowerCase()] : undefined,
  },
  ordered: { name: (account) => [account.kind, account.name.toLowerCase()] },
  counted: { kind: (account) => [account.kind] },
  search: [accountNames],
})

const Membership = v.object({
  organization: id,
  member: id,
  owner: v.boolean(),
  /** Whether the member created the organization; kept while the member is an owner, absent for all others. */
  founder: v.optional(v.boolean()),
  createdAt: seconds,
})
export type Membership = v.InferOutput<typeof Membership>

export const memberships = new Collection({
  name: 'membership',
  schema: Membership,
  id: (membership) => [membership.organization, membership.member],
  ordered: {
    member: (membership) => [membership.member],
    organization: (membership) => [membership.organization],
  },
  counted: {
    member: (membership) => [membership.member],
    organization: (membership) => [membership.organization],
    owners: (membership) => (membership.owner ? [membership.organization] : undefined),
  },
})

const Token = v.object({
  id,
  account: id,
  name: v.string(),
  /** SHA-256 of the token, in hex. The token itself is not stored. */
  hash: v.string(),
  lastEight: v.string(),
  scopes: v.array(v.string()),
  createdAt: seconds,
})
export type Token = v.InferOutput<typeof Token>

export const tokens = new Collection({
  name: 'token',
  schema: Token,
  id: (token) => [token.id],
  unique: { hash: (token) => [token.hash], name: (token) => [token.account, token.name] },
  ordered: { account: (token) => [token.account] },
  counted: { account: (token) => [token.account] },
})

const Session = v.object({
  /** SHA-256 of the session cookie's value, in hex. */
  hash: v.string(),
  account: id,
  /** The token that the user signed in with: deleting it ends the session. Null after a sign-in with a password. */
  token: v.nullable(id),
  /** SHA-256 of the password hash at sign-in: changing the password ends the session. Null for a token. */
  password: v.nullable(v.string()),
  createdAt: seconds,
  expiresAt: seconds,
})
export type Session = v.InferOutput<typeof Session>

/** Sessions of the web pages (lib/accounts/credentials.ts). */
export const sessions = new Collection({
  name: 'session',
  schema: Session,
  id: (session) => [session.hash],
  ordered: {
    account: (session) => [session.account, session.createdAt],
    expiry: (session) => [session.expiresAt],
  },
})

const SshKey = v.object({
  id,
  account: id,
  title: v.string(),
  key: v.string(),
  fingerprint: v.string(),
  createdAt: seconds,
})
export type SshKey = v.InferOutput<typeof SshKey>

/** Keys are unique per account only: a refusal across accounts would reveal that a hidden account has the key. */
const accountKey = (key: { account: number; fingerprint: string }) => [key.account, key.fingerprint] as const

/** Index key of a title, which may itself be too long for a key. */
export const titleHash = (title: string): string => createHash('sha256').update(title).digest('hex')

export const sshKeys = new Collection({
  name: 'sshKey',
  schema: SshKey,
  id: (key) => [key.id],
  unique: { fingerprint: accountKey },
  ordered: {
    account: (key) => [key.account],
    // The account that added the key first comes first (lib/accounts/keys.ts).
    fingerprint: (key) => [key.fingerprint],
    title: (key) => [key.account, titleHash(key.title)],
  },
  counted: { account: (key) => [key.account] },
})

const openPgpPart = {
  id,
  keyId: v.string(),
  publicKey: v.string(),
  canSign: v.boolean(),
  canEncryptComms: v.boolean(),
  canEncryptStorage: v.boolean(),
  canCertify: v.boolean(),
  createdAt: seconds,
  expiresAt: v.nullable(seconds),
}
const GpgKey = v.object({
  ...openPgpPart,
  account: id,
  fingerprint: v.string(),
  emails: v.array(v.string()),
  subkeys: v.array(v.object(openPgpPart)),
})
export type GpgKey = v.InferOutput<typeof GpgKey>

export const gpgKeys = new Collection({
  name: 'gpgKey',
  schema: GpgKey,
  id: (key) => [key.id],
  unique: { fingerprint: accountKey },
  ordered: { account: (key) => [key.account], fingerprint: (key) => [key.fingerprint] },
  counted: { account: (key) => [key.account] },
})
