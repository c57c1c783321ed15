/**
 * The payloads of deliveries: webhooks that send the same share one. Each is counted for the user whom its
 * webhooks act for, and what is kept for one user is bounded.
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

/** Bytes of payloads that are kept for one user. */
export const MAX_KEPT = 128 * 1024 * 1024
/** Deliveries that lose their payload for a new one at most, so that a transaction stays short. */
const MAX_DROPPED = 100

export const sizeOf = ({ text }: Pick<HookPayload, 'text'>): number => Buffer.byteLength(text)

const keptFor = async (tx: ReadTransaction, creator: number): Promise<number> =>
  (await hookStorage.get(tx, [creator]))?.bytes ?? 0

const count = async (tx: WriteContext, creator: number, change: number): Promise<void> => {
  const bytes = (await keptFor(tx, creator)) + change
  if (bytes === 0) await hookStorage.remove(tx, [creator])
  else await hookStorage.save(tx, { creator, bytes })
}

/**
 * Removes the payloads of the oldest finished deliveries of the user, as many as a new payload needs.
 * @returns whether there is room for it
 */
export const makeRoom = async (tx: WriteContext, payload: HookPayload): Promise<boolean> => {
  const { creator } = payload
  const limit = MAX_KEPT - sizeOf(payload)
  if ((await keptFor(tx, creator)) <= limit) return true
  for (const delivery of await deliveries.list(tx, 'kept', { prefix: [creator], limit: MAX_DROPPED })) {
    await deliveries.save(tx, { ...delivery, payload: null })
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

/** Removes a delivery, and its payload unless others have it. */
export const removeDelivery = async (tx: WriteContext, delivery: Delivery): Promise<void> => {
  await deliveries.remove(tx, [delivery.hook, delivery.number])
  await release(tx, delivery)
}

/** Removes the payload that a delivery had unless others have it. */
const release = async (tx: WriteContext, { payload: id }: Delivery): Promise<void> => {
  if (id === null || (await deliveries.count(tx, 'payload', [id])) > 0) return
  const payload = await hookPayloads.get(tx, [id])
  if (payload === undefined) return
  await hookPayloads.remove(tx, [id])
  await count(tx, payload.creator, -sizeOf(payload))
}
