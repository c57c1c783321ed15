import { createHmac, randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { LRUCache } from 'lru-cache'
import { AllotError } from '../errors.ts'
import { type Account, accounts, tokens } from '../records/schema.ts'
import type { Store } from '../records/store.ts'
import { accountByEmail, accountByName } from './lookup.ts'
import { isName } from './names.ts'
import { pretendToVerify, verifyPassword } from './passwords.ts'
import { hashToken } from './tokens.ts'

/** Who sent a request, and what the credentials are good for. */
export interface Identity {
  readonly id: number
  readonly username: string
  readonly admin: boolean
  readonly scopes: ReadonlySet<string>
}

/** What a host's own `authenticate` answers. `scopes` absent: all. */
export interface HostIdentity {
  username: string
  admin?: boolean | undefined
  scopes?: readonly string[] | undefined
}

export type HostAuthenticate = (
  req: IncomingMessage,
) => HostIdentity | null | undefined | Promise<HostIdentity | null | undefined>

export interface Identities {
  /** @throws AllotError unauthenticated for credentials that are sent and are wrong. */
  authenticate(req: IncomingMessage): Identity | null | Promise<Identity | null>
  /** Forgets what is memoized of a revoked token. */
  revoked(hash: string): void
  /** Forgets what is memoized of an account that changed. */
  changed(account: Account): void
}

const ALL: ReadonlySet<string> = new Set(['all'])
const REMEMBERED = 10_000
const TOKEN = /^[0-9a-f]{40}$/

/** `token T`, `Bearer T`, and Basic with a password or a token. Any other scheme counts as no credentials. */
export const createIdentities = (store: Store): Identities => {
  const read = (hash: string) => identityOfToken(store, hash)
  const byToken = new LRUCache<string, Identity>({
    max: REMEMBERED,
    fetchMethod: read,
    ignoreFetchAbort: true,
  })

  const withToken = (secret: string): Identity | Promise<Identity> => {
    if (!TOKEN.test(secret)) throw wrong('the access token is malformed')
    const hash = hashToken(secret)
    const remembered = store.driver.shared ? undefined : byToken.get(hash)
    return remembered ?? identityOf(store.driver.shared ? read(hash) : byToken.fetch(hash))
  }

  return {
    authenticate(req) {
      const header = req.headers.authorization
      if (header === undefined) return null
      const [scheme, value, ...more] = header.trim().split(/[ \t]+/)
      if (value === undefined || more.length > 0) return null
      switch (scheme?.toLowerCase()) {
        case 'token':
        case 'bearer':
          return withToken(value)
        case 'basic':
          return withBasic(store, value, withToken)
        default:
          return null
      }
    },
    revoked: (hash) => void byToken.delete(hash),
    changed: () => byToken.clear(),
  }
}

/** A host's own login in the place of tokens and passwords. An account that is new to the store is made on first sight. */
export const createHostIdentities = (
  store: Store,
  authenticate: HostAuthenticate,
  create: (name: string, admin: boolean) => Promise<Account>,
): Identities => ({
  async authenticate(req) {
    const host = await authenticate(req)
    if (host === null || host === undefined) return null
    if (typeof host.username !== 'string' || !isName(host.username))
      throw wrong('the name that the host gave is no valid account name')
    const find = () => store.read((tx) => accountByName(tx, host.username))
    const account = (await find()) ?? (await joinIn(find, () => create(host.username, host.admin === true)))
    if (account.kind !== 'user') throw wrong('an organization cannot sign in')
    refuseInactive(account)
    return {
      id: account.id,
      username: account.name,
      admin: host.admin ?? account.admin,
      scopes: host.scopes === undefined ? ALL : new Set(host.scopes),
    }
  },
  revoked: () => undefined,
  changed: () => undefined,
})

/** Of several first requests of a new user one makes the account, and the others find it then. */
const joinIn = async (
  find: () => Promise<Account | undefined>,
  make: () => Promise<Account>,
): Promise<Account> => {
  try {
    return await make()
  } catch (error) {
    const made = error instanceof AllotError && error.code === 'invalid' ? await find() : undefined
    if (made === undefined) throw error
    return made
  }
}

const wrong = (message: string) => new AllotError('unauthenticated', message)

const identityOf = async (found: Promise<Identity | undefined>): Promise<Identity> => {
  const identity = await found
  if (identity === undefined) throw wrong('the access token does not exist')
  return identity
}

const identityOfToken = (store: Store, hash: string): Promise<Identity | undefined> =>
  store.read(async (tx) => {
    const token = await tokens.findBy(tx, 'hash', [hash])
    const account = token && (await accounts.get(tx, [token.account]))
    if (token === undefined || account === undefined) return undefined
    refuseInactive(account)
    return { id: account.id, username: account.name, admin: account.admin, scopes: new Set(token.scopes) }
  })

const withBasic = async (
  store: Store,
  value: string,
  withToken: (secret: string) => Identity | Promise<Identity>,
): Promise<Identity> => {
  const text = Buffer.from(value, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  if (colon === -1) throw wrong('the Basic credentials are malformed')
  const [name, password] = [text.slice(0, colon), text.slice(colon + 1)]
  if (TOKEN.test(password)) return withTokenOrPassword(store, name, password, withToken)
  if (TOKEN.test(name) && (password === '' || password === 'x-oauth-basic')) return withToken(name)
  return withPassword(store, name, password)
}

/** Nothing forbids a password that looks like a token. */
const withTokenOrPassword = async (
  store: Store,
  name: string,
  secret: string,
  withToken: (secret: string) => Identity | Promise<Identity>,
): Promise<Identity> => {
  try {
    return await withToken(secret)
  } catch (error) {
    if (!(error instanceof AllotError) || error.code !== 'unauthenticated') throw error
    return withPassword(store, name, secret)
  }
}

const withPassword = async (store: Store, login: string, password: string): Promise<Identity> => {
  const account = await store.read(async (tx) =>
    login.includes('@') ? accountByEmail(tx, login) : accountByName(tx, login),
  )
  const right = await isPasswordOf(account, password)
  if (account === undefined || !right) throw wrong('the user name or password is wrong')
  refuseInactive(account)
  return { id: account.id, username: account.name, admin: account.admin, scopes: ALL }
}

/** Passwords that were right a moment ago, by a keyed hash: scrypt is meant to be slow, but not for every request. */
const proven = new LRUCache<string, true>({ max: 1000, ttl: 5 * 60_000 })
const PROOF_KEY = randomBytes(32)

const isPasswordOf = async (account: Account | undefined, password: string): Promise<boolean> => {
  const stored = account?.password ?? null
  if (stored === null) return pretendToVerify(password)
  // The stored hash is part of the proof, so that a changed password is never answered from here.
  const proof = createHmac('sha256', PROOF_KEY).update(stored).update(password).digest('base64')
  if (proven.get(proof) === true) return true
  const right = await verifyPassword(password, stored)
  if (right) proven.set(proof, true)
  return right
}

const refuseInactive = (account: Account) => {
  if (!account.active) throw new AllotError('forbidden', 'this account is not allowed to sign in')
}
