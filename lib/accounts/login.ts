import { createHmac, randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { maxEntries } from '../caches.ts'
import { AllotError } from '../errors.ts'
import type { Account } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'
import { accountByEmail, accountByName } from './access.ts'
import { clientOfAddress } from './client-address.ts'
import { pretendToVerify, verifyPassword } from './passwords.ts'

/** Passwords that were right are taken for so long without scrypt, which is meant to be slow, but not for every request. */
const PROVEN = { ...maxEntries(1000), ttl: 5 * 60_000 }

/**
 * Signs in by name or email and password; undefined when they do not fit.
 * @throws AllotError too_many_requests, unavailable when too many passwords wait to be checked.
 */
export type Login = (attempt: LoginAttempt, password: string) => Promise<Account | undefined>

export const createLogin = (store: Store, attempts: LoginThrottle): Login => {
  const proven = new LRUCache<string, true>(PROVEN)
  const underWay = new Map<string, Promise<boolean>>()
  const key = randomBytes(32)

  /** The stored hash is part of the proof, so that a changed password is never answered from what is remembered. */
  const proofOf = (stored: string | null, login: string, password: string) =>
    createHmac('sha256', key)
      .update(JSON.stringify([stored ?? login, password]))
      .digest('base64')

  /** Requests that come at once with the same password share one derivation. */
  const verify = (
    proof: string,
    stored: string | null,
    password: string,
    address: string,
  ): Promise<boolean> => {
    const client = clientOfAddress(address)
    const right =
      stored === null ? pretendToVerify(password, client) : verifyPassword(password, stored, client)
    const settled = right.finally(() => underWay.delete(proof))
    underWay.set(proof, settled)
    return settled
  }

  const isRight = async (
    attempt: LoginAttempt,
    stored: string | null,
    password: string,
  ): Promise<boolean> => {
    attempts.check(attempt)
    const proof = proofOf(stored, attempt.login, password)
    if (proven.get(proof) === true) return true
    const same = underWay.get(proof)
    // A charge for each of many right ones that come at once would refuse the last of them.
    if (same !== undefined) {
      const right = await same
      if (!right) attempts.consume(attempt)
      return right
    }
    attempts.consume(attempt)
    let failed = false
    try {
      failed = !(await verify(proof, stored, password, attempt.address))
    } finally {
      if (!failed) attempts.refund(attempt)
    }
    if (!failed) proven.set(proof, true)
    return !failed
  }

  return async (attempt, password) => {
    const { login } = attempt
    const account = await store.read((tx) =>
      login.includes('@') ? accountByEmail(tx, login) : accountByName(tx, login),
    )
    if (!(await isRight(attempt, account?.password ?? null, password))) return undefined
    attempts.succeeded(attempt)
    return account
  }
}

/** How many failed logins are taken. The counts drain evenly: after `window` milliseconds without any, all are forgotten. */
export interface LoginLimits {
  window: number
  /** For one name from one address. */
  failures: number
  /** From one address, for whatever names. */
  failuresFromAddress: number
  /** For one name from all addresses together, above which each address may try only one at a time. */
  failuresForName: number
  /** Tokens from one address: they cannot be guessed, but each wrong one costs a look into the store. */
  wrongTokens: number
}

export interface LoginAttempt {
  /** The name or email as it was sent: to count by the account that it leads to would tell whose email it is. */
  readonly login: string
  readonly address: string
}

/**
 * Who may try another password. Nobody can lock out somebody else from afar: what one address does wrong counts against
 * that address, a name under attack still takes a first try from every other one, and where a name has signed in
 * before, neither its neighbours' failures nor the attack count.
 */
export interface LoginThrottle {
  /** @throws AllotError too_many_requests, with how long to wait. */
  check(attempt: LoginAttempt): void
  /** Counts a failure: before the password is looked at, so that a thousand guesses at once are not a thousand tries. */
  consume(attempt: LoginAttempt): void
  /** Takes back what was charged for what turned out to be no failure. */
  refund(attempt: LoginAttempt): void
  /** Remembers that the name has signed in from that address. */
  succeeded(attempt: LoginAttempt): void
  /** Counts a wrong token. Whoever has a right one is let in all the same. @throws AllotError too_many_requests */
  wrongToken(address: string): void
}

/** Of each count so many are kept, the latest ones: an attack must not fill the memory. */
const KEPT = 20_000
/** No name and no email is longer. */
const MAX_LENGTH = 255

export const createLoginThrottle = (limits: LoginLimits, now = () => performance.now()): LoginThrottle => {
  const { window } = limits
  const pairs = createDrain(limits.failures, window, now)
  const addresses = createDrain(limits.failuresFromAddress, window, now)
  const names = createDrain(limits.failuresForName, window, now)
  const tokens = createDrain(limits.wrongTokens, window, now)
  const trusted = new LRUCache<string, true>(maxEntries(KEPT))
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

/** For hosts that count elsewhere. */
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

/** Counts by key that drain at an even rate, from `allowed` to nothing in `window` milliseconds. */
const createDrain = (allowed: number, window: number, now: () => number) => {
  const counts = new LRUCache<string, { level: number; at: number }>(maxEntries(KEPT))
  const perMillisecond = allowed / window
  const levelOf = (key: string) => {
    const { level, at } = counts.get(key) ?? { level: 0, at: 0 }
    return Math.max(0, level - (now() - at) * perMillisecond)
  }
  return {
    /** Milliseconds until there is room for one more below `most`; not above 0 when there is. */
    wait: (key: string, most = allowed) => (levelOf(key) + 1 - most) / perMillisecond,
    add(key: string, count: number) {
      counts.set(key, { level: Math.min(allowed, Math.max(0, levelOf(key) + count)), at: now() })
    },
  }
}
