import pg, { type ClientBase, type ClientConfig } from 'pg'
import { StorageError } from '../../lib/storage/index.ts'

/** The servers that may be the one that takes writes: one that fails, or turns out to be a standby, is left for the next. */
export class Hosts {
  readonly #urls: readonly string[]
  #at = 0

  constructor(urls: readonly string[]) {
    this.#urls = urls
  }

  get count(): number {
    return this.#urls.length
  }

  get current(): string {
    return this.#urls[this.#at]!
  }

  /** Of many connections that fail at once the first turns to the next server, and the others follow. */
  fail(url: string): void {
    if (url === this.current) this.#at = (this.#at + 1) % this.#urls.length
  }
}

const urls = new WeakMap<object, string>()

/** A client of whichever server is the current one when it is made. */
export const clientOf = (hosts: Hosts): typeof pg.Client =>
  class extends pg.Client {
    constructor(config: ClientConfig) {
      const url = hosts.current
      super({ ...config, connectionString: url })
      urls.set(this, url)
    }

    override connect(): Promise<pg.Client>
    override connect(callback: (error: Error) => void): void
    override connect(callback?: (error: Error) => void): Promise<pg.Client> | undefined {
      if (callback === undefined) return super.connect()
      super.connect((error: Error) => {
        if (error != null) leave(hosts, this)
        callback(error)
      })
      return undefined
    }
  }

const leave = (hosts: Hosts, client: object): void => {
  const url = urls.get(client)
  if (url !== undefined) hosts.fail(url)
}

/** Where there are several, only one that takes writes will do, for reads too: a standby may be behind. */
export const checkPrimary = async (hosts: Hosts, client: ClientBase): Promise<void> => {
  if (hosts.count === 1) return
  const { rows } = await client.query<{ transaction_read_only: string }>('SHOW transaction_read_only')
  if (rows[0]?.transaction_read_only !== 'on') return
  leave(hosts, client)
  throw new StandbyOnly()
}

/** As the server says it itself to whoever writes there. */
class StandbyOnly extends Error {
  readonly code = '25006'
  override readonly message = 'this server is a standby'
}

const ATTRIBUTES = 'target_session_attrs'

/**
 * `postgres://user@one:5432,two:5432/database`, as libpq has it: a URL for each server.
 * @throws StorageError failed for what is no such URL.
 */
export const urlsIn = (given: string): URL[] => {
  const [, head, hosts, tail] = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#@]*)(.*)$/s.exec(given) ?? []
  const all = hosts?.split(',').map((host) => `${head}${host}${tail}`) ?? []
  // Without the text itself: it may hold a password.
  if (all.length === 0 || !all.every((one) => URL.canParse(one)))
    throw new StorageError('failed', 'expected a URL such as postgres://user:password@host:5432/database')
  return all.map((one) => {
    const url = new URL(one)
    const wanted = url.searchParams.get(ATTRIBUTES)
    if (wanted !== null && !['read-write', 'primary'].includes(wanted))
      throw new StorageError('failed', `${ATTRIBUTES}: expected read-write or primary`)
    url.searchParams.delete(ATTRIBUTES)
    return url
  })
}
