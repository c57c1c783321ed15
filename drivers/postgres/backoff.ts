/** Longer with every attempt, and never the same for two. */
export const backoff = (attempt: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, Math.random() * Math.min(2 ** attempt, 100)))

/** Connections that broke while nobody used them: a pool holds a few after the database was started again. */
export const MAX_BROKEN_CONNECTIONS = 3
