/** Sessions of the pages. The browser keeps the secret; the store has only its hash. */
import { randomBytes } from 'node:crypto'
import { now } from '../clock.ts'
import { type Account, accounts, type Session, sessions, tokens } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import type { Identity } from './access.ts'
import { type Credential, hashSecret, identityOf, maySignIn, unauthenticated } from './credentials.ts'
import type { LastUses } from './last-uses.ts'

/** Sessions that an account can have; a further sign-in ends the oldest. */
const MAX_SESSIONS = 50
/** Expired sessions that each sign-in removes, so that they do not accumulate. */
const EXPIRED_BATCH = 10

/** The browser that a session is for. */
export interface SessionBrowser {
  /** Short name of the browser and its system, such as `Firefox on Linux`; undefined when it sends none. */
  readonly name: string | undefined
  /** Its address, as `addressOf` (lib/clients.ts) returns it. */
  readonly address: string
  /** Secret of its session until now, which ends. */
  readonly secret: string
}

/** A session as its user sees it. */
export interface OwnSession extends Pick<Session, 'browser' | 'address' | 'createdAt' | 'lastUsedAt'> {
  readonly id: string
  /** Name of the token that the user signed in with; undefined for the password. */
  readonly token: string | undefined
  /** Whether this is the session of the browser that asks. */
  readonly isCurrent: boolean
}

export class Sessions {
  readonly #store: Store
  readonly #uses: LastUses<string>
  /** Seconds from the sign-in until the session expires. */
  readonly lifetime: number

  constructor(store: Store, uses: LastUses<string>, lifetime: number) {
    this.#store = store
    this.#uses = uses
    this.lifetime = lifetime
  }

  /**
   * Begins a session in place of the one that the browser has. Both happen in one write, so that a crash
   * leaves no session alive that should have ended.
   * @param credential for whom; or a function that finds or changes it in the same write
   * @returns the secret
   * @throws AllotError unauthenticated when the credential was revoked or changed meanwhile
   */
  async begin(
    credential: Credential | ((tx: WriteContext) => Promise<Credential>),
    browser: SessionBrowser,
  ): Promise<string> {
    const secret = newSessionSecret()
    const hash = hashSecret(secret)
    await this.#store.write(async (tx) => {
      const signedIn = typeof credential === 'function' ? await credential(tx) : credential
      const session = newSession(hash, signedIn, browser, this.lifetime)
      if ((await credentialOf(tx, session)) === undefined)
        throw unauthenticated('the credentials were changed during the sign-in: sign in again')
      await sessions.remove(tx, [hashSecret(browser.secret)])
      await makeRoom(tx, session.account)
      await sessions.save(tx, session)
    })
    return secret
  }

  /**
   * @returns undefined after the session has expired or ended, or its credential was revoked or changed, and
   * while the account is disabled
   */
  async find(secret: string): Promise<Identity | undefined> {
    const hash = hashSecret(secret)
    const found = await this.#store.read(async (tx) => {
      const session = await sessions.get(tx, [hash])
      return session && (await credentialOf(tx, session))
    })
    if (found === undefined) return undefined
    this.#uses.note(hash)
    return identityOf(found)
  }

  /**
   * The sessions of an account that are valid, the newest first.
   * @param secret that of the browser that asks
   */
  list(account: number, secret: string): Promise<OwnSession[]> {
    const current = hashSecret(secret)
    return this.#store.read(async (tx) => {
      const own = await sessions.list(tx, 'account', { prefix: [account], reverse: true })
      const credentials = await Promise.all(own.map((session) => credentialOf(tx, session)))
      return own.flatMap(({ hash: id, browser, address, createdAt, lastUsedAt }, index) => {
        const credential = credentials[index]
        if (credential === undefined) return []
        const token = credential.token?.name
        return [{ id, browser, address, createdAt, lastUsedAt, token, isCurrent: id === current }]
      })
    })
  }

  /**
   * Ends one session of an account by the id that `list` says.
   * @returns whether there was one
   */
  endOne(account: number, id: string): Promise<boolean> {
    return this.#store.write(async (tx) => {
      if ((await sessions.get(tx, [id]))?.account !== account) return false
      await sessions.remove(tx, [id])
      return true
    })
  }

  async end(secret: string): Promise<void> {
    await this.#store.write((tx) => sessions.remove(tx, [hashSecret(secret)]))
  }

  /** Ends every session of an account. */
  endAll(account: number): Promise<void> {
    return this.#store.write((tx) => endSessions(tx, account))
  }
}

/** Ends every session of an account. */
export const endSessions = async (tx: WriteContext, account: number): Promise<void> => {
  for (const { hash } of await sessions.list(tx, 'account', { prefix: [account] }))
    await sessions.remove(tx, [hash])
}

/** The secret of a session cookie. */
export const newSessionSecret = (): string => randomBytes(32).toString('base64url')

const newSession = (
  hash: string,
  { account, token }: Credential,
  { name, address }: SessionBrowser,
  lifetime: number,
): Session => {
  const createdAt = now()
  return {
    hash,
    account: account.id,
    token: token?.id ?? null,
    password: token === null ? passwordDigest(account) : null,
    ...(name === undefined ? {} : { browser: name }),
    address,
    createdAt,
    lastUsedAt: createdAt,
    expiresAt: createdAt + lifetime,
  }
}

/**
 * Every use of a session checks its credential again: a revoked token, a changed password or a deleted
 * account ends the session at that moment, whichever way they were changed. The sessions of a disabled
 * account are valid again once it is enabled.
 */
const credentialOf = async (tx: ReadTransaction, session: Session): Promise<Credential | undefined> => {
  if (session.expiresAt <= now()) return undefined
  const [account, token] = await Promise.all([
    accounts.get(tx, [session.account]),
    session.token === null ? null : tokens.get(tx, [session.token]),
  ])
  if (account === undefined || !maySignIn(account) || token === undefined) return undefined
  if (token === null && session.password !== passwordDigest(account)) return undefined
  return { account, token }
}

const makeRoom = async (tx: WriteContext, account: number): Promise<void> => {
  const own = await sessions.list(tx, 'account', { prefix: [account] })
  const oldest = own.slice(0, Math.max(0, own.length - MAX_SESSIONS + 1))
  const first = await sessions.list(tx, 'expiry', { prefix: [], limit: EXPIRED_BATCH })
  const expired = first.filter(({ expiresAt }) => expiresAt <= now())
  for (const { hash } of [...oldest, ...expired]) await sessions.remove(tx, [hash])
}

/** Hash of the stored password hash, which shows whether the password has changed. */
const passwordDigest = ({ password }: Account): string => hashSecret(password ?? '')
