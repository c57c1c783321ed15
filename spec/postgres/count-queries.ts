import pg from 'pg'

/** Counts the statements that the drivers of this process send. */
export interface QueryCounter {
  /** @returns the names of the statements that were sent while the body ran */
  during(body: () => Promise<unknown>): Promise<string[]>
  restore(): void
}

type Query = (config: string | { name?: string; text: string }, ...more: unknown[]) => unknown

/** Wraps pg's client. Each statement waits for its result, so each is one round trip. */
export const countQueries = (): QueryCounter => {
  const client = pg.Client.prototype as unknown as { query: Query }
  const { query } = client
  let sent: string[] = []
  client.query = function (this: unknown, config, ...more) {
    const name = typeof config === 'string' ? config : (config.name ?? config.text)
    // Sent once in a while, whatever the number of requests.
    if (name !== 'allot_prove') sent.push(name)
    return query.call(this, config, ...more)
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
