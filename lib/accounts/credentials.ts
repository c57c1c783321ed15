import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type Actor, realActor, recordAudit } from '../audit.ts'
import { now } from '../clock.ts'
import { AllotError, checkArgument, checkPathName, checkString } from '../errors.ts'
import type { Page, Slice } from '../records/pages.ts'
import { type Account, accounts, type Token, tokens } from '../records/schema/index.ts'
import { type Store, takeNumber, type WriteContext } from '../records/store.ts'
import { ALL_SCOPES, SCOPES } from '../scopes.ts'
import type { MadeOf, ReadTransaction } from '../storage/index.ts'
import type { Identity } from './access.ts'
import { existingUser, ofExisting } from './find.ts'
import type { LastUses } from './last-uses.ts'

export interface NewToken {
  /** The stored record, without the token itself. */
  token: Token
  /** The token itself. It is not stored, so it can be shown only once. */
  secret: string
}

/** Whose token `allot.tokens.verify` has found. */
export interface VerifiedToken {
  /** The user. */
  readonly account: Account
  /** The stored record, with its scopes. */
  readonly token: Token
}

/** Access tokens of users. */
export class Tokens {
  readonly #store: Store
  readonly #uses: LastUses<number>

  constructor(store: Store, uses: LastUses<number>) {
    this.#store = store
    this.#uses = uses
  }

  /**
   * Finds out whose token a text is, for routes that the host serves itself, and notes that it is used.
   * @param secret the token, as `create` returned it
   * @returns the user and the token, whose scopes are the host's to enforce; undefined when it is not the
   * token of a user who may sign in
   */
  async verify(secret: string): Promise<VerifiedToken | undefined> {
    if (!TOKEN.test(checkString('secret', secret))) return undefined
    const { account, token } = (await this.#store.read((tx) => recordsOfToken(tx, secret))) ?? {}
    if (token === undefined || account === undefined || !maySignIn(account)) return undefined
    this.#uses.note(token.id)
    return { account, token }
  }

  /**
   * Creates a token of a user.
   * @throws AllotError bad_request for an unknown scope, and for none at all; conflict for a name that the
   * user has given to another token; invalid for an argument of another type, a malformed name, and an
   * organization; not_found when the account does not exist
   */
  async create(account: number, name: string, scopes: readonly string[], by?: Actor): Promise<NewToken> {
    checkArgument(typeof account === 'number', 'account', 'the id of an account', account)
    checkPathName(name)
    checkArgument(Array.isArray(scopes), 'scopes', "a list, such as ['all']", scopes)
    const checkedScopes = checkScopes(scopes)
    const secret = newToken()
    const token = await this.#store.write((tx) =>
      insertToken(tx, { account, name, scopes: checkedScopes, secret }, by),
    )
    return { token, secret }
  }

  /** Tokens of a user, in the order of creation. */
  async list(account: number, slice: Slice): Promise<Page<Token>> {
    const page = await this.#store.read((tx) =>
      ofExisting(tx, account, tokens.page(tx, 'account', { prefix: [account], ...slice })),
    )
    return page ?? { items: [], total: 0 }
  }

  /**
   * Removes a token.
   * @param which id; or, as text, an id or the name of a token when no own token has that id
   * @returns whether it existed
   */
  remove(account: number, which: number | string, by?: Actor): Promise<boolean> {
    return this.#store.write(async (tx) => {
      const token = await findToken(tx, account, which)
      if (token === undefined) return false
      await recordToken(tx, by, 'token revoked', token)
      return (await tokens.remove(tx, [token.id])) !== undefined
    })
  }
}

/** Logs a token that another account makes or revokes; a user's changes of own tokens are not logged. */
const recordToken = async (
  tx: WriteContext,
  by: Actor | undefined,
  action: 'token created' | 'token revoked',
  { account, name, scopes }: Token,
): Promise<void> => {
  if (by === undefined || realActor(by).id === account) return
  const subject = (await accounts.get(tx, [account]))?.name ?? `#${account}`
  const token = { token: name, scopes }
  await recordAudit(tx, by, {
    action,
    subject,
    ...(action === 'token created' ? { after: token } : { before: token }),
  })
}

/** Bytes of a token, which is sent in hex. Tokens of another length are not looked for. */
const TOKEN_BYTES = 20

/** Made before the write that stores it, which may run again. */
export const newToken = (): string => randomBytes(TOKEN_BYTES).toString('hex')

/**
 * Creates a token.
 * @throws AllotError conflict when the account has one of the name; not_found when it was deleted; invalid
 * for an organization
 */
export const insertToken = async (
  tx: WriteContext,
  { secret, ...members }: Pick<Token, 'account' | 'name' | 'scopes'> & { readonly secret: string },
  by: Actor | undefined,
): Promise<Token> => {
  const { account, name } = members
  await existingUser(tx, account, 'tokens')
  if ((await tokens.findBy(tx, 'name', [account, name])) !== undefined)
    throw new AllotError('conflict', `a token named ${name} already exists`, { field: 'name' })
  const stored = { hash: hashSecret(secret), lastEight: secret.slice(-8), createdAt: now() }
  const token = { id: await takeNumber(tx, 'token'), ...members, ...stored }
  await tokens.add(tx, token)
  await recordToken(tx, by, 'token created', token)
  return token
}

/** Secrets are stored as their SHA-256. */
export const hashSecret = (secret: string): string => createHash('sha256').update(secret).digest('hex')

const findToken = async (
  tx: WriteContext,
  account: number,
  which: number | string,
): Promise<Token | undefined> => {
  const byId = /^\d{1,15}$/.test(String(which)) ? await tokens.get(tx, [Number(which)]) : undefined
  if (byId?.account === account) return byId
  return typeof which === 'string' ? tokens.findBy(tx, 'name', [account, which]) : undefined
}

/**
 * @returns the scopes, each once
 * @throws AllotError bad_request for none, and for an unknown one
 */
export const checkScopes = (scopes: readonly string[]): string[] => {
  const options = { field: 'scopes' }
  if (scopes.length === 0) throw new AllotError('bad_request', 'access token must have a scope', options)
  const unknown = scopes.find((scope) => !(SCOPES as readonly string[]).includes(scope))
  if (unknown !== undefined)
    throw new AllotError(
      'bad_request',
      `invalid access token scope: ${unknown}; expected some of: ${SCOPES.join(', ')}`,
      options,
    )
  return [...new Set(scopes)].sort()
}

/** The account that signed in, with a token or with the password (`token` is null). */
export interface Credential {
  readonly account: Account
  readonly token: Token | null
}

export const unauthenticated = (message: string) => new AllotError('unauthenticated', message)

/** Whether requests and sessions can be of the account. */
export const maySignIn = ({ kind, active }: Account): boolean => kind === 'user' && active

/** @throws AllotError unauthenticated for an organization; forbidden for a user who is not active */
export const checkMaySignIn = (account: Account): void => {
  if (maySignIn(account)) return
  if (account.kind !== 'user') throw unauthenticated('an organization cannot sign in')
  throw new AllotError('forbidden', 'this account is not allowed to sign in')
}

export const identityOf = ({ account, token }: Credential): Identity => ({
  id: account.id,
  username: account.name,
  admin: account.admin,
  scopes: token === null ? ALL_SCOPES : new Set(token.scopes),
  ...(token !== null && { credential: { kind: 'token', id: token.id } as const }),
})

/** @throws AllotError as {@link checkMaySignIn} does */
export const credentialOfToken = async (
  tx: ReadTransaction,
  secret: string,
): Promise<Credential | undefined> => {
  const found = await recordsOfToken(tx, secret)
  if (found !== undefined) checkMaySignIn(found.account)
  return found
}

const recordsOfToken = async (tx: ReadTransaction, secret: string): Promise<VerifiedToken | undefined> => {
  const token = await tokens.findBy(tx, 'hash', [hashSecret(secret)])
  const account = token && (await accounts.get(tx, [token.account]))
  return token && account && { account, token }
}

/**
 * The identity that a token stands for, which almost every request asks for.
 * @throws AllotError as {@link checkMaySignIn} does
 */
export const senderOfToken = (store: Store, token: string): Promise<TokenSender | undefined> =>
  store.cached(senderKey(token), async (tx) => {
    const credential = await credentialOfToken(tx, token)
    return credential && { identity: identityOf(credential), tokenId: credential.token!.id }
  })

/** The same, if the store keeps it. */
export const keptSender = (store: Store, token: string, uses: LastUses<number>): KeptSender | undefined => {
  const key = senderKey(token)
  const sender = store.known<TokenSender>(key)
  return (
    sender && { madeOf: { key, value: sender }, user: sender.identity, use: () => uses.note(sender.tokenId) }
  )
}

const senderKey = (token: string): string => `sender ${token}`

/** A sender whom the store keeps. */
export interface KeptSender {
  /** Where the store keeps the sender; absent without credentials. */
  readonly madeOf?: MadeOf
  readonly user: Identity | null
  /** Notes that the token is used. */
  use?(): void
}

interface TokenSender {
  readonly identity: Identity
  readonly tokenId: number
}

/** A token, as requests send it. */
export const TOKEN = new RegExp(`^[0-9a-f]{${2 * TOKEN_BYTES}}$`)

const AUTHORIZATION = /^\s*(\S+)[ \t]+(\S+)\s*$/

/** Scheme in lower case and value of the Authorization header, both empty when it is malformed. */
export const credentialsIn = ({
  headers,
}: IncomingMessage): { scheme: string; value: string } | undefined => {
  const header = headers.authorization ?? ''
  const [, scheme = '', value = ''] = AUTHORIZATION.exec(header) ?? []
  return header.trim() === '' ? undefined : { scheme: scheme.toLowerCase(), value }
}

/** A token alone is what most new clients send first. The message must not repeat it. */
export const malformedHeader = (header = ''): AllotError =>
  unauthenticated(
    TOKEN.test(header.trim())
      ? 'the Authorization header has a token without its scheme: send `Authorization: token …`'
      : 'the Authorization header must have a scheme and one value, as in `Authorization: token …`',
  )

export const isTokenScheme = (scheme: string) => scheme === 'token' || scheme === 'bearer'
