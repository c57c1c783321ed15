import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { LRUCache } from 'lru-cache'
import { maxEntries, namedCache } from '../caches.ts'
import { AllotError } from '../errors.ts'
import { type Account, accounts, type Token, tokens } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'
import { addressOf } from './client-address.ts'
import { createLogin, type Login, type LoginThrottle } from './login.ts'
import { hashToken } from './tokens.ts'

/** Who sent a request, and what the credentials are good for. */
export interface Identity {
  readonly id: number
  readonly username: string
  readonly admin: boolean
  readonly scopes: ReadonlySet<string>
}

/** What somebody signed in with: the account's password as it was then, or a token. */
export interface Credential {
  readonly account: Account
  readonly token: Token | null
}

export interface Identities {
  /** @throws AllotError unauthenticated for credentials that are sent and are wrong; too_many_requests for too many. */
  authenticate(req: IncomingMessage): Identity | null | Promise<Identity | null>
  /** The same for the same credentials; undefined where more than records decides, as it does for passwords. */
  cacheKeyOf(req: IncomingMessage): string | undefined
  /**
   * For pages: a name or an email with a password, or a token. Undefined where the host has its own login.
   * @throws AllotError as `authenticate` does
   */
  readonly signIn?: (req: IncomingMessage, name: string, secret: string) => Promise<Credential>
  /** Forgets what is memoized of a revoked token. */
  onTokenRevoked(hash: string): void
  /** Forgets what is memoized of an account that changed. */
  onAccountChanged(account: Account): void
}

/** In a box of its own: a fetch of nothing that is dropped meanwhile is a failure to lru-cache. */
interface Found {
  readonly identity: Identity | undefined
}

/** The token that a connection sent last, for most send the same one every time; `age` is that of all that is memoized. */
interface Last {
  readonly header: string
  readonly identity: Identity
  readonly age: number
}

export const ALL_SCOPES: ReadonlySet<string> = new Set(['all'])
const REMEMBERED = 10_000
const TOKEN = /^[0-9a-f]{40}$/

/**
 * `token T`, `Bearer T`, and Basic with a password or a token. Any other Authorization header is answered 401, so that what
 * a client sends in it is never taken for accepted.
 * @param proxies how many reverse proxies say where a request comes from.
 */
export const createIdentities = (store: Store, attempts: LoginThrottle, proxies: number): Identities => {
  const { shared } = store.driver
  const read = (hash: string) => identityOfToken(store, hash)
  const byToken = namedCache(
    'tokens',
    new LRUCache<string, Found>({
      ...maxEntries(REMEMBERED),
      fetchMethod: async (hash) => ({ identity: await read(hash) }),
      ignoreFetchAbort: true,
    }),
  )
  const lookUp = async (hash: string): Promise<Identity | undefined> => {
    if (shared) return read(hash)
    const { identity } = (await byToken.fetch(hash)) as Found
    // What anyone may invent is not worth remembering.
    if (identity === undefined) byToken.delete(hash)
    return identity
  }
  const login = createLogin(store, attempts)
  const lastOf = new WeakMap<Socket, Last>()
  let age = 0

  const withToken = (secret: string, req: IncomingMessage): Identity | Promise<Identity> => {
    const hash = TOKEN.test(secret) ? hashToken(secret) : undefined
    const remembered = hash === undefined || shared ? undefined : byToken.get(hash)?.identity
    if (remembered === undefined) return sought(hash, req)
    lastOf.set(req.socket, { header: req.headers.authorization!, identity: remembered, age })
    return remembered
  }

  const sought = async (hash: string | undefined, req: IncomingMessage): Promise<Identity> => {
    const identity = hash === undefined ? undefined : await lookUp(hash)
    if (identity !== undefined) return identity
    attempts.wrongToken(addressOf(req, proxies))
    throw unauthenticated(`the access token ${hash === undefined ? 'is malformed' : 'does not exist'}`)
  }

  const withBasic = async (value: string, req: IncomingMessage): Promise<Identity> => {
    const text = Buffer.from(value, 'base64').toString('utf8')
    const colon = text.indexOf(':')
    if (colon === -1) throw unauthenticated('the Basic credentials are malformed')
    const [name, password] = [text.slice(0, colon), text.slice(colon + 1)]
    // Nothing forbids a password that looks like a token.
    const identity = TOKEN.test(password) ? await lookUp(hashToken(password)) : undefined
    if (identity !== undefined) return identity
    if (TOKEN.test(name) && (password === '' || password === 'x-oauth-basic')) return withToken(name, req)
    return identityOfPassword(login, { login: name, address: addressOf(req, proxies) }, password)
  }

  const signIn = async (req: IncomingMessage, name: string, secret: string): Promise<Credential> => {
    const address = addressOf(req, proxies)
    // A token is pasted, often with blanks around it; a password is taken as it is, as Basic takes it.
    const token = secret.trim()
    const found = TOKEN.test(token) ? await holderOf(store, hashToken(token)) : undefined
    if (found !== undefined) return found
    if (name === '') {
      attempts.wrongToken(address)
      throw unauthenticated('there is no such access token')
    }
    return { account: await accountOf(login, { login: name, address }, secret), token: null }
  }

  return {
    signIn,
    authenticate(req) {
      const last = lastOf.get(req.socket)
      if (last !== undefined && last.age === age && last.header === req.headers.authorization)
        return last.identity
      const credentials = credentialsOf(req)
      if (credentials === undefined) return null
      const [scheme, value] = credentials
      if (value === undefined)
        throw unauthenticated('the Authorization header must have a scheme and one value')
      if (isToken(scheme)) return withToken(value, req)
      if (scheme === 'basic') return withBasic(value, req)
      throw unauthenticated('the scheme of the Authorization header must be token, Bearer or Basic')
    },
    cacheKeyOf(req) {
      const credentials = credentialsOf(req)
      if (credentials === undefined) return 'nobody'
      const [scheme, value = ''] = credentials
      return isToken(scheme) && TOKEN.test(value) ? hashToken(value) : undefined
    },
    onTokenRevoked(hash) {
      age++
      byToken.delete(hash)
    },
    onAccountChanged() {
      age++
      byToken.clear()
    },
  }
}

/** The scheme in lower case and the value of the header; no value when it is malformed, undefined without a header. */
const credentialsOf = (req: IncomingMessage): [scheme: string, value?: string] | undefined => {
  const header = req.headers.authorization?.trim() ?? ''
  if (header === '') return undefined
  const [scheme, value, ...more] = header.split(/[ \t]+/, 3)
  return value === undefined || more.length > 0 ? [''] : [scheme!.toLowerCase(), value]
}

const isToken = (scheme: string) => scheme === 'token' || scheme === 'bearer'

export const unauthenticated = (message: string) => new AllotError('unauthenticated', message)

export const refuseInactive = (account: Account) => {
  if (!account.active) throw new AllotError('forbidden', 'this account is not allowed to sign in')
}

const holderOf = (store: Store, hash: string): Promise<{ token: Token; account: Account } | undefined> =>
  store.read(async (tx) => {
    const token = await tokens.findBy(tx, 'hash', [hash])
    const account = token && (await accounts.get(tx, [token.account]))
    if (token === undefined || account === undefined) return undefined
    refuseInactive(account)
    return { token, account }
  }, `holder of ${hash}`)

const identityOfToken = async (store: Store, hash: string): Promise<Identity | undefined> => {
  const target = await holderOf(store, hash)
  return target && identityOf(target)
}

export const identityOf = ({ account, token }: Credential): Identity => ({
  id: account.id,
  username: account.name,
  admin: account.admin,
  scopes: token === null ? ALL_SCOPES : new Set(token.scopes),
})

const accountOf = async (login: Login, attempt: Parameters<Login>[0], password: string): Promise<Account> => {
  const account = await login(attempt, password)
  if (account === undefined) throw unauthenticated('the user name or password is wrong')
  refuseInactive(account)
  return account
}

const identityOfPassword = async (...given: Parameters<typeof accountOf>): Promise<Identity> =>
  identityOf({ account: await accountOf(...given), token: null })
