import pg from 'pg'

/** Counts the round trips of the drivers of this process. */
export interface TripCounter {
  /** @returns the name of the first statement of each round trip while the body ran */
  during(body: () => Promise<unknown>): Promise<string[]>
  restore(): void
}

type Query = (config: string | { name?: string; text: string }, ...more: unknown[]) => Promise<unknown>

/**
 * Wraps pg's client. Statements that are sent without waiting for those before them share a round trip.
 * @param onQuery called with the client of each statement
 */
export const countTrips = (onQuery: (client: unknown) => void = () => undefined): TripCounter => {
  const client = pg.Client.prototype as unknown as { query: Query }
  const { query } = client
  const inFlight = new WeakMap<object, number>()
  let sent: string[] = []
  client.query = async function (this: object, config, ...more) {
    onQuery(this)
    const before = inFlight.get(this) ?? 0
    if (before === 0) sent.push(typeof config === 'string' ? config : (config.name ?? config.text))
    inFlight.set(this, before + 1)
    try {
      return await query.call(this, config, ...more)
    } finally {
      inFlight.set(this, inFlight.get(this)! - 1)
    }
  }
  return {
    async during(body) {
      sent = []
      await body()
      return sent
    },
    restore() {
      client.query = query
    },
  }
}
