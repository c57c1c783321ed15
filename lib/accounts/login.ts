import { createHmac, randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { LRUCache } from 'lru-cache'
import { maxEntries } from '../caches.ts'
import { ClientBudget } from '../client-budget.ts'
import { clientOfAddress } from '../clients.ts'
import { AllotError, invalid } from '../errors.ts'
import type { Account } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'
import { accountByEmail, accountByName } from './access.ts'

/** Correct passwords are accepted for this time without scrypt, which is slow on purpose, but not for every request. */
const VERIFIED_CACHE = { ...maxEntries(1000), ttl: 5 * 60_000 }

/** Signs in by name or email and password. */
export class PasswordLogin {
  readonly #store: Store
  readonly #throttle: LoginThrottle | undefined
  readonly #verified = new LRUCache<string, true>(VERIFIED_CACHE)
  /** Derivations that are running: concurrent requests with the same password share one. */
  readonly #running = new Map<string, Promise<boolean>>()
  readonly #proofKey = randomBytes(32)

  /** @param throttle undefined: the host limits failed logins itself */
  constructor(store: Store, throttle: LoginThrottle | undefined) {
    this.#store = store
    this.#throttle = throttle
  }

  /**
   * @returns undefined when no account has this name or email with this password
   * @throws AllotError too_many_requests after too many failures, unavailable when too many passwords wait to be checked
   */
  async signIn(attempt: LoginAttempt, password: string): Promise<Account | undefined> {
    const { login } = attempt
    const account = await this.#store.read((tx) =>
      login.includes('@') ? accountByEmail(tx, login) : accountByName(tx, login),
    )
    if (!(await this.#isCorrect(attempt, account?.password ?? null, password))) return undefined
    this.#throttle?.succeeded(attempt)
    return account
  }

  async #isCorrect(attempt: LoginAttempt, stored: string | null, password: string): Promise<boolean> {
    this.#throttle?.check(attempt)
    const proof = this.#proofOf(stored, attempt.login, password)
    if (this.#verified.get(proof) === true) return true
    const running = this.#running.get(proof)
    if (running !== undefined) {
      // Counting concurrent requests before the outcome is known would refuse some that have the correct password.
      const isCorrect = await running
      if (!isCorrect) this.#throttle?.consume(attempt)
      return isCorrect
    }
    this.#throttle?.consume(attempt)
    let isWrong = false
    try {
      isWrong = !(await this.#verify(proof, stored, password, clientOfAddress(attempt.address)))
    } finally {
      if (!isWrong) this.#throttle?.refund(attempt)
    }
    if (!isWrong) this.#verified.set(proof, true)
    return !isWrong
  }

  #verify(proof: string, stored: string | null, password: string, client: string): Promise<boolean> {
    const settled = verifyPassword(password, stored, client).finally(() => this.#running.delete(proof))
    this.#running.set(proof, settled)
    return settled
  }

  /** Cache key of a password. It includes the stored hash, so that a changed password misses the cache. */
  #proofOf(stored: string | null, login: string, password: string): string {
    const text = JSON.stringify([stored ?? login, password])
    return createHmac('sha256', this.#proofKey).update(text).digest('base64')
  }
}

/** Failed logins that are allowed. Counts drain at an even rate and are zero after `window` milliseconds without a failure. */
export interface LoginLimits {
  window: number
  /** Failures for one name from one address. */
  failures: number
  /** Failures from one address, for all names together. */
  failuresFromAddress: number
  /** Failures for one name from all addresses together; above it, each address may fail only once. */
  failuresForName: number
  /** Unknown tokens from one address. They cannot be guessed, but each of them costs a read. */
  wrongTokens: number
}

interface LoginAttempt {
  /** The name or email as it was sent. Counting by account would reveal which account an email belongs to. */
  readonly login: string
  readonly address: string
}

/** Counts that are kept of each kind, so that an attack cannot fill the memory. */
const MAX_COUNTS = 20_000
/** Longest name or email. */
const MAX_LENGTH = 255

/**
 * Limits failed logins. An attacker cannot lock out a user: failures count against the address that they come from, a name
 * under attack accepts a first attempt from every other address, and an address from which the name has signed in before
 * is limited by its own failures only. Each process has counts of its own (docs/scale.md).
 */
export class LoginThrottle {
  readonly #limits: LoginLimits
  readonly #pairs: LeakyCounts
  readonly #addresses: LeakyCounts
  readonly #names: LeakyCounts
  readonly #wrongTokens: LeakyCounts
  /** Pairs of names and addresses that have signed in. */
  readonly #trusted = new LRUCache<string, true>(maxEntries(MAX_COUNTS))

  constructor(limits: LoginLimits, now = () => performance.now()) {
    const counts = (allowed: number) => new LeakyCounts(allowed, limits.window, now)
    this.#limits = limits
    this.#pairs = counts(limits.failures)
    this.#addresses = counts(limits.failuresFromAddress)
    this.#names = counts(limits.failuresForName)
    this.#wrongTokens = counts(limits.wrongTokens)
  }

  /** @throws AllotError too_many_requests with `retryAfter` */
  check(attempt: LoginAttempt): void {
    const pair = pairOf(attempt)
    if (this.#trusted.has(pair)) return refuseFor(this.#pairs.wait(pair))
    const isAttacked = this.#names.wait(nameOf(attempt.login)) > 0
    const ofPair = this.#pairs.wait(pair, isAttacked ? 1 : this.#limits.failures)
    refuseFor(Math.max(ofPair, this.#addresses.wait(attempt.address)))
  }

  /** Counts a failure. Called before the password is checked, so that concurrent guesses cannot exceed the limit. */
  consume(attempt: LoginAttempt): void {
    this.#add(attempt, 1)
  }

  /** Takes back the count of an attempt that did not fail. */
  refund(attempt: LoginAttempt): void {
    this.#add(attempt, -1)
  }

  /** Remembers that the name has signed in from the address. */
  succeeded(attempt: LoginAttempt): void {
    this.#trusted.set(pairOf(attempt), true)
  }

  /** Counts an unknown token; known tokens are never limited. @throws AllotError too_many_requests */
  wrongToken(address: string): void {
    refuseFor(this.#wrongTokens.wait(address))
    this.#wrongTokens.add(address, 1)
  }

  #add(attempt: LoginAttempt, count: 1 | -1): void {
    this.#pairs.add(pairOf(attempt), count)
    this.#addresses.add(attempt.address, count)
    this.#names.add(nameOf(attempt.login), count)
  }
}

const nameOf = (login: string) => login.slice(0, MAX_LENGTH).toLowerCase()
const pairOf = ({ login, address }: LoginAttempt) => `${address} ${nameOf(login)}`

const refuseFor = (wait: number): void => {
  if (wait <= 0) return
  const seconds = Math.ceil(wait / 1000)
  throw new AllotError('too_many_requests', `too many failed logins: try again in ${seconds} seconds`, {
    retryAfter: seconds,
  })
}

/** Counts by key (leaky bucket): a count drains from `allowed` to zero in `window` milliseconds. */
class LeakyCounts {
  readonly #counts = new LRUCache<string, { level: number; time: number }>(maxEntries(MAX_COUNTS))
  readonly #allowed: number
  readonly #perMillisecond: number
  readonly #now: () => number

  constructor(allowed: number, window: number, now: () => number) {
    this.#allowed = allowed
    this.#perMillisecond = allowed / window
    this.#now = now
  }

  /** Milliseconds until one more fits below the limit; 0 or less when it fits now. */
  wait(key: string, limit = this.#allowed): number {
    return (this.#levelOf(key) + 1 - limit) / this.#perMillisecond
  }

  add(key: string, count: number): void {
    const level = Math.min(this.#allowed, Math.max(0, this.#levelOf(key) + count))
    this.#counts.set(key, { level, time: this.#now() })
  }

  #levelOf(key: string): number {
    const { level, time } = this.#counts.get(key) ?? { level: 0, time: 0 }
    return Math.max(0, level - (this.#now() - time) * this.#perMillisecond)
  }
}

/** A derivation takes 32 MiB and a thread of libuv's pool, which file reads need too. */
const budget = new ClientBudget({
  slots: 2,
  queue: 50,
  message: 'too many passwords are being checked at this moment: try again',
})

/** Client name for work that does not belong to a request. */
const HOST = 'host'

const COSTS = { N: 2 ** 15, r: 8, p: 1 }
const HASH_LENGTH = 32

/**
 * Hashes a password as `scrypt$N$r$p$salt$hash`, salt and hash in base64.
 * @param client the client whose budget the derivation counts against; absent: the host
 * @param check runs before the derivation begins; when it throws, nothing is derived
 * @throws AllotError unavailable within 2 seconds when too many derivations wait
 */
export const hashPassword = async (
  password: string,
  client = HOST,
  check?: () => Promise<unknown>,
): Promise<string> => {
  const salt = randomBytes(16)
  const hash = await budget.run(client, async () => {
    await check?.()
    return derive(password, salt, HASH_LENGTH, COSTS)
  })
  return ['scrypt', ...Object.values(COSTS), salt.toString('base64'), hash.toString('base64')].join('$')
}

/**
 * @param stored null for an unknown name. It takes as long as a wrong password, so that the response time does not reveal
 *   which names exist.
 * @throws AllotError as `hashPassword` does
 */
const verifyPassword = async (password: string, stored: string | null, client: string): Promise<boolean> => {
  if (stored === null) return hashPassword(password, client).then(() => false)
  const [, N, r, p, salt, hash] = stored.split('$')
  const expected = Buffer.from(hash!, 'base64')
  const costs = { N: Number(N), r: Number(r), p: Number(p) }
  const actual = await budget.run(client, () =>
    derive(password, Buffer.from(salt!, 'base64'), expected.length, costs),
  )
  return timingSafeEqual(actual, expected)
}

const derive = (password: string, salt: Buffer, length: number, costs: typeof COSTS): Promise<Buffer> =>
  scryptAsync(password.normalize('NFKC'), salt, length, { ...costs, maxmem: 256 * costs.N * costs.r })

const scryptAsync = promisify<string, Buffer, number, object, Buffer>(scrypt)

/** Refuses passwords beyond 255 characters, as Gitea and Forgejo do. @throws AllotError invalid */
export const checkPassword = (password: string): string => {
  if (password.length < 8) throw invalid('password: must have at least 8 characters')
  if (password.length > 255) throw invalid('password: must have at most 255 characters')
  return password
}
