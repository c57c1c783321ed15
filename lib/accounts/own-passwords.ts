/** How users set their own passwords: with a link, or with the current password. */
import { randomBytes, timingSafeEqual } from 'node:crypto'
import { type Actor, recordAudit } from '../audit.ts'
import { DAY_SECONDS, now } from '../clock.ts'
import { AllotError, invalidMember } from '../errors.ts'
import { type Account, accounts } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import type { Identity } from './access.ts'
import { giveAll } from './account-records.ts'
import { type Credential, checkMaySignIn, hashSecret } from './credentials.ts'
import { accountByFormerName, accountByName, requireUser } from './find.ts'
import { checkPassword, hashPassword, type PasswordLogin } from './login.ts'
import type { LoginThrottle } from './login-throttle.ts'
import { endSessions, type SessionBrowser, type Sessions } from './sessions.ts'

/** Days for which a link is valid. */
export const LINK_DAYS = 14

/** The parameters of a link. */
export interface PasswordLink {
  /** Name of the user, or a former name that redirects to it. */
  readonly user: string
  readonly code: string
}

/** A request with a link. */
export interface LinkUse extends PasswordLink {
  /** IP address that it comes from. */
  readonly address: string
}

/** A password that a user has chosen, in a form of a browser. */
interface ChosenPassword {
  readonly password: string
  /** Client whose budget hashing the password counts against. */
  readonly client: string
  readonly browser: SessionBrowser
}

/**
 * Links with which a user sets a password once, such as a user who was created without one. An account has
 * one link at most, and the store has only the hash of its code. It ends when it is used, when a new one is
 * made, when the password is changed in another way, after {@link LINK_DAYS} days, and when the user was
 * renamed and another account takes the former name.
 */
export class PasswordLinks {
  readonly #store: Store
  readonly #throttle: LoginThrottle | undefined
  readonly #sessions: Sessions

  /** @param throttle undefined: the host limits failed logins itself */
  constructor(store: Store, throttle: LoginThrottle | undefined, sessions: Sessions) {
    this.#store = store
    this.#throttle = throttle
    this.#sessions = sessions
  }

  /**
   * Makes the link of a user, in place of an earlier one.
   * @returns its parameters, which are shown only now; undefined when there is no such account
   * @throws AllotError invalid for an organization; forbidden as {@link giveAll} says
   */
  async create(id: number, by?: Actor): Promise<PasswordLink | undefined> {
    giveAll(by, 'a password')
    const code = randomBytes(32).toString('base64url')
    return this.#store.write(async (tx) => {
      const account = await accounts.get(tx, [id])
      if (account === undefined) return undefined
      requireUser(account, 'password')
      const passwordLink = { hash: hashSecret(code), expiresAt: now() + LINK_DAYS * DAY_SECONDS }
      await accounts.save(tx, { ...account, passwordLink })
      await recordAudit(tx, by, { action: 'password link created', subject: account.name })
      return { user: account.name, code }
    })
  }

  /**
   * The user of a valid link.
   * @throws AllotError not_found for one that isn't valid; too_many_requests after too many of those;
   * forbidden when the account may not sign in
   */
  async find(link: LinkUse): Promise<Account> {
    const account = await this.#store.read((tx) => accountOf(tx, link))
    if (account !== undefined) {
      checkMaySignIn(account)
      return account
    }
    this.#throttle?.wrongToken(link.address)
    throw notValid()
  }

  /**
   * Sets the password, ends the link and all sessions of the user, and begins a session, in one write. The
   * audit log names the user.
   * @returns the secret of the session
   * @throws AllotError as `find` does, also when another request has used the link meanwhile; invalid for a
   * password that is too short or too long; unavailable when too many passwords are being hashed
   */
  async use(link: LinkUse, { password, client, browser }: ChosenPassword): Promise<string> {
    await this.find(link)
    const hash = await hashPassword(checkPassword(password), { client, check: () => this.find(link) })
    return this.#sessions.begin(async (tx) => {
      const account = await accountOf(tx, link)
      if (account === undefined) throw notValid()
      return setPassword(tx, account, hash)
    }, browser)
  }
}

/**
 * Sets the password that a user has chosen. It ends all sessions, also those that began with a token, and a
 * link that sets a password.
 */
const setPassword = async (
  tx: WriteContext,
  { passwordLink: _, ...account }: Account,
  password: string,
): Promise<Credential> => {
  const after = { ...account, password, updatedAt: now() }
  await accounts.save(tx, after)
  const { id, name, admin } = account
  await recordAudit(tx, { id, username: name, admin }, { action: 'password changed', subject: name })
  await endSessions(tx, id)
  return { account: after, token: null }
}

/** Undefined unless the link is valid now. */
const accountOf = async (tx: ReadTransaction, { user, code }: PasswordLink): Promise<Account | undefined> => {
  const account = (await accountByName(tx, user)) ?? (await accountByFormerName(tx, user))
  const link = account?.passwordLink
  if (link === undefined || link.expiresAt <= now()) return undefined
  return timingSafeEqual(Buffer.from(hashSecret(code)), Buffer.from(link.hash)) ? account : undefined
}

const notValid = (): AllotError =>
  new AllotError(
    'not_found',
    'this link is not valid: it was used, replaced, or has expired; ask an administrator for a new one',
  )

interface NewPassword extends ChosenPassword {
  /** The password until now. Wrong ones are counted as failed logins from the address of the browser. */
  readonly current: string
  /** The new password as it was typed the second time. */
  readonly repeated: string
}

/**
 * Changes of passwords by their users, who must know the current one. Administrators set passwords with
 * `Accounts.edit`.
 */
export class PasswordChange {
  readonly #passwords: PasswordLogin
  readonly #sessions: Sessions

  constructor(passwords: PasswordLogin, sessions: Sessions) {
    this.#passwords = passwords
    this.#sessions = sessions
  }

  /**
   * Changes the password, ends all sessions of the user, also those that began with a token, and begins a new
   * one, in one write. Tokens stay valid.
   * @returns the secret of the new session
   * @throws AllotError invalid for a wrong current password, and for a new one that the rules refuse;
   * too_many_requests after too many wrong ones; unavailable when too many passwords wait to be checked
   */
  async change(
    user: Identity,
    { current, password, repeated, client, browser }: NewPassword,
  ): Promise<string> {
    checkPassword(password)
    if (repeated !== password)
      throw invalidMember('repeatedPassword', 'it is not the same as the new password')
    const before = await this.#passwords.signIn({ login: user.username, address: browser.address }, current)
    if (before === undefined || before.id !== user.id) throw invalidMember('currentPassword', 'it is wrong')
    const hash = await hashPassword(password, { client })
    return this.#sessions.begin(async (tx) => {
      const account = await accounts.get(tx, [user.id])
      if (account === undefined) throw invalidMember('currentPassword', 'the account was deleted')
      if (account.password !== before.password)
        throw invalidMember('currentPassword', 'it was changed meanwhile')
      return setPassword(tx, account, hash)
    }, browser)
  }
}
