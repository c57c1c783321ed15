/**
 * The deliveries of a webhook that wait: they are sent one after another, in the order of their numbers.
 * Invariant: an active webhook with a waiting delivery has the time at which the first of them is due.
 */
import { randomUUID } from 'node:crypto'
import { now } from '../clock.ts'
import { paced } from '../records/pacing.ts'
import { type Delivery, deliveries, type Hook, type HookQueue, hookQueues } from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import type { EventParts } from './events.ts'
import { withAnswer } from './kept.ts'
import type { Outcome } from './post.ts'

/** Milliseconds before a retry; the pause doubles with each failure. */
const RETRY_MS = { first: 1000, last: 15 * 60_000 }

const pauseAfter = (attempts: number): number => Math.min(RETRY_MS.first * 2 ** (attempts - 1), RETRY_MS.last)

/** Deliveries of one webhook that can wait; beyond it, events are not recorded. */
export const MAX_WAITING = 100_000
/** How many deliveries are added between two checks of that limit. */
const CHECK_INTERVAL = 64

export type Content = EventParts & Pick<Delivery, 'payload'>

const firstOf = async (tx: ReadTransaction, hook: number): Promise<Delivery | undefined> =>
  (await deliveries.list(tx, 'waiting', { prefix: [hook], limit: 1 }))[0]

/**
 * Adds a delivery behind those that wait.
 * @returns undefined when too many wait
 */
export const enqueue = async (
  tx: WriteContext,
  { id: hook, creator }: Hook,
  content: Content,
  repeated?: Pick<Delivery, 'uuid' | 'number'>,
): Promise<Delivery | undefined> => {
  const queue = await hookQueues.get(tx, [hook])
  const number = (queue?.last ?? 0) + 1
  const first = number % CHECK_INTERVAL === 0 ? await firstOf(tx, hook) : undefined
  if (first !== undefined && number - first.number > MAX_WAITING) return undefined
  await hookQueues.replace(tx, queue, { hook, last: number, nextAt: queue?.nextAt ?? Date.now() })
  const uuid = repeated?.uuid ?? randomUUID()
  const attempted = { attempts: 0, nextAt: 0, duration: null, status: null, answer: '', error: '' }
  const repeats = repeated?.number ?? null
  const times = { createdAt: now(), finishedAt: null }
  const added = { hook, creator, number, uuid, ...content, repeats, ...attempted, ...times }
  const delivery: Delivery = { ...added, state: 'waiting' }
  await deliveries.add(tx, delivery)
  return delivery
}

/**
 * Makes the first waiting delivery of an active webhook due, and holds those of an inactive one. An attempt
 * in progress notices the other time.
 */
export const makeDue = async (tx: WriteContext, { id, active }: Hook): Promise<void> => {
  const [queue, first] = [await hookQueues.get(tx, [id]), await firstOf(tx, id)]
  if (queue === undefined || first === undefined) return
  const time = Date.now()
  const nextAt = active ? (time === queue.nextAt ? time - 1 : time) : null
  await hookQueues.replace(tx, queue, { ...queue, nextAt })
  if (nextAt !== null) await deliveries.replace(tx, first, { ...first, nextAt })
}

/**
 * Ids of the webhooks whose first delivery is due, and when the next one will be. A time that is further away
 * than any pause is due, too: the clock was set back.
 */
export const dueHooks = async (tx: ReadTransaction): Promise<{ ids: number[]; nextAt?: number }> => {
  const [ids, time] = [[] as number[], Date.now()]
  const from = (at: number) => paced(hookQueues.entries(tx, 'due', { prefix: [], from: [at] }))
  for await (const entry of from(time + RETRY_MS.last + 1)) ids.push(hookQueues.numberOf(entry))
  for await (const entry of from(0)) {
    const [nextAt] = hookQueues.orderOf(entry) as [number]
    if (nextAt > time) return { ids, nextAt }
    ids.push(hookQueues.numberOf(entry))
  }
  return { ids }
}

/** The delivery of a webhook that is due, if any is. */
export const dueDelivery = async (
  tx: ReadTransaction,
  hook: number,
): Promise<{ queue: HookQueue; delivery: Delivery | undefined } | undefined> => {
  const queue = await hookQueues.get(tx, [hook])
  if (queue === undefined || queue.nextAt === null) return undefined
  const delivery = await firstOf(tx, hook)
  const waitMs = queue.nextAt - Date.now()
  return waitMs > 0 && waitMs <= pauseAfter(delivery?.attempts ?? 1) ? undefined : { queue, delivery }
}

/** The delivery after an attempt: delivered, waiting for the next one, or given up. */
export const afterAttempt = (before: Delivery, outcome: Outcome, retryForMs: number): Delivery => {
  const { isDelivered, ...result } = outcome
  const attempted = { ...before, ...result, attempts: before.attempts + 1 }
  if (isDelivered) return { ...attempted, state: 'delivered', finishedAt: now() }
  const nextAt = Date.now() + pauseAfter(attempted.attempts)
  if (nextAt > before.createdAt * 1000 + retryForMs) return givenUp(attempted, outcome.error)
  return { ...attempted, nextAt }
}

export const givenUp = (delivery: Delivery, error: string): Delivery => ({
  ...delivery,
  error,
  state: 'failed',
  finishedAt: now(),
})

/**
 * Saves an attempt, and when the next one is due. After {@link makeDue} meanwhile, a delivery that was not
 * delivered is still due.
 * @param queue as it was before the attempt
 * @param after undefined when nothing was waiting
 * @returns when the webhook's next attempt is due; null when none is
 */
export const settle = async (
  tx: WriteContext,
  { hook, nextAt: before }: HookQueue,
  after: Delivery | undefined,
): Promise<number | null> => {
  const queue = await hookQueues.get(tx, [hook])
  if (queue === undefined) return null
  const isChanged = queue.nextAt !== before
  const current = after && (await deliveries.get(tx, [hook, after.number]))
  if (after !== undefined && current?.state === 'waiting') {
    const isDue = isChanged && after.state !== 'delivered'
    const again = isDue ? { state: current.state, finishedAt: null, nextAt: current.nextAt } : {}
    await deliveries.replace(tx, current, { ...(await withAnswer(tx, current, after)), ...again })
  }
  if (isChanged) return queue.nextAt
  const first = await firstOf(tx, hook)
  const nextAt = first === undefined ? null : Math.max(Date.now(), first.nextAt)
  await hookQueues.replace(tx, queue, { ...queue, nextAt })
  return nextAt
}
