import { randomBytes } from 'node:crypto'
import type { ClientBase, Pool, PoolClient, PoolConfig } from 'pg'
import { type Bytes, deferred } from '../../lib/storage/index.ts'
import { Control } from './control.ts'
import { isLost } from './errors.ts'
import { clientConfig, disconnect, type Found, REPLY_TIMEOUT_MS } from './find-primary.ts'
import { type Identity, identify, isSamePrimary, otherPrimary } from './identity.ts'
import type { Settings } from './settings.ts'
import { pg, query, type Statements, watched } from './statements.ts'

/** A connection that writes, as its row in the writer table knows it. The connection numbers its writes. */
export interface Writer {
  readonly id: Bytes
  lastWrite: number
}

export type PoolName = 'readers' | 'writers'

/**
 * The client waits this much longer than the server's limit for a statement, so only a silent server runs
 * into it.
 */
const MARGIN_MS = { read: 500, write: 5000 }
const IDLE_TIMEOUT_MS = 5 * 60_000
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 60_000

/**
 * The connections to one primary: a pool for reads, a pool for serializable writes, and the control
 * connection. When a newer primary is found, or the server falls silent, all of them are retired at once, so
 * that nothing is read any more from a server that was the primary before.
 */
export class Primary {
  readonly identity: Identity
  /** Position in the hosts of the URL. */
  readonly host: number
  readonly control: Control
  readonly #onSilence: () => void
  readonly #pools: Record<PoolName, Pool>
  readonly #clients = new Set<ClientBase>()
  readonly #writerOf = new WeakMap<ClientBase, Writer>()
  /** Rejects the requests that wait for a connection. */
  readonly #waiting = new Set<(error: Error) => void>()
  #closed: Promise<unknown> | undefined

  /** @param onSilence called while a statement or a connection takes unusually long */
  constructor(found: Found, settings: Settings, statements: Statements, onSilence: () => void) {
    this.identity = found.identity
    this.host = found.host
    this.#onSilence = onSilence
    this.control = new Control(found, settings, statements, onSilence)
    const config = clientConfig(settings, found.host)
    const { statementTimeout } = settings
    const readTimeout = Math.min(statementTimeout, REPLY_TIMEOUT_MS - MARGIN_MS.read)
    this.#pools = {
      readers: this.#createPool({
        ...config,
        max: settings.readers,
        query_timeout: readTimeout + MARGIN_MS.read,
        onConnect: (client) => this.#prepare(client, readTimeout),
      }),
      writers: this.#createPool({
        ...config,
        max: settings.writers,
        query_timeout: statementTimeout + MARGIN_MS.write,
        onConnect: async (client) => {
          await this.#prepare(client, statementTimeout)
          this.#writerOf.set(client, await registerWriter(client, statements))
        },
      }),
    }
  }

  /** A connection of a pool. The caller releases it. */
  async take(name: PoolName): Promise<PoolClient> {
    const connected = this.#pools[name].connect()
    const { promise: retired, reject } = deferred<never>()
    this.#waiting.add(reject)
    try {
      return await watched(Promise.race([connected, retired]), this.#onSilence)
    } catch (error) {
      connected.then((client) => client.release(true)).catch(() => undefined)
      throw error
    } finally {
      this.#waiting.delete(reject)
    }
  }

  writerOf(client: ClientBase): Writer {
    return this.#writerOf.get(client)!
  }

  /** Cuts all connections: statements in flight fail as on a connection that breaks. */
  retire(): void {
    for (const client of this.#clients) disconnect(client)
    for (const reject of this.#waiting) reject(new Error('connection terminated: its server was left'))
    this.close().catch(() => undefined)
  }

  /** Waits for connections that are in use. */
  async close(): Promise<void> {
    this.control.end()
    this.#closed ??= Promise.all(Object.values(this.#pools).map((pool) => pool.end()))
    await this.#closed
  }

  #createPool(config: PoolConfig): Pool {
    const pool = new pg.Pool({ ...config, idleTimeoutMillis: IDLE_TIMEOUT_MS })
    // The pool has already removed an idle connection that breaks, and replaces it on demand.
    pool.on('error', () => undefined)
    pool.on('connect', (client) => this.#clients.add(client))
    pool.on('remove', (client) => this.#clients.delete(client))
    return pool
  }

  /** Sets up a new connection, which through a proxy may have reached another server than those before. */
  async #prepare(client: ClientBase, statementTimeout: number): Promise<void> {
    const identity = await identify(client)
    if (!isSamePrimary(identity, this.identity)) throw otherPrimary(identity, this.identity)
    if (this.#closed !== undefined) throw new Error('connection terminated: its server was left')
    await client.query(limits(statementTimeout))
    // Other databases refuse these options, which does no harm.
    await client.query(PLANNER_OPTIONS).catch((error: unknown) => {
      if (isLost(error)) throw error
    })
  }
}

/** Settings of a session, as SQL. PgBouncer refuses a connection that sends them as startup parameters. */
const limits = (statementTimeout: number): string =>
  `SET statement_timeout = ${statementTimeout};
  SET idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_TIMEOUT_MS}`

/**
 * Makes every statement an index scan with a cached plan:
 * - `enable_seqscan`, `enable_bitmapscan`: on a small table the planner prefers a sequential scan, whose
 *   predicate lock conflicts with every write.
 * - `jit`: with sequential scans disabled, estimated costs are so high that JIT compiles the statement, for
 *   half a second.
 * - `plan_cache_mode`: planning a statement takes longer than running it.
 */
const PLANNER_OPTIONS = `SET enable_seqscan = off; SET enable_bitmapscan = off; SET jit = off;
  SET plan_cache_mode = force_generic_plan`

const registerWriter = async (client: ClientBase, statements: Statements): Promise<Writer> => {
  const id = randomBytes(16)
  await query(client, statements.addWriter, [id])
  await query(client, statements.removeOldWriters, [])
  await client.query("SET default_transaction_isolation = 'serializable'")
  return { id, lastWrite: 0 }
}
