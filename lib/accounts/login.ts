import { createHmac, randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { LRUCache } from 'lru-cache'
import { maxEntries } from '../caches.ts'
import { ClientBudget } from '../client-budget.ts'
import { clientOfAddress } from '../clients.ts'
import { invalidMember } from '../errors.ts'
import type { Account } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'
import { accountByEmail, accountByName } from './find.ts'
import type { LoginAttempt, LoginThrottle } from './login-throttle.ts'

/**
 * Correct passwords are accepted for this time without scrypt, which is slow on purpose, but not for every
 * request.
 */
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
   * @throws AllotError too_many_requests after too many failures, unavailable when too many passwords wait to
   * be checked
   */
  async signIn(attempt: LoginAttempt, password: string): Promise<Account | undefined> {
    const { login, address } = attempt
    const account = await this.#store.read(
      (tx) => (login.includes('@') ? accountByEmail(tx, login) : accountByName(tx, login)),
      `login ${login} ${address}`,
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
      // Counting concurrent requests before the outcome is known would refuse some that have the correct
      // password.
      const isCorrect = await running
      if (!isCorrect) this.#throttle?.consume(attempt)
      return isCorrect
    }
    const refund = this.#throttle?.consume(attempt)
    let isWrong = false
    try {
      isWrong = !(await this.#verify(proof, stored, password, clientOfAddress(attempt.address)))
    } finally {
      if (!isWrong) refund?.()
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

/** A derivation takes 32 MiB and a thread of libuv's pool, which file reads need too. */
const budget = new ClientBudget({
  slots: 2,
  queue: 200,
  message: 'too many passwords are being checked at this moment: try again',
})

/** Client name for work that does not belong to a request. */
const HOST_CLIENT = 'host'

/** How long the host and administrators wait, whose scripts may create many accounts at once. */
const ADMINISTRATOR_WAIT_MS = 30_000

/** Who hashes a password. */
interface HashOptions {
  /** Client whose budget the derivation counts against; absent: the host. */
  client?: string | undefined
  /** Whether the host or an administrator sets the password, who waits up to 30 seconds for a turn. */
  isAdministrative?: boolean
  /** Runs before the derivation begins; when it throws, nothing is derived. */
  check?: (() => Promise<unknown>) | undefined
}

/** Of new hashes. Specs lower `N`, since each hash takes 0.1 s of a processor. */
export const COSTS = { N: 2 ** 15, r: 8, p: 1 }
const HASH_LENGTH = 32

/**
 * Hashes a password as `scrypt$N$r$p$salt$hash`, salt and hash in base64.
 * @throws AllotError unavailable when too many derivations wait: within 2 seconds, or within 30 for an
 * administrator
 */
export const hashPassword = async (password: string, options: HashOptions = {}): Promise<string> => {
  const { client = HOST_CLIENT, isAdministrative, check } = options
  const salt = randomBytes(16)
  const work = async () => {
    await check?.()
    return derive(password, salt, HASH_LENGTH, COSTS)
  }
  const hash = await budget.run(client, work, isAdministrative ? { maxWaitMs: ADMINISTRATOR_WAIT_MS } : {})
  return ['scrypt', ...Object.values(COSTS), salt.toString('base64'), hash.toString('base64')].join('$')
}

/**
 * @param stored null for an unknown name. It takes as long as a wrong password, so that the response time
 *   does not reveal which names exist.
 * @throws AllotError as `hashPassword` does
 */
const verifyPassword = async (password: string, stored: string | null, client: string): Promise<boolean> => {
  if (stored === null) return hashPassword(password, { client }).then(() => false)
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

/**
 * Characters of the shortest password that can be set. The comments of exports and the help of commands name
 * it, too.
 */
export const MIN_PASSWORD_LENGTH = 8
/** As in Gitea and Forgejo. */
const MAX_PASSWORD_LENGTH = 255

/**
 * Refuses passwords that are too short or too long.
 * @throws AllotError invalid
 */
export const checkPassword = (password: string): string => {
  if (password.length < MIN_PASSWORD_LENGTH)
    throw invalidMember('password', `must have at least ${MIN_PASSWORD_LENGTH} characters`)
  if (password.length > MAX_PASSWORD_LENGTH)
    throw invalidMember('password', `must have at most ${MAX_PASSWORD_LENGTH} characters`)
  return password
}
