import type { IncomingMessage } from 'node:http'
import { addressOf } from '../clients.ts'
import { AllotError } from '../errors.ts'
import { type Account, accounts as accountRecords, sshKeys, tokens } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'
import { ALL_SCOPES, hasScope } from '../scopes.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { type Identity, OPERATOR } from './access.ts'
import type { Accounts } from './accounts.ts'
import {
  type Credential,
  checkMaySignIn,
  credentialOfToken,
  credentialsIn,
  identityOf,
  isTokenScheme,
  type KeptSender,
  keptSender,
  malformedHeader,
  senderOfToken,
  TOKEN,
  unauthenticated,
} from './credentials.ts'
import {
  accountOfHostUser,
  askHost,
  checkHostIdentity,
  type HostAuthenticate,
  OPERATOR_IDENTITY,
} from './host-users.ts'
import type { LastUses } from './last-uses.ts'
import type { PasswordLogin } from './login.ts'
import type { LoginThrottle } from './login-throttle.ts'

interface IdentitiesOptions {
  store: Store
  accounts: Accounts
  passwords: PasswordLogin
  tokenUses: LastUses<number>
  /** Undefined: wrong tokens are not limited. */
  throttle: LoginThrottle | undefined
  /** Number of trusted reverse proxies, see {@link addressOf}. */
  proxies: number
  /** The host's own login, which replaces passwords. */
  authenticate: HostAuthenticate | undefined
  /** Whether tokens sign in: beside the host's own login, those that it leaves to Allot. */
  hasTokens: boolean
}

const NO_TOKEN = 'the access token does not exist'

/** Finds out who sent a request. `lib/caches.ts` says what is cached of a token, and until when. */
export class Identities {
  readonly #options: IdentitiesOptions

  constructor(options: IdentitiesOptions) {
    this.#options = options
  }

  /**
   * Asks the host, if it has its own login, and accepts `token T`, `Bearer T`, and Basic with a password or
   * a token. Any other Authorization header is answered 401, so that a client never believes that its
   * credentials were accepted.
   * @returns null when the request has no credentials
   * @throws AllotError unauthenticated for wrong credentials; too_many_requests after too many failures;
   * forbidden for an account that is not active, and for Sudo without the right; not_found when Sudo names no
   * user
   */
  authenticate(req: IncomingMessage): Promise<Identity | null> {
    const { authenticate } = this.#options
    const isSudo = sudoIn(req) !== undefined
    const sender = authenticate === undefined ? this.#byCredentials(req) : this.#hostUser(authenticate, req)
    // Returning here avoids allocating a closure and a promise per request.
    if (!isSudo) return sender
    return actingAs(req, sender, async (name) => {
      const account = await this.#options.accounts.byName(name)
      return account?.kind === 'user' ? identityOf({ account, token: null }) : undefined
    })
  }

  /**
   * Signs in to the pages by name or email and password, or by token.
   * @throws AllotError as `authenticate` does, and not_found when the host has its own login
   */
  async signIn(req: IncomingMessage, name: string, secret: string): Promise<Credential> {
    const { store, authenticate } = this.#options
    if (authenticate !== undefined)
      throw new AllotError('not_found', 'accounts sign in at the host application')
    // Pasted tokens often have spaces around them; a password is used as it is.
    const token = secret.trim()
    const found = TOKEN.test(token) ? await store.read((tx) => credentialOfToken(tx, token)) : undefined
    if (found?.token) this.#options.tokenUses.note(found.token.id)
    if (found !== undefined) return found
    if (name === '') throw this.#wrongToken(req)
    return { account: await this.#passwordLogin(req, name, secret), token: null }
  }

  /**
   * The sender of a request that lasts, as of now. A password and the login of a host are not asked again.
   * @throws AllotError unauthenticated when the account was deleted, or the token or the SSH key revoked;
   * forbidden when the account is not active
   */
  now(user: Identity): Promise<Identity> {
    const { store, authenticate } = this.#options
    const hostDecides = authenticate !== undefined && user.credential === undefined
    return store.read((tx) => identityNow(tx, user, hostDecides))
  }

  /**
   * The sender of a request without credentials, or with a token whose sender the store keeps. Undefined
   * where anything else says who sends a request: the host's own login, a password, or Sudo.
   */
  kept(req: IncomingMessage): KeptSender | undefined {
    const { store, tokenUses, authenticate } = this.#options
    if (authenticate !== undefined || sudoIn(req) !== undefined) return undefined
    const credentials = credentialsIn(req)
    if (credentials === undefined) return { user: null }
    return isTokenScheme(credentials.scheme) ? keptSender(store, credentials.value, tokenUses) : undefined
  }

  async #byCredentials(req: IncomingMessage): Promise<Identity | null> {
    const credentials = credentialsIn(req)
    if (credentials === undefined) return null
    const { scheme, value } = credentials
    if (value === '') throw malformedHeader(req.headers.authorization)
    if (isTokenScheme(scheme)) return this.#withToken(req, value)
    if (scheme === 'basic') return this.#withBasic(req, value)
    throw unauthenticated('the scheme of the Authorization header must be token, Bearer or Basic')
  }

  async #withToken(req: IncomingMessage, token: string): Promise<Identity> {
    if (!TOKEN.test(token)) throw this.#wrongToken(req, 'the access token is malformed')
    const identity = await this.#identityOf(token)
    if (identity === undefined) throw this.#wrongToken(req)
    return identity
  }

  /** Finds who sends a token, and notes that it is used. */
  async #identityOf(token: string): Promise<Identity | undefined> {
    const { store, tokenUses } = this.#options
    const sender = await senderOfToken(store, token)
    if (sender === undefined) return undefined
    tokenUses.note(sender.tokenId)
    return sender.identity
  }

  async #withBasic(req: IncomingMessage, value: string): Promise<Identity> {
    const text = Buffer.from(value, 'base64').toString('utf8')
    const colon = text.indexOf(':')
    if (colon === -1) throw unauthenticated('the Basic credentials are malformed')
    const [name, password] = [text.slice(0, colon), text.slice(colon + 1)]
    // A password may look like a token, so an unknown token is tried as a password.
    const identity = TOKEN.test(password) ? await this.#identityOf(password) : undefined
    if (identity !== undefined) return identity
    if (TOKEN.test(name) && (password === '' || password === 'x-oauth-basic'))
      return this.#withToken(req, name)
    return identityOf({ account: await this.#passwordLogin(req, name, password), token: null })
  }

  async #passwordLogin(req: IncomingMessage, login: string, password: string): Promise<Account> {
    const { passwords, proxies, authenticate } = this.#options
    if (authenticate !== undefined)
      throw this.#wrongToken(req, TOKEN.test(password) ? NO_TOKEN : 'the password must be an access token')
    const account = await passwords.signIn({ login, address: addressOf(req, proxies) }, password)
    if (account === undefined)
      throw unauthenticated(TOKEN.test(password) ? NO_TOKEN : 'the user name or password is wrong')
    checkMaySignIn(account)
    return account
  }

  #wrongToken(req: IncomingMessage, message = NO_TOKEN): AllotError {
    const { throttle, proxies } = this.#options
    throttle?.wrongToken(addressOf(req, proxies))
    return unauthenticated(message)
  }

  async #hostUser(authenticate: HostAuthenticate, req: IncomingMessage): Promise<Identity | null> {
    const { store, hasTokens } = this.#options
    const answer = await askHost(authenticate, req)
    if (answer === undefined && hasTokens) return this.#byCredentials(req)
    if (answer === null || answer === undefined) return null
    if (answer === OPERATOR_IDENTITY) return { ...OPERATOR, scopes: ALL_SCOPES }
    const identity = checkHostIdentity(answer)
    const account = await accountOfHostUser(store, identity)
    checkMaySignIn(account)
    const { id, name, admin } = account
    return { id, username: name, admin: identity.admin ?? admin, scopes: identity.scopes }
  }
}

/**
 * The sender of a request that was authenticated before, as of the transaction.
 * @param hostDecides whether the login of a host says who is an administrator
 * @throws AllotError unauthenticated when the account was deleted, or the token or the SSH key revoked;
 * forbidden when the account is not active, and for Sudo by one who is not an administrator any more
 */
const identityNow = async (tx: ReadTransaction, user: Identity, hostDecides: boolean): Promise<Identity> => {
  if (user.id === OPERATOR.id) return user
  const { administrator, credential } = user
  const sender = await existing(tx, (administrator ?? user).id)
  checkMaySignIn(sender)
  if (credential !== undefined) {
    const { kind, id } = credential
    const isKept = (await (kind === 'token' ? tokens : sshKeys).get(tx, [id])) !== undefined
    if (!isKept)
      throw unauthenticated(kind === 'token' ? 'this token was revoked' : 'this SSH key was removed')
  }
  if (hostDecides) return user
  if (administrator === undefined) return { ...user, admin: sender.admin }
  if (!sender.admin)
    throw new AllotError('forbidden', 'only administrators can act for another user with Sudo')
  return { ...user, admin: (await existing(tx, user.id)).admin }
}

const existing = async (tx: ReadTransaction, id: number): Promise<Account> => {
  const account = await accountRecords.get(tx, [id])
  if (account === undefined) throw unauthenticated('this account was deleted')
  return account
}

/**
 * Lets administrators act for the user that the header `Sudo` or the query parameter `sudo` names. The
 * request has the rights of that user within the scopes of the administrator's credentials. The user may be
 * disabled: disabling an account refuses its own credentials, and here the administrator's are checked.
 * @returns the sender of a request without Sudo
 */
export const actingAs = async (
  req: IncomingMessage,
  sender: Promise<Identity | null>,
  find: (name: string) => Promise<Identity | undefined>,
): Promise<Identity | null> => {
  const name = sudoIn(req)
  if (name === undefined) return sender
  const administrator = await sender
  if (administrator === null || !administrator.admin)
    throw new AllotError('forbidden', 'only administrators can act for another user with Sudo')
  const { scopes, credential } = administrator
  const scope = req.method === 'GET' || req.method === 'HEAD' ? 'read:admin' : 'write:admin'
  if (!hasScope(scopes, scope))
    throw new AllotError('forbidden', `Sudo needs a token with the scope ${scope}`)
  const identity = await find(name)
  if (identity === undefined)
    throw new AllotError('not_found', `Sudo names the user ${name}, who does not exist`)
  const { id, username } = administrator
  return { ...identity, scopes, credential, administrator: { id, username } }
}

/** Cheap test whether a query can have the parameter, whose letters can be percent-encoded. */
const MAY_NAME = /sudo|%/

/** The user that a request names for Sudo. */
const sudoIn = ({ headers, url = '' }: IncomingMessage): string | undefined => {
  const header = headers.sudo
  if (typeof header === 'string' && header !== '') return header
  const index = url.indexOf('?')
  if (index === -1 || !MAY_NAME.test(url.slice(index))) return undefined
  return new URLSearchParams(url.slice(index)).get('sudo') || undefined
}
