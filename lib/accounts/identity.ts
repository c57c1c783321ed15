import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { LRUCache } from 'lru-cache'
import { maxEntries, namedCache } from '../caches.ts'
import { addressOf } from '../clients.ts'
import { type Account, accounts, tokens } from '../records/schema/index.ts'
import { cachedRead, type Store } from '../records/store.ts'
import type { Identity } from './access.ts'
import { type Credential, hashToken, identityOf, refuseInactive, unauthenticated } from './credentials.ts'
import { createLogin, type Login, type LoginThrottle } from './login.ts'

export interface Identities {
  /**
   * @returns null when the request has no credentials
   * @throws AllotError unauthenticated for wrong credentials; too_many_requests after too many failures
   */
  authenticate(req: IncomingMessage): Promise<Identity | null>
  /** Cache key of the credentials; undefined when the identity depends on more than records, as with passwords. */
  cacheKeyOf(req: IncomingMessage): string | undefined
  /**
   * Signs in to the pages by name or email and password, or by token. Undefined when the host has its own login.
   * @throws AllotError as `authenticate` does
   */
  readonly signIn?: (req: IncomingMessage, name: string, secret: string) => Promise<Credential>
  /** Drops a revoked token from the cache. */
  onTokenRevoked(hash: string): void
  /** Drops the identities of a changed account from the cache. */
  onAccountChanged(account: Account): void
}

/** Boxed, because lru-cache reports a fetch of `undefined` that is dropped meanwhile as a failure. */
interface CachedIdentity {
  readonly identity: Identity | undefined
}

/** The token that a connection sent last: most connections send the same one with every request. */
interface LastToken {
  readonly header: string
  readonly identity: Identity
  /** Number of invalidations before it was stored; it is stale when there were more since. */
  readonly generation: number
}

const MAX_CACHED_TOKENS = 10_000
const TOKEN = /^[0-9a-f]{40}$/

/**
 * Accepts `token T`, `Bearer T`, and Basic with a password or a token. Any other Authorization header is answered 401, so
 * that a client never believes that its credentials were accepted.
 * @param proxies number of trusted reverse proxies, see {@link addressOf}
 */
export const createIdentities = (store: Store, attempts: LoginThrottle, proxies: number): Identities => {
  const tokenCache = createTokenCache(store)
  const parts = { store, attempts, proxies, tokenCache, login: createLogin(store, attempts) }
  return {
    signIn: (req, name, secret) => signIn(parts, req, name, secret),
    async authenticate(req) {
      const last = tokenCache.lastOf(req)
      if (last !== undefined) return last
      const credentials = credentialsOf(req)
      if (credentials === undefined) return null
      const [scheme, value] = credentials
      if (value === undefined)
        throw unauthenticated('the Authorization header must have a scheme and one value')
      if (isToken(scheme)) return withToken(parts, value, req)
      if (scheme === 'basic') return withBasic(parts, value, req)
      throw unauthenticated('the scheme of the Authorization header must be token, Bearer or Basic')
    },
    cacheKeyOf(req) {
      const credentials = credentialsOf(req)
      if (credentials === undefined) return 'anonymous'
      const [scheme, value = ''] = credentials
      return isToken(scheme) && TOKEN.test(value) ? hashToken(value) : undefined
    },
    onTokenRevoked: tokenCache.drop,
    onAccountChanged: tokenCache.clear,
  }
}

interface Parts {
  store: Store
  attempts: LoginThrottle
  proxies: number
  tokenCache: TokenCache
  login: Login
}

const withToken = async (
  { tokenCache, attempts, proxies }: Parts,
  secret: string,
  req: IncomingMessage,
): Promise<Identity> => {
  const hash = TOKEN.test(secret) ? hashToken(secret) : undefined
  const identity = hash === undefined ? undefined : await tokenCache.find(hash, req)
  if (identity !== undefined) return identity
  attempts.wrongToken(addressOf(req, proxies))
  throw unauthenticated(`the access token ${hash === undefined ? 'is malformed' : 'does not exist'}`)
}

const withBasic = async (parts: Parts, value: string, req: IncomingMessage): Promise<Identity> => {
  const text = Buffer.from(value, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  if (colon === -1) throw unauthenticated('the Basic credentials are malformed')
  const [name, password] = [text.slice(0, colon), text.slice(colon + 1)]
  // A password may look like a token, so an unknown token is tried as a password.
  const identity = TOKEN.test(password) ? await parts.tokenCache.find(hashToken(password)) : undefined
  if (identity !== undefined) return identity
  if (TOKEN.test(name) && (password === '' || password === 'x-oauth-basic'))
    return withToken(parts, name, req)
  const attempt = { login: name, address: addressOf(req, parts.proxies) }
  return identityOf({ account: await accountOf(parts.login, attempt, password), token: null })
}

const signIn = async (
  { store, attempts, proxies, login }: Parts,
  req: IncomingMessage,
  name: string,
  secret: string,
): Promise<Credential> => {
  const address = addressOf(req, proxies)
  // Pasted tokens often have spaces around them; a password is used as it is.
  const token = secret.trim()
  const found = TOKEN.test(token) ? await readCredential(store, { hash: hashToken(token) }) : undefined
  if (found !== undefined) return found
  if (name === '') {
    attempts.wrongToken(address)
    throw unauthenticated('the access token does not exist')
  }
  return { account: await accountOf(login, { login: name, address }, secret), token: null }
}

/** Memoizes the identities of tokens, unless other processes write to the store. */
interface TokenCache {
  /** The identity of the token that the connection sent last, if the request has the same header. */
  lastOf(req: IncomingMessage): Identity | undefined
  /** @param req remembers a memoized identity for the connection of the request */
  find(hash: string, req?: IncomingMessage): Promise<Identity | undefined>
  drop(hash: string): void
  clear(): void
}

const createTokenCache = (store: Store): TokenCache => {
  const { shared } = store.driver
  const read = (hash: string) => identityOfToken(store, hash)
  const cache = namedCache(
    'tokens',
    new LRUCache<string, CachedIdentity>({
      ...maxEntries(MAX_CACHED_TOKENS),
      fetchMethod: async (hash) => ({ identity: await read(hash) }),
      ignoreFetchAbort: true,
    }),
  )
  const lastTokens = new WeakMap<Socket, LastToken>()
  let generation = 0
  return {
    lastOf({ socket, headers }) {
      const last = lastTokens.get(socket)
      if (last?.generation !== generation || last.header !== headers.authorization) return undefined
      return last.identity
    },
    async find(hash, req) {
      if (shared) return read(hash)
      const cached = cache.get(hash)?.identity
      if (cached !== undefined) {
        const header = req?.headers.authorization
        if (req !== undefined && header !== undefined)
          lastTokens.set(req.socket, { header, identity: cached, generation })
        return cached
      }
      const { identity } = (await cache.fetch(hash)) as CachedIdentity
      // Clients can invent any number of unknown tokens, so those are not cached.
      if (identity === undefined) cache.delete(hash)
      return identity
    },
    drop(hash) {
      generation++
      cache.delete(hash)
    },
    clear() {
      generation++
      cache.clear()
    },
  }
}

/** Scheme in lower case and value of the Authorization header; without a value when it is malformed. */
const credentialsOf = (req: IncomingMessage): [scheme: string, value?: string] | undefined => {
  const header = req.headers.authorization?.trim() ?? ''
  if (header === '') return undefined
  const [scheme, value, ...rest] = header.split(/[ \t]+/, 3)
  return value === undefined || rest.length > 0 ? [''] : [scheme!.toLowerCase(), value]
}

const isToken = (scheme: string) => scheme === 'token' || scheme === 'bearer'

const readCredential = cachedRead('credential', async (tx, { hash }: { hash: string }) => {
  const token = await tokens.findBy(tx, 'hash', [hash])
  const account = token && (await accounts.get(tx, [token.account]))
  if (token === undefined || account === undefined) return undefined
  refuseInactive(account)
  return { token, account }
})

const identityOfToken = async (store: Store, hash: string): Promise<Identity | undefined> => {
  const credential = await readCredential(store, { hash })
  return credential && identityOf(credential)
}

const accountOf = async (login: Login, attempt: Parameters<Login>[0], password: string): Promise<Account> => {
  const account = await login(attempt, password)
  if (account === undefined) throw unauthenticated('the user name or password is wrong')
  refuseInactive(account)
  return account
}
