/** `2026-11-21`, of days since 1970. */
export const dateOf = (day: number): string => new Date(day * 86_400_000).toISOString().slice(0, 10)

/** RFC 3339 in UTC with whole seconds: `2026-11-21T04:09:00Z`. */
export const timestamp = (seconds: number): string =>
  `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`
