import { type DailyUsage, dailyUsages, type OwnerUsage, ownerUsages } from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/driver.ts'

/** Days since 1970, of UTC. */
export const today = (): number => Math.floor(Date.now() / 86_400_000)

/** So many days back is known what an owner used; of what is older nothing is kept. */
export const HISTORY_DAYS = 400

/** With each day that comes to the series one falls out of it, and some more where there were days without a change. */
const FALLING = 3

/**
 * Before usage changes for the first time on a day, what it was is kept as what it came to on the day of the change
 * before: exact, and on days without a change it was the same. Every other change of the day costs nothing.
 * @returns how many days are kept then
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
  const fallen = (await first(tx, before.owner, FALLING)).filter((one) => one.day < day - HISTORY_DAYS)
  for (const one of fallen) await dailyUsages.remove(tx, [one.owner, one.day])
  return days + 1 - fallen.length
}

/** What an owner used at the end of days on which that changed, the oldest first; without the last such day. */
export const readHistory = async (tx: ReadTransaction, owner: number): Promise<DailyUsage[]> =>
  (await first(tx, owner, Number.POSITIVE_INFINITY)).filter(({ day }) => day >= today() - HISTORY_DAYS)

/** Of an owner that is gone, at most so many. @returns how many */
export const removeHistory = async (tx: WriteContext, owner: number, limit: number): Promise<number> => {
  const usage = await ownerUsages.get(tx, [owner])
  const past = await first(tx, owner, limit)
  if (usage === undefined || past.length === 0) return 0
  for (const { day } of past) await dailyUsages.remove(tx, [owner, day])
  await ownerUsages.save(tx, { ...usage, days: usage.days - past.length })
  return past.length
}

const first = async (tx: ReadTransaction, owner: number, most: number): Promise<DailyUsage[]> => {
  const found: DailyUsage[] = []
  if (most <= 0) return found
  for await (const past of dailyUsages.all(tx, [owner])) if (found.push(past) >= most) break
  return found
}
