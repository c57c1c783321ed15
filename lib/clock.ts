/** Now, in the whole seconds that records and timestamps have. */
export const now = (): number => Math.floor(Date.now() / 1000)
