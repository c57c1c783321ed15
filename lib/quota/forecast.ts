/** How usage grew, and when a limit is reached if it keeps growing at that rate. */
import type { Usage } from './subjects.ts'

/** Days that growth and forecasts look back. */
export const GROWTH_DAYS = 30

/** A forecast needs a history of this many days. */
const MIN_DAYS = 7

/** A forecast further away is not shown: the pace of a month says little about years. */
const MAX_DAYS_AHEAD = 2 * 365

type History = readonly (Usage & { readonly day: number })[]

/**
 * How many bytes more are used now than {@link GROWTH_DAYS} days ago; negative when usage shrank. Before the
 * first record, nothing was used: an owner that is newer grew from 0.
 * @param history the days on which usage changed, oldest first
 * @param lastDay days since 1970
 */
export const growthOf = (history: History, measure: (usage: Usage) => number, lastDay: number): number => {
  const [before, last] = [history.findLast(({ day }) => day <= lastDay - GROWTH_DAYS), history.at(-1)]
  return (last === undefined ? 0 : measure(last)) - (before === undefined ? 0 : measure(before))
}

/** How fast usage grows. */
export interface Pace {
  /** Days in which it grew: 1 to {@link GROWTH_DAYS}. */
  readonly days: number
  /** Bytes; negative when usage shrank. */
  readonly bytes: number
}

/**
 * How fast usage grew in the last {@link GROWTH_DAYS} days, or since the end of the first day with a record
 * when that is later: what came on the first day, such as all that moved here from another server, says
 * nothing about the days to come.
 * @param history the days on which usage changed, oldest first
 * @param measure bytes that count
 * @param lastDay days since 1970
 * @returns undefined without a record of a day before
 */
export const paceOf = (
  history: History,
  measure: (usage: Usage) => number,
  lastDay: number,
): Pace | undefined => {
  const [first, last] = [history[0], history.at(-1)]
  if (first === undefined || last === undefined || first.day >= lastDay) return undefined
  const before = history.findLast(({ day }) => day <= lastDay - GROWTH_DAYS) ?? first
  return {
    days: Math.min(GROWTH_DAYS, lastDay - before.day),
    bytes: measure(last) - measure(before),
  }
}

/** When the limit is reached: a number of days from now, or why that is not known. */
export type Forecast = number | 'too early' | 'not growing' | 'far away'

/** @param left bytes until the limit, more than 0 */
export const forecastOf = (pace: Pace | undefined, left: number): Forecast => {
  if (pace === undefined || pace.days < MIN_DAYS) return 'too early'
  const { days, bytes } = pace
  if (bytes <= 0) return 'not growing'
  const ahead = Math.ceil((left * days) / bytes)
  return ahead > MAX_DAYS_AHEAD ? 'far away' : ahead
}
