/** When a delivery is tried again, and when it is given up. */
import { now } from '../clock.ts'
import type { Delivery } from '../records/schema/index.ts'
import type { Outcome } from './post.ts'

/** Milliseconds before a retry; the pause doubles with each failure. */
const RETRY_MS = { first: 1000, last: 15 * 60_000 }

/** Milliseconds until the next attempt. */
export const pauseAfter = (attempts: number): number =>
  Math.min(RETRY_MS.first * 2 ** (attempts - 1), RETRY_MS.last)

/** The delivery after an attempt: delivered, waiting for the next one, or given up. */
export const afterAttempt = (before: Delivery, outcome: Outcome, retryForMs: number): Delivery => {
  const { isDelivered, status, answer, error, duration } = outcome
  const attempts = before.attempts + 1
  const attempted = { ...before, attempts, status, answer, error, duration }
  if (isDelivered) return { ...attempted, state: 'delivered', finishedAt: now() }
  const nextAt = Date.now() + pauseAfter(attempts)
  if (nextAt > before.createdAt * 1000 + retryForMs) return givenUp(attempted, error)
  return { ...attempted, nextAt }
}

export const givenUp = (delivery: Delivery, error: string): Delivery => ({
  ...delivery,
  error,
  state: 'failed',
  finishedAt: now(),
})
