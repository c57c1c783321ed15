/**
 * The payloads of deliveries, which webhooks that send the same share, and the answers to them. They are
 * counted for the user whom the webhooks act for, and what is kept for one user is bounded.
 */
import {
  type Delivery,
  deliveries,
  type HookPayload,
  hookPayloads,
  hookStorage,
} from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'

/** Bytes of payloads and answers that are kept for one user. */
export const MAX_KEPT = 128 * 1024 * 1024
/** Deliveries that lose payload and answer for a new one at most, so that a transaction stays short. */
const MAX_DROPPED = 100

export const sizeOf = ({ text }: Pick<HookPayload, 'text'>): number => Buffer.byteLength(text)
export const sizeOfAnswer = ({ answer }: Delivery): number => Buffer.byteLength(answer)

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
