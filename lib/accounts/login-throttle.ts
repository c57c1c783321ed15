import { LRUCache } from 'lru-cache'
import { maxEntries } from '../caches.ts'
import { AllotError, NAME_LIMIT } from '../errors.ts'

/**
 * Failed logins that are allowed. Counts drain at an even rate and are zero after `window` milliseconds
 * without a failure.
 */
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

export interface LoginAttempt {
  /** The name or email as it was sent. Counting by account would reveal which account an email belongs to. */
  readonly login: string
  readonly address: string
}

/** Counts that are kept of each kind, so that an attack cannot fill the memory. */
const MAX_COUNTS = 20_000

/**
 * Limits failed logins. An attacker cannot lock out a user: failures count against the address that they come
 * from, a name under attack accepts a first attempt from every other address, and an address from which the
 * name has signed in before is limited by its own failures only. Each process has counts of its own
 * (docs/scale.md).
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

  /**
   * Counts a failure. Called before the password is checked, so that concurrent guesses cannot exceed the
   * limit.
   * @returns takes back what was counted, for an attempt that did not fail
   */
  consume(attempt: LoginAttempt): () => void {
    const refunds = [
      this.#pairs.add(pairOf(attempt)),
      this.#addresses.add(attempt.address),
      this.#names.add(nameOf(attempt.login)),
    ]
    return () => {
      for (const refund of refunds) refund()
    }
  }

  /** Remembers that the name has signed in from the address. */
  succeeded(attempt: LoginAttempt): void {
    this.#trusted.set(pairOf(attempt), true)
  }

  /**
   * Counts an unknown token; known tokens are never limited.
   * @throws AllotError too_many_requests
   */
  wrongToken(address: string): void {
    refuseFor(this.#wrongTokens.wait(address))
    this.#wrongTokens.add(address)
  }
}

const nameOf = (login: string) => login.slice(0, NAME_LIMIT).toLowerCase()
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

  /**
   * Counts one, or less when the count is nearly full.
   * @returns takes back as much
   */
  add(key: string): () => void {
    const level = this.#levelOf(key)
    const added = Math.min(this.#allowed - level, 1)
    this.#set(key, level + added)
    return () => this.#set(key, this.#levelOf(key) - added)
  }

  #set(key: string, level: number): void {
    this.#counts.set(key, { level: Math.max(0, level), time: this.#now() })
  }

  #levelOf(key: string): number {
    const { level, time } = this.#counts.get(key) ?? { level: 0, time: 0 }
    return Math.max(0, level - (this.#now() - time) * this.#perMillisecond)
  }
}
