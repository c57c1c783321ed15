import pg from 'pg'

/** What the drivers of this process ask of their databases, by statement, from now on. */
export interface Counted {
  /** Runs the work, and answers what was asked meanwhile. */
  during(work: () => Promise<unknown>): Promise<string[]>
  restore(): void
}

type Query = (config: string | { name?: string; text: string }, ...more: unknown[]) => unknown

/** Stands around pg's client: each query waits for its answer, so that each is one round trip. */
export const countQueries = (): Counted => {
  const client = pg.Client.prototype as unknown as { query: Query }
  const { query } = client
  let asked: string[] = []
  client.query = function (this: unknown, config, ...more) {
    asked.push(typeof config === 'string' ? config : (config.name ?? config.text))
    return query.call(this, config, ...more)
  }
  return {
    async during(work) {
      asked = []
      await work()
      return asked
    },
    restore() {
      client.query = query
    },
  }
}
