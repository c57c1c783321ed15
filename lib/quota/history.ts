import { type DailyUsage, dailyUsages, type OwnerUsage, ownerUsages } from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'

/** Days since 1970-01-01 UTC. */
export const today = (): number => Math.floor(Date.now() / 86_400_000)

/** Days of history that are kept. */
export const HISTORY_DAYS = 400

/** Records that are checked for their age whenever one is added; more than one, because there are days without a record. */
const EXPIRY_BATCH = 3

/**
 * Saves the usage of an earlier day before the first change of a new day. The present record is exact for its own day and
 * for the days without a change after it, so further changes on the same day cost nothing.
 * @returns number of records in the history afterwards
 */
export const recordDay = async (
  tx: WriteContext,
  before: OwnerUsage | undefined,
  day: number,
): Promise<number> => {
  if (before === undefined) return 0
  const { days, ...past } = before
  if (before.day >= day) return days
  await dailyUsages.save(tx, past)
  const oldest = await readOldest(tx, before.owner, EXPIRY_BATCH)
  const expired = oldest.filter((usage) => usage.day < day - HISTORY_DAYS)
  for (const usage of expired) await dailyUsages.remove(tx, [usage.owner, usage.day])
  return days + 1 - expired.length
}

/** Usage at the end of each day on which it changed, oldest first, without the last such day. */
export const readHistory = async (tx: ReadTransaction, owner: number): Promise<DailyUsage[]> =>
  (await readOldest(tx, owner, Number.POSITIVE_INFINITY)).filter(({ day }) => day >= today() - HISTORY_DAYS)

/** Removes the history of a deleted owner, `limit` records at most. @returns how many were removed */
export const removeHistory = async (tx: WriteContext, owner: number, limit: number): Promise<number> => {
  const usage = await ownerUsages.get(tx, [owner])
  const past = await readOldest(tx, owner, limit)
  if (usage === undefined || past.length === 0) return 0
  for (const { day } of past) await dailyUsages.remove(tx, [owner, day])
  await ownerUsages.save(tx, { ...usage, days: usage.days - past.length })
  return past.length
}

const readOldest = async (tx: ReadTransaction, owner: number, limit: number): Promise<DailyUsage[]> => {
  const found: DailyUsage[] = []
  if (limit <= 0) return found
  for await (const usage of dailyUsages.all(tx, [owner])) if (found.push(usage) >= limit) break
  return found
}
