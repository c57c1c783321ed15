import { createHmac, randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { LRUCache } from 'lru-cache'
import { maxEntries } from '../caches.ts'
import { ClientBudget, clientOfAddress } from '../clients.ts'
import { AllotError } from '../errors.ts'
import type { Account } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'
import { accountByEmail, accountByName } from './access.ts'

/** Correct passwords are accepted for this time without scrypt, which is slow on purpose, but not for every request. */
const VERIFIED_CACHE = { ...maxEntries(1000), ttl: 5 * 60_000 }

/**
 * Signs in by name or email and password.
 * @returns undefined when no account has this name or email with this password
 * @throws AllotError too_many_requests after too many failures, unavailable when too many passwords wait to be checked
 */
export type Login = (attempt: LoginAttempt, password: string) => Promise<Account | undefined>

export const createLogin = (store: Store, attempts: LoginThrottle): Login => {
  const verified = new LRUCache<string, true>(VERIFIED_CACHE)
  const inFlight = new Map<string, Promise<boolean>>()
  const key = randomBytes(32)

  /** Cache key of a password. It includes the stored hash, so that a changed password misses the cache. */
  const proofOf = (stored: string | null, login: string, password: string) =>
    createHmac('sha256', key)
      .update(JSON.stringify([stored ?? login, password]))
      .digest('base64')

  /** Concurrent requests with the same password share one derivation, see `isCorrect`. */
  const verify = (
    proof: string,
    stored: string | null,
    password: string,
    address: string,
  ): Promise<boolean> => {
    const client = clientOfAddress(address)
    const verification =
      stored === null ? pretendToVerify(password, client) : verifyPassword(password, stored, client)
    const settled = verification.finally(() => inFlight.delete(proof))
    inFlight.set(proof, settled)
    return settled
  }

  const isCorrect = async (
    attempt: LoginAttempt,
    stored: string | null,
    password: string,
  ): Promise<boolean> => {
    attempts.check(attempt)
    const proof = proofOf(stored, attempt.login, password)
    if (verified.get(proof) === true) return true
    const shared = inFlight.get(proof)
    if (shared !== undefined) {
      // Counting concurrent requests before the outcome is known would refuse some that have the correct password.
      const isShared = await shared
      if (!isShared) attempts.consume(attempt)
      return isShared
    }
    attempts.consume(attempt)
    let isWrong = false
    try {
      isWrong = !(await verify(proof, stored, password, attempt.address))
    } finally {
      if (!isWrong) attempts.refund(attempt)
    }
    if (!isWrong) verified.set(proof, true)
    return !isWrong
  }

  return async (attempt, password) => {
    const { login } = attempt
    const account = await store.read((tx) =>
      login.includes('@') ? accountByEmail(tx, login) : accountByName(tx, login),
    )
    if (!(await isCorrect(attempt, account?.password ?? null, password))) return undefined
    attempts.succeeded(attempt)
    return account
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

/**
 * Limits failed logins. An attacker cannot lock out a user: failures count against the address that they come from, a name
 * under attack accepts a first attempt from every other address, and an address from which the name has signed in before
 * is limited by its own failures only.
 */
export interface LoginThrottle {
  /** @throws AllotError too_many_requests with `retryAfter` */
  check(attempt: LoginAttempt): void
  /** Counts a failure. Called before the password is checked, so that concurrent guesses cannot exceed the limit. */
  consume(attempt: LoginAttempt): void
  /** Takes back the count of an attempt that did not fail. */
  refund(attempt: LoginAttempt): void
  /** Remembers that the name has signed in from the address. */
  succeeded(attempt: LoginAttempt): void
  /** Counts an unknown token; known tokens are never limited. @throws AllotError too_many_requests */
  wrongToken(address: string): void
}

/** Counts that are kept of each kind, so that an attack cannot fill the memory. */
const MAX_COUNTS = 20_000
/** Longest name or email. */
const MAX_LENGTH = 255

export const createLoginThrottle = (limits: LoginLimits, now = () => performance.now()): LoginThrottle => {
  const { window } = limits
  const pairs = createDrain(limits.failures, window, now)
  const addresses = createDrain(limits.failuresFromAddress, window, now)
  const names = createDrain(limits.failuresForName, window, now)
  const tokens = createDrain(limits.wrongTokens, window, now)
  const trusted = new LRUCache<string, true>(maxEntries(MAX_COUNTS))
  const add = ({ login, address }: LoginAttempt, count: 1 | -1) => {
    pairs.add(pairOf({ login, address }), count)
    addresses.add(address, count)
    names.add(nameOf(login), count)
  }

  return {
    check(attempt) {
      const pair = pairOf(attempt)
      if (trusted.has(pair)) return refuseFor(pairs.wait(pair))
      const isAttacked = names.wait(nameOf(attempt.login)) > 0
      refuseFor(Math.max(pairs.wait(pair, isAttacked ? 1 : limits.failures), addresses.wait(attempt.address)))
    },
    consume: (attempt) => add(attempt, 1),
    refund: (attempt) => add(attempt, -1),
    succeeded: (attempt) => void trusted.set(pairOf(attempt), true),
    wrongToken(address) {
      refuseFor(tokens.wait(address))
      tokens.add(address, 1)
    },
  }
}

/** For hosts that limit failures themselves. */
export const noLoginThrottle: LoginThrottle = {
  check: () => undefined,
  consume: () => undefined,
  refund: () => undefined,
  succeeded: () => undefined,
  wrongToken: () => undefined,
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
const createDrain = (allowed: number, window: number, now: () => number) => {
  const counts = new LRUCache<string, { level: number; time: number }>(maxEntries(MAX_COUNTS))
  const perMillisecond = allowed / window
  const levelOf = (key: string) => {
    const { level, time } = counts.get(key) ?? { level: 0, time: 0 }
    return Math.max(0, level - (now() - time) * perMillisecond)
  }
  return {
    /** Milliseconds until one more fits below the limit; 0 or less when it fits now. */
    wait: (key: string, limit = allowed) => (levelOf(key) + 1 - limit) / perMillisecond,
    add(key: string, count: number) {
      counts.set(key, { level: Math.min(allowed, Math.max(0, levelOf(key) + count)), time: now() })
    },
  }
}

const derive = promisify<string, Buffer, number, object, Buffer>(scrypt)

const COST = 2 ** 15
const BLOCK_SIZE = 8
const PARALLEL = 1
const LENGTH = 32

/** A derivation takes 32 MiB and a thread of libuv's pool, which file reads need too. */
const budget = new ClientBudget({
  slots: 2,
  queue: 50,
  message: 'too many passwords are being checked at this moment: try again',
})

/** Client name for work that does not belong to a request. */
export const HOST = 'host'

/**
 * Hashes a password as `scrypt$N$r$p$salt$hash`, salt and hash in base64.
 * @param client the client whose budget the derivation counts against
 * @param check runs before the derivation begins; when it throws, nothing is derived
 * @throws AllotError unavailable within 2 seconds when too many derivations wait
 */
export const hashPassword = async (
  password: string,
  client: string,
  check: () => Promise<unknown> = async () => undefined,
): Promise<string> => {
  const salt = randomBytes(16)
  const hash = await budget.run(client, async () => {
    await check()
    return deriveWith(password, salt, COST, BLOCK_SIZE, PARALLEL, LENGTH)
  })
  return ['scrypt', COST, BLOCK_SIZE, PARALLEL, salt.toString('base64'), hash.toString('base64')].join('$')
}

/** @throws AllotError as `hashPassword` does */
export const verifyPassword = async (password: string, stored: string, client: string): Promise<boolean> => {
  const [, cost, blockSize, parallel, salt, hash] = stored.split('$')
  const expected = Buffer.from(hash!, 'base64')
  const actual = await budget.run(client, () =>
    deriveWith(
      password,
      Buffer.from(salt!, 'base64'),
      Number(cost),
      Number(blockSize),
      Number(parallel),
      expected.length,
    ),
  )
  return timingSafeEqual(actual, expected)
}

/** Takes as long as a wrong password, so that the response time does not reveal which names exist. */
export const pretendToVerify = async (password: string, client: string): Promise<false> => {
  await hashPassword(password, client)
  return false
}

const deriveWith = (password: string, salt: Buffer, N: number, r: number, p: number, length: number) =>
  derive(password.normalize('NFKC'), salt, length, { N, r, p, maxmem: 256 * N * r })
