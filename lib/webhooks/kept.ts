/**
 * What is kept of deliveries, and how it is removed. Webhooks that send the same share a payload. Payloads
 * and the answers to them are counted for the user whom the webhooks act for, and what is kept for one user
 * is bounded. Webhooks are deleted at once with their repository or account; a job deletes their deliveries.
 */
import { now } from '../clock.ts'
import { type Check, check, type Recount } from '../integrity/index.ts'
import type { Jobs } from '../records/jobs.ts'
import { pause } from '../records/pacing.ts'
import { removeBelongings } from '../records/schema/belongings.ts'
import {
  type Delivery,
  deliveries,
  type Hook,
  type HookPayload,
  hookPayloads,
  hookQueues,
  hookStorage,
  hooks,
} from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'

/** Bytes of payloads and answers that are kept for one user. */
export const MAX_KEPT = 128 * 1024 * 1024
/** Deliveries that lose payload and answer for a new one at most, so that a transaction stays short. */
const MAX_DROPPED = 100

const sizeOf = ({ text }: Pick<HookPayload, 'text'>): number => Buffer.byteLength(text)
const sizeOfAnswer = ({ answer }: Delivery): number => Buffer.byteLength(answer)

const keptFor = async (tx: ReadTransaction, creator: number): Promise<number> =>
  (await hookStorage.get(tx, [creator]))?.bytes ?? 0

const count = async (tx: WriteContext, creator: number, change: number): Promise<void> => {
  if (change === 0) return
  const bytes = (await keptFor(tx, creator)) + change
  if (bytes === 0) await hookStorage.remove(tx, [creator])
  else await hookStorage.save(tx, { creator, bytes })
}

/**
 * Removes payloads and answers of the oldest finished deliveries of the user, as many as a new text needs.
 * @returns whether there is room for it
 */
export const makeRoom = async (
  tx: WriteContext,
  { creator, text }: Pick<HookPayload, 'creator' | 'text'>,
): Promise<boolean> => {
  const limit = MAX_KEPT - sizeOf({ text })
  if ((await keptFor(tx, creator)) <= limit) return true
  for (const delivery of await deliveries.list(tx, 'kept', { prefix: [creator], limit: MAX_DROPPED })) {
    await deliveries.save(tx, { ...delivery, payload: null, answer: '' })
    await release(tx, delivery)
    if ((await keptFor(tx, creator)) <= limit) return true
  }
  return false
}

export const addPayload = async (tx: WriteContext, payload: HookPayload): Promise<void> => {
  await hookPayloads.add(tx, payload)
  await count(tx, payload.creator, sizeOf(payload))
}

/** Saves the text of a payload with the commits of its push, unless another webhook or process has. */
export const completePayload = async (tx: WriteContext, id: string, text: string): Promise<void> => {
  const current = await hookPayloads.get(tx, [id])
  if (current?.commits === undefined) return
  const { commits: _, ...payload } = current
  await hookPayloads.replace(tx, current, { ...payload, text })
  await count(tx, payload.creator, sizeOf({ text }) - sizeOf(current))
}

/**
 * Counts the answer to a delivery in the place of an earlier one.
 * @returns the delivery, without the answer when there is no room for it
 */
export const withAnswer = async (tx: WriteContext, before: Delivery, after: Delivery): Promise<Delivery> => {
  const { creator } = before
  await count(tx, creator, -sizeOfAnswer(before))
  const isKept = await makeRoom(tx, { creator, text: after.answer })
  const kept = isKept ? after : { ...after, answer: '' }
  await count(tx, creator, sizeOfAnswer(kept))
  return kept
}

/** Removes a delivery, and its payload unless others have it. */
export const removeDelivery = async (tx: WriteContext, delivery: Delivery): Promise<void> => {
  await deliveries.remove(tx, [delivery.hook, delivery.number])
  await release(tx, delivery)
}

/** Removes the payload that a delivery had unless others have it, and the count of its answer. */
const release = async (tx: WriteContext, delivery: Delivery): Promise<void> => {
  const { creator, payload: id } = delivery
  await count(tx, creator, -sizeOfAnswer(delivery))
  if (id === null || (await deliveries.count(tx, 'payload', [id])) > 0) return
  const payload = await hookPayloads.get(tx, [id])
  if (payload === undefined) return
  await hookPayloads.remove(tx, [id])
  await count(tx, payload.creator, -sizeOf(payload))
}

/**
 * @param limit deliveries to delete in this transaction at most
 * @returns how many records were deleted
 */
export const removeHook = async (
  tx: WriteContext,
  jobs: Jobs,
  { id }: Hook,
  limit: number,
): Promise<number> => {
  await hooks.remove(tx, [id])
  await removeBelongings(tx, 'hook', id, 'now')
  return 1 + (await jobs.runNow(tx, 'removeDeliveries', id, limit))
}

const EXPIRED_BATCH = 100

/**
 * Removes deliveries that were finished long ago. Writes only when there are any.
 * @param keepForMs how long deliveries are kept
 */
export const removeExpired = async (store: Store, keepForMs: number, signal: AbortSignal): Promise<void> => {
  const limit = now() - keepForMs / 1000
  const expiredIn = async (tx: ReadTransaction) => {
    const oldest = await deliveries.list(tx, 'finished', { prefix: [], limit: EXPIRED_BATCH })
    return oldest.filter(({ finishedAt }) => finishedAt !== null && finishedAt < limit)
  }
  let removed = (await store.read(expiredIn)).length
  for (; removed > 0 && !signal.aborted; await pause(50, signal))
    removed = await store.write(async (tx) => {
      const expired = await expiredIn(tx)
      for (const delivery of expired) await removeDelivery(tx, delivery)
      return expired.length === EXPIRED_BATCH ? expired.length : 0
    })
}

const storedBytes: Recount = {
  name: 'bytes of payloads and answers for account',
  async repair(tx, [creator], bytes) {
    await hookStorage.save(tx, { creator: creator as number, bytes })
    return true
  },
}

/** Checks of webhooks and their deliveries. */
export const webhookChecks: readonly Check[] = [
  check(hookPayloads, (payload, store) => store.expect(storedBytes, [payload.creator], sizeOf(payload))),
  check(hookStorage, ({ creator, bytes }, store) => store.note(storedBytes, [creator], bytes)),
  check(deliveries, async (delivery, store) => {
    const { hook: id, number, payload, state } = delivery
    store.expect(storedBytes, [delivery.creator], sizeOfAnswer(delivery))
    if (payload !== null && !(await store.has(hookPayloads, [payload])))
      store.report(`delivery ${number} of webhook ${id} has a payload that does not exist`)
    const hook = await store.load(hooks, [id])
    if (hook === undefined) return
    const queue = await store.load(hookQueues, [id])
    const last = queue?.last ?? 0
    if (last < number) store.report(`webhook ${id} has delivery ${number}, but its last number is ${last}`)
    else if (state === 'waiting' && hook.active && queue?.nextAt === null)
      store.report(
        `delivery ${number} of webhook ${id} waits, but the webhook has no time at which it is due`,
      )
  }),
]
