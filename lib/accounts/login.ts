import { createHmac, randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { maxEntries } from '../caches.ts'
import type { Account } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'
import { clientOfAddress } from './client-address.ts'
import { accountByEmail, accountByName } from './find.ts'
import type { LoginAttempt, LoginThrottle } from './login-throttle.ts'
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
