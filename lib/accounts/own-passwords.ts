/** How users set their own passwords: with a link, or with the current password. */
import { randomBytes, timingSafeEqual } from 'node:crypto'
import { type Actor, recordAudit } from '../audit.ts'
import { now } from '../clock.ts'
import { AllotError, invalid } from '../errors.ts'
import { type Account, accounts } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { accountByName, type Identity } from './access.ts'
import type { Accounts } from './accounts.ts'
import { hashSecret, refuseInactive, type Sessions } from './credentials.ts'
import { checkPassword, hashPassword, type LoginThrottle, type PasswordLogin } from './login.ts'

/** Days for which a link is valid. */
export const LINK_DAYS = 14
const DAY_SECONDS = 86_400

/** Path of the page that a link leads to. */
export const SET_PASSWORD = '/-/set-password'

/** The parameters of a link. */
interface PasswordLink {
  /** Name of the user. */
  readonly user: string
  readonly code: string
}

/** A request with a link. */
export interface LinkUse extends PasswordLink {
  /** IP address that it comes from. */
  readonly address: string
}

/**
 * Links with which a user sets a password once, such as a user who was created without one. An account has one link at most,
 * and the store has only the hash of its code. It ends when it is used, when a new one is made, when the password is changed
 * in another way, and after {@link LINK_DAYS} days.
 */
export class PasswordLinks {
  readonly #store: Store
  readonly #throttle: LoginThrottle | undefined

  /** @param throttle undefined: the host limits failed logins itself */
  constructor(store: Store, throttle: LoginThrottle | undefined) {
    this.#store = store
    this.#throttle = throttle
  }

  /**
   * Makes the link of a user, in place of an earlier one.
   * @returns the path of the page, which is shown only now; undefined when there is no such account
   * @throws AllotError invalid for an organization
   */
  create(id: number, by?: Actor): Promise<string | undefined> {
    const code = randomBytes(32).toString('base64url')
    return this.#store.write(async (tx) => {
      const account = await accounts.get(tx, [id])
      if (account === undefined) return undefined
      if (account.kind !== 'user') throw invalid('an organization has no password')
      const passwordLink = { hash: hashSecret(code), expiresAt: now() + LINK_DAYS * DAY_SECONDS }
      await accounts.save(tx, { ...account, passwordLink })
      await recordAudit(tx, by, { action: 'password link created', subject: account.name })
      return `${SET_PASSWORD}?${new URLSearchParams({ user: account.name, code })}`
    })
  }

  /**
   * The user of a valid link.
   * @throws AllotError not_found for one that isn't valid; too_many_requests after too many of those; forbidden when the
   * account may not sign in
   */
  async find(link: LinkUse): Promise<Account> {
    const account = await this.#store.read((tx) => accountOf(tx, link))
    if (account !== undefined) {
      refuseInactive(account)
      return account
    }
    this.#throttle?.wrongToken(link.address)
    throw notValid()
  }

  /**
   * Sets the password, and ends the link. The audit log names the user.
   * @param client client whose budget hashing the password counts against
   * @throws AllotError as `find` does, also when another request has used the link meanwhile; invalid for a password that is
   * too short
   */
  async use(link: LinkUse, password: string, client: string): Promise<Account> {
    await this.find(link)
    const hash = await hashPassword(checkPassword(password), client, () => this.find(link))
    return this.#store.write(async (tx) => {
      const account = await accountOf(tx, link)
      if (account === undefined) throw notValid()
      const { passwordLink: _, ...rest } = account
      const after = { ...rest, password: hash, updatedAt: now() }
      await accounts.save(tx, after)
      const { id, name, admin } = account
      await recordAudit(tx, { id, username: name, admin }, { action: 'password changed', subject: name })
      return after
    })
  }
}

/** Undefined unless the link is valid now. */
const accountOf = async (tx: ReadTransaction, { user, code }: PasswordLink): Promise<Account | undefined> => {
  const account = await accountByName(tx, user)
  const link = account?.passwordLink
  if (link === undefined || link.expiresAt <= now()) return undefined
  return timingSafeEqual(Buffer.from(hashSecret(code)), Buffer.from(link.hash)) ? account : undefined
}

const notValid = (): AllotError =>
  new AllotError(
    'not_found',
    'this link is not valid: it was used, replaced, or has expired; ask an administrator for a new one',
  )

interface NewPassword {
  /** The password until now. */
  readonly current: string
  readonly password: string
  /** IP address of the client, whose wrong passwords are counted as failed logins. */
  readonly address: string
  /** Client whose budget hashing the password counts against. */
  readonly client: string
}

/** Changes of passwords by their users, who must know the current one. Administrators set passwords with `Accounts.edit`. */
export class PasswordChange {
  readonly #accounts: Accounts
  readonly #passwords: PasswordLogin
  readonly #sessions: Sessions

  constructor(accounts: Accounts, passwords: PasswordLogin, sessions: Sessions) {
    this.#accounts = accounts
    this.#passwords = passwords
    this.#sessions = sessions
  }

  /**
   * Changes the password, and ends all sessions of the user, also those that began with a token. Tokens stay valid.
   * @returns the secret of a new session
   * @throws AllotError invalid for a wrong current password, and for a new one that the rules refuse; too_many_requests after
   * too many wrong ones; unavailable when too many passwords wait to be checked
   */
  async change(user: Identity, { current, password, address, client }: NewPassword): Promise<string> {
    checkPassword(password)
    const before = await this.#passwords.signIn({ login: user.username, address }, current)
    if (before === undefined || before.id !== user.id) throw invalid('currentPassword: it is wrong')
    const account = await this.#accounts.edit(
      async (tx) => {
        const found = await accounts.get(tx, [user.id])
        if (found !== undefined && found.password !== before.password)
          throw invalid('currentPassword: it was changed meanwhile')
        return found
      },
      { password },
      client,
      user,
    )
    if (account === undefined) throw invalid('currentPassword: the account was deleted')
    await this.#sessions.endAll(account.id)
    return this.#sessions.begin({ account, token: null })
  }
}
