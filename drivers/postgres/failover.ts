import pg, { type ClientBase, type ClientConfig } from 'pg'

/**
 * The hosts that may be the primary. New connections go to the current host; when that host fails or turns out to be a
 * standby, the next one becomes current. connections.ts creates all clients through {@link Hosts.clientClass}.
 *
 * node-postgres connects to a single host: neither its client nor its URL parser supports libpq's list of hosts or
 * `target_session_attrs`, so this class does.
 */
export class Hosts {
  readonly #urls: readonly string[]
  readonly #urlOf = new WeakMap<object, string>()
  #index = 0

  constructor(urls: readonly string[]) {
    this.#urls = urls
  }

  get count(): number {
    return this.#urls.length
  }

  /** A class of clients that connect to the host that is current when they are created. */
  clientClass(): typeof pg.Client {
    const connectionString = () => this.#urls[this.#index]!
    const assign = (client: object, url: string) => this.#urlOf.set(client, url)
    const leave = (client: object) => this.#leave(client)
    return class extends pg.Client {
      constructor(config: ClientConfig) {
        const url = connectionString()
        super({ ...config, connectionString: url })
        assign(this, url)
      }

      override connect(): Promise<pg.Client>
      override connect(callback: (error: Error) => void): void
      override connect(callback?: (error: Error) => void): Promise<pg.Client> | undefined {
        // A pool always passes a callback.
        if (callback === undefined) return super.connect()
        super.connect((error: Error) => {
          if (error != null) leave(this)
          callback(error)
        })
        return undefined
      }
    }
  }

  /**
   * With several hosts, refuses a standby, for reads too: it may lag behind the primary.
   * @throws StandbyError after making the next host current.
   */
  async checkPrimary(client: ClientBase): Promise<void> {
    if (this.count === 1) return
    const { rows } = await client.query<{ transaction_read_only: string }>('SHOW transaction_read_only')
    if (rows[0]?.transaction_read_only !== 'on') return
    this.#leave(client)
    throw new StandbyError('this server is a standby')
  }

  /** When many connections to one host fail at once, only the first failure changes the current host. */
  #leave(client: object): void {
    if (this.#urlOf.get(client) === this.#urls[this.#index]) this.#index = (this.#index + 1) % this.count
  }
}

/** Carries the SQLSTATE with which a standby refuses a write. */
class StandbyError extends Error {
  readonly code = '25006'
}
