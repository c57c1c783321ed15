/** Webhooks are deleted at once with their repository or account. A job deletes their deliveries. */
import { now } from '../clock.ts'
import type { Jobs } from '../records/jobs.ts'
import { pause } from '../records/pacing.ts'
import { removeBelongings } from '../records/schema/belongings.ts'
import { deliveries, type Hook, hooks } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { removeDelivery } from './payload-store.ts'

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
