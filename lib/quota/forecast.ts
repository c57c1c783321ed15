/** How usage grew, and when a limit is reached if it keeps growing at that rate. */
import { compare, type Sum, subtract } from '../integers.ts'
import type { Usage } from './subjects.ts'

/** Days that growth and a forecast look back. */
export const GROWTH_DAYS = 30

/** A forecast needs a history of this many days. */
const MIN_DAYS = 7

/** A forecast further away is not shown: the pace of a month says little about years. */
const MAX_DAYS_AHEAD = 2 * 365

/** Bytes that were recorded for the end of a day. */
export interface RecordedBytes {
  /** Days since 1970. */
  readonly day: number
  readonly bytes: Sum
}

/** How usage changed in the last {@link GROWTH_DAYS} days or another period, or since the first record when that is later. */
export interface Growth {
  /** The day with which the present is compared, in days since 1970. */
  readonly since: number
  /** Days from then until now: 1 to the days of the period. */
  readonly days: number
  /** Bytes; negative when usage shrank. */
  readonly bytes: Sum
}

/**
 * @param before the last record that is at least as many days old as the period has, or else the first record
 * @param bytes bytes that count now
 * @param lastDay days since 1970
 * @param period days
 * @returns undefined without a record of a day before
 */
export const growthSince = (
  before: RecordedBytes | undefined,
  bytes: Sum,
  lastDay: number,
  period = GROWTH_DAYS,
): Growth | undefined => {
  if (before === undefined || before.day >= lastDay) return undefined
  const since = Math.max(before.day, lastDay - period)
  return { since, days: lastDay - since, bytes: subtract(bytes, before.bytes) }
}

/**
 * @param history the days on which usage changed, oldest first
 * @param measure bytes that count
 * @param lastDay days since 1970
 * @param period days
 * @returns undefined without a record of a day before
 */
export const growthOf = (
  history: readonly (Usage & { readonly day: number })[],
  measure: (usage: Usage) => Sum,
  lastDay: number,
  period = GROWTH_DAYS,
): Growth | undefined => {
  const [first, last] = [history[0], history.at(-1)]
  if (first === undefined || last === undefined) return undefined
  const before = history.findLast(({ day }) => day <= lastDay - period) ?? first
  return growthSince({ day: before.day, bytes: measure(before) }, measure(last), lastDay, period)
}

/** When the limit is reached: a number of days from now, or why that is not known. */
export type Forecast = number | 'too early' | 'not growing' | 'far away'

/** @param left bytes until the limit, more than 0 */
export const forecastOf = (growth: Growth | undefined, left: Sum): Forecast => {
  if (growth === undefined || growth.days < MIN_DAYS) return 'too early'
  const { days, bytes } = growth
  if (compare(bytes, 0) <= 0) return 'not growing'
  const ahead = Math.ceil((Number(left) * days) / Number(bytes))
  return ahead > MAX_DAYS_AHEAD ? 'far away' : ahead
}
