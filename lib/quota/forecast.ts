/** How usage grew, and when a limit is reached if it keeps growing at that rate. */
import { compare, type Sum, subtract } from '../integers.ts'
import type { DailyUsage } from '../records/schema/index.ts'
import type { Usage } from './subjects.ts'

/** Days that a forecast looks back. */
export const GROWTH_DAYS = 30

/** A forecast needs a history of this many days. */
const MIN_DAYS = 7

/** A forecast further away is not shown: the pace of a month says little about years. */
const MAX_DAYS_AHEAD = 2 * 365

export interface Growth {
  /** Days between the two figures; less than {@link GROWTH_DAYS} when the history is shorter. */
  readonly days: number
  /** Bytes; negative when usage shrank. */
  readonly bytes: Sum
}

/**
 * @param history the days on which usage changed, oldest first
 * @param measure bytes that count
 * @param lastDay days since 1970
 */
export const growthOf = (
  history: readonly DailyUsage[],
  measure: (usage: Usage) => Sum,
  lastDay: number,
  days = GROWTH_DAYS,
): Growth => {
  const [first, last] = [history[0], history.at(-1)]
  if (first === undefined || last === undefined) return { days: 0, bytes: 0 }
  const before = history.findLast(({ day }) => day <= lastDay - days) ?? first
  const start = Math.max(before.day, lastDay - days)
  return { days: lastDay - start, bytes: subtract(measure(last), measure(before)) }
}

/** When the limit is reached: a number of days from now, or why that is not known. */
export type Forecast = number | 'too early' | 'not growing' | 'far away'

/** @param left bytes until the limit, more than 0 */
export const forecastOf = ({ days, bytes }: Growth, left: Sum): Forecast => {
  if (days < MIN_DAYS) return 'too early'
  if (compare(bytes, 0) <= 0) return 'not growing'
  const ahead = Math.ceil((Number(left) * days) / Number(bytes))
  return ahead > MAX_DAYS_AHEAD ? 'far away' : ahead
}
