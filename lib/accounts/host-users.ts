/**
 * The users of a host that has its own login: what its `authenticate` returns, and their accounts here.
 */
import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { now } from '../clock.ts'
import {
  AllotError,
  checkName,
  type ErrorCode,
  isObject,
  isOwnerName,
  NAME_LIMIT,
  takenMember,
} from '../errors.ts'
import { type Account, accounts } from '../records/schema/index.ts'
import { type Store, takeNumber, type WriteContext } from '../records/store.ts'
import { TEXT_LIMITS } from '../records/text-limits.ts'
import { ALL_SCOPES } from '../scopes.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { OPERATOR } from './access.ts'
import { blankAccount, insertAccount, renameAccount } from './account-records.ts'
import { accountByEmail, accountByName, existingUser } from './find.ts'
import { isAccountName, NAME_LENGTH, OPTIONAL_EMAIL } from './names.ts'

/** A user of the host, as `authenticate` returns it. */
export interface HostIdentity {
  /**
   * Says alone who the user is, such as the subject of OpenID Connect: a text of 1 to 255 characters without
   * control characters, compared as it is, that the host never gives to another user. The first request of an
   * id creates the account. For `createQuota`, it is the name of the owner.
   */
  id: string
  /**
   * The user's name at the host, any text; the id when absent. The account gets a valid name made of it, and
   * another one when it changes.
   */
  username?: string | undefined
  /** Name to show. */
  name?: string | undefined
  /** Address of the user, which the host has checked; left out when another account has it. */
  email?: string | undefined
  /** Whether the request has the rights of an administrator; when absent, as the account says. */
  admin?: boolean | undefined
  /** Scopes of the request, such as `read:repository`; every scope when absent. */
  scopes?: readonly string[] | undefined
}

/** What `authenticate` may return. */
type HostAnswer = HostIdentity | null | undefined

/**
 * The host's own login: returns who sent a request; null for an anonymous request, whatever credentials it
 * has; undefined for one that Allot's own tokens may sign in. Throws an `AllotError` with the code
 * `unauthenticated` (401), `forbidden` (403), `too_many_requests` (429) or `unavailable` (503), whose message
 * the client gets; any other error is logged, and answered 500.
 */
export type HostAuthenticate = (req: IncomingMessage) => HostAnswer | Promise<HostAnswer>

/** Codes of the errors of `authenticate` that are answers for the client. */
const REFUSALS: readonly ErrorCode[] = ['unauthenticated', 'forbidden', 'too_many_requests', 'unavailable']

/**
 * Asks the host who sent a request. Every other error is wrapped, so that nothing reads its code: a file that
 * the host cannot open is not a disk of Allot that has failed.
 * @throws AllotError unauthenticated, forbidden, too_many_requests or unavailable, as the host does
 * @throws Error for the log, with any other error of the host as its cause
 */
export const askHost = async (authenticate: HostAuthenticate, req: IncomingMessage): Promise<HostAnswer> => {
  try {
    return await authenticate(req)
  } catch (cause) {
    if (cause instanceof AllotError && REFUSALS.includes(cause.code)) throw cause
    throw new Error('authenticate failed', { cause })
  }
}

/** The command line, in place of an identity of a host. */
export const OPERATOR_IDENTITY = OPERATOR as unknown as HostIdentity

/** A checked identity of the host. */
export interface CheckedIdentity extends Omit<HostIdentity, 'scopes'> {
  readonly scopes: ReadonlySet<string>
}

const OPTIONAL_TEXT = [
  'a text, or undefined',
  (value: unknown) => value === undefined || typeof value === 'string',
] as const

/** What each member of an identity must be. */
const CHECKS = {
  id: [`a text of 1 to ${NAME_LIMIT} characters without control characters`, isOwnerName],
  username: OPTIONAL_TEXT,
  name: OPTIONAL_TEXT,
  email: OPTIONAL_TEXT,
  admin: ['true, false or undefined', (value) => value === undefined || typeof value === 'boolean'],
  scopes: [
    'a list of texts, or undefined',
    (value) =>
      value === undefined || (Array.isArray(value) && value.every((scope) => typeof scope === 'string')),
  ],
} as const satisfies Record<keyof HostIdentity, readonly [string, (value: unknown) => boolean]>

/**
 * Checks what the host's `authenticate` returned, and shortens texts that are longer than those of accounts.
 * @throws TypeError that says what came back, without its values, which may be secrets: the log gets it
 */
export const checkHostIdentity = (value: unknown): CheckedIdentity => {
  const identity = (isObject(value) ? value : {}) as HostIdentity
  for (const [member, [expected, isRight]] of Object.entries(CHECKS)) {
    const given = identity[member as keyof HostIdentity]
    if (isRight(given)) continue
    const problem = isObject(value) ? `, whose ${member} is ${shapeOf(given)}` : ''
    throw new TypeError(
      `authenticate returned ${shapeOf(value)}${problem}; expected ${member} to be ${expected}. It returns { id }, null for an anonymous request, or undefined for one that Allot's tokens may sign in`,
    )
  }
  const { id, username, name, email, admin, scopes } = identity
  return {
    id,
    username: shortened(username, NAME_LIMIT),
    name: shortened(name, TEXT_LIMITS.account.fullName),
    email: shortened(email, NAME_LIMIT),
    admin,
    scopes: scopes === undefined ? ALL_SCOPES : new Set(scopes),
  }
}

const shortened = (text: string | undefined, limit: number) => text?.slice(0, limit).toWellFormed()

/** The kind of a value, without its content. */
const shapeOf = (value: unknown): string => {
  if (typeof value === 'string')
    return `a text of ${value.length} characters${CONTROLS.test(value) ? ', some of them control characters' : ''}`
  if (Array.isArray(value)) return 'an array'
  if (!isObject(value)) return value === null || value === undefined ? String(value) : `a ${typeof value}`
  const names = Object.keys(value)
  return names.length === 0 ? 'an object without members' : `an object with ${names.slice(0, 20).join(', ')}`
}

const CONTROLS = /\p{Cc}/u

/** What the host says about a user; an account keeps what it said last. */
export type HostUser = NonNullable<Account['host']>

/** The account of a user of the host; undefined before the first request. */
export const accountByHostId = (tx: ReadTransaction, id: string): Promise<Account | undefined> =>
  accounts.findBy(tx, 'host', [id])

/**
 * The account of a user of the host. The first request creates it, and later ones take over what the host
 * has changed: what was changed here stays until then. Invariant: one account for each id, whatever the names
 * are, and no other account can keep the user from signing in.
 */
export const accountOfHostUser = async (store: Store, identity: SaidMembers): Promise<Account> => {
  const host = saidBy(identity)
  const known = await store.read((tx) => accountByHostId(tx, host.id))
  if (known !== undefined && isUnchanged(known.host, host)) return known
  return store.write(async (tx) => {
    const account = await accountByHostId(tx, host.id)
    if (account !== undefined) return update(tx, account, host)
    const id = await takeNumber(tx, 'account')
    const name = await freeName(tx, host)
    const [fullName, email] = [host.name ?? '', await freeEmail(tx, host.email)]
    return insertAccount(tx, { ...blankAccount('user', name), id, fullName, email, host })
  })
}

/** See `Accounts.link`. */
export const linkToHost = async (
  tx: WriteContext,
  account: number,
  hostId: string | null,
): Promise<Account> => {
  if (hostId !== null) checkName(hostId, 'hostId')
  const { host: _, ...before } = await existingUser(tx, account, 'login')
  const holder = hostId === null ? undefined : await accountByHostId(tx, hostId)
  if (holder !== undefined && holder.id !== account)
    throw takenMember('hostId', `the user has the account ${holder.name} already`)
  const after = { ...before, ...(hostId !== null && { host: { id: hostId } }) }
  await accounts.save(tx, after)
  return after
}

type SaidMembers = Pick<HostIdentity, 'id' | (typeof MEMBERS)[number]>
const MEMBERS = ['username', 'name', 'email'] as const

const saidBy = (identity: SaidMembers): HostUser => {
  const host: HostUser = { id: identity.id }
  for (const member of MEMBERS) if (identity[member] !== undefined) host[member] = identity[member]
  return host
}

/** A member that the host does not say any more stays. */
const hasChanged = (before: HostUser | undefined, host: HostUser, member: (typeof MEMBERS)[number]) =>
  host[member] !== undefined && host[member] !== before?.[member]

const isUnchanged = (before: HostUser | undefined, host: HostUser) =>
  !MEMBERS.some((member) => hasChanged(before, host, member))

const update = async (tx: WriteContext, account: Account, host: HostUser): Promise<Account> => {
  const { host: last, id } = account
  if (isUnchanged(last, host)) return account
  const before = hasChanged(last, host, 'username')
    ? (await renameAccount(tx, id, await freeName(tx, host, id), undefined))!
    : account
  const after = {
    ...before,
    ...(hasChanged(last, host, 'name') && { fullName: host.name! }),
    ...(hasChanged(last, host, 'email') && { email: await freeEmail(tx, host.email, id) }),
    host: { ...last, ...host },
    updatedAt: now(),
  }
  await accounts.save(tx, after)
  return after
}

/** An address that is not valid or belongs to another account must not keep a user from signing in. */
const freeEmail = async (tx: ReadTransaction, email = '', self?: number): Promise<string> => {
  if (!OPTIONAL_EMAIL.test(email) || email.length > TEXT_LIMITS.account.email) return ''
  const holder = await accountByEmail(tx, email)
  return holder === undefined || holder.id === self ? email : ''
}

/** A name that no other account has, made of that at the host. */
const freeName = async (tx: ReadTransaction, { id, username }: HostUser, self?: number): Promise<string> => {
  const name = validName(username || id)
  for (let attempt = 0; ; attempt++) {
    const candidate = attempt === 0 ? name : withSuffix(name, id, attempt)
    if (!isAccountName(candidate)) continue
    const holder = await accountByName(tx, candidate)
    if (holder === undefined || holder.id === self) return candidate
  }
}

/** A name that is taken or reserved gets an end that follows from the id. */
const withSuffix = (name: string, id: string, attempt: number): string => {
  const digest = createHash('sha256')
    .update(attempt === 1 ? id : `${attempt}\n${id}`)
    .digest('hex')
  return `${(name || 'user').slice(0, NAME_LENGTH - 7)}-${digest.slice(0, 6)}`
}

/** Letters without a decomposition in Unicode. */
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ł: 'l',
  þ: 'th',
}

/**
 * A text as the name of an account, as far as it has letters or digits of one: without accents, and of an
 * address the part before the `@`. It may be reserved.
 */
const validName = (text: string): string =>
  text
    .replace(/(?<=.)@[^@\s]+$/, '')
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[ßæœøđłþ]/giu, (letter) => LETTERS[letter.toLowerCase()]!)
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/\.{2,}/g, '.')
    .replace(/^[._-]+/, '')
    .slice(0, NAME_LENGTH)
    .replace(/(?<![._-])[._-]+$/, '')
