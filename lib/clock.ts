export const HOUR_MS = 60 * 60 * 1000
export const DAY_MS = 24 * HOUR_MS
export const DAY_SECONDS = DAY_MS / 1000

/** Now, in the whole seconds that records and timestamps have. */
export const now = (): number => Math.floor(Date.now() / 1000)

const PAUSES_PER_STEP = 3
const MAX_PAUSE_MS = 300

/**
 * Milliseconds to pause after work that others waited for: three times as long as it took, so that it uses at
 * most a quarter of the time, and 300 at most.
 */
export const pauseAfter = (milliseconds: number): number =>
  Math.min(PAUSES_PER_STEP * milliseconds, MAX_PAUSE_MS)

/** Days since 1970-01-01 UTC. */
export const today = (): number => dayOf(Date.now())

/** @param time milliseconds since 1970 */
export const dayOf = (time: number): number => Math.floor(time / DAY_MS)

/**
 * @returns the date in UTC, such as `2026-11-21`
 * @param day days since 1970-01-01
 */
export const dateOf = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10)

/** The last second with a year of four digits: RFC 3339 has no other years. */
export const LAST_SECOND = Date.UTC(9999, 11, 31, 23, 59, 59) / 1000

/**
 * @returns RFC 3339 in UTC with whole seconds, such as `2026-11-21T04:09:00Z`
 * @param seconds since 1970; those of a commit can be later than {@link LAST_SECOND}, which is shown then
 */
export const timestamp = (seconds: number): string =>
  `${new Date(Math.min(seconds, LAST_SECOND) * 1000).toISOString().slice(0, 19)}Z`
