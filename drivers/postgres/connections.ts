import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { ClientBase, Pool, PoolClient } from 'pg'
import { StorageError } from '../../lib/storage/index.ts'
import {
  claimLost,
  heldAlone,
  isConnectTimeout,
  isStandby,
  isUnusable,
  messageOf,
  sharedSessions,
  standby,
  toStorageError,
  usedByOthers,
} from './errors.ts'
import { REPLY_TIMEOUT_MS, Session } from './session.ts'
import type { Settings } from './settings.ts'
import { pg, query, type Statement, type Statements, statementsFor } from './statements.ts'

const IDLE_TIMEOUT_MS = 5 * 60_000
/** After this time the lock of a repair, which takes hours, is shown to be held still. */
const KEEP_ALIVE_MS = 30_000
const [CLAIM_ATTEMPTS, CLAIM_PAUSE_MS] = [5, 200]

const ignore = () => undefined

/**
 * The connections of an open driver, all to one host of the URL: the first that accepts writes. When it
 * cannot be reached, is silent, or has become a standby, all of them are cut, and the next host that
 * accepts writes is used.
 *
 * Each connection holds a lock of its session for as long as it lasts: shared, or alone for a driver with
 * the option `exclusive`. So no connection that writes can exist beside a repair.
 */
export class Connections {
  readonly statements: Statements
  readonly #settings: Settings
  #pool: Pool | undefined
  /** Position of the present host in the URL. */
  #host = 0
  #search: Promise<Pool> | undefined
  /** Whether there are tables, whose lock each new connection then takes. */
  #hasTables = false
  /** The connection that keeps other processes out, of a driver with the option `exclusive`. */
  #holder: PoolClient | undefined
  #isClaimLost = false
  #isClosed = false
  /** Where the database is, for error messages while the driver opens. */
  #where: string | undefined

  /** @throws StorageError when the database cannot be used. */
  static async open(settings: Settings): Promise<Connections> {
    const connections = new Connections(settings)
    try {
      await connections.#prepareStore()
      connections.#where = undefined
      return connections
    } catch (error) {
      await connections.close()
      throw toStorageError(settings.where, error)
    }
  }

  private constructor(settings: Settings) {
    this.statements = statementsFor(settings.schema)
    this.#settings = settings
    this.#where = settings.where
  }

  /** Takes a connection of the present host, or of the next one that accepts writes when it has failed. */
  async take(): Promise<Session> {
    const { pool, client } = await this.#connect()
    return new Session(client, (failure) => {
      if (isUnusable(failure)) this.#leave(pool)
    })
  }

  /** Waits for connections that are in use. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#holder?.release(true)
    await this.#pool?.end()
  }

  async #connect(): Promise<{ pool: Pool; client: PoolClient }> {
    for (let attempt = 1; ; attempt++) {
      if (this.#isClaimLost) throw claimLost()
      const pool = this.#pool ?? (await this.#find())
      try {
        return { pool, client: await pool.connect() }
      } catch (cause) {
        // A host with connections is kept, since they may be well.
        const isLeft = this.#pool !== pool || isStandby(cause) || pool.totalCount === 0
        const isTriedAgain = isLeft || this.#isSilent(cause)
        if (!isTriedAgain || attempt > this.#settings.urls.length) throw toStorageError(this.#where, cause)
        if (isLeft) this.#leave(pool)
      }
    }
  }

  /** Whether the host may be silent. It is left as soon as a reply of it has not come in time. */
  #isSilent(cause: unknown): boolean {
    return this.#settings.urls.length > 1 && isConnectTimeout(cause)
  }

  #find(): Promise<Pool> {
    this.#search ??= this.#tryHosts().finally(() => {
      this.#search = undefined
    })
    return this.#search
  }

  /** Tries the hosts in their order, from the present one on. */
  async #tryHosts(): Promise<Pool> {
    const { urls, hosts } = this.#settings
    const failures: unknown[] = []
    for (let tried = 0; tried < urls.length; tried++) {
      const host = (this.#host + tried) % urls.length
      const pool = this.#createPool(host)
      try {
        const client = await pool.connect()
        client.release()
        if (this.#isClosed) throw new Error('the driver was closed while it connected')
        this.#host = host
        this.#pool = pool
        return pool
      } catch (error) {
        failures[host] = error
        await pool.end()
      }
    }
    const errors = failures.map((failure) => toStorageError(this.#where, failure))
    // One that needs the operator says more than a host that is away.
    const { reason, message } = errors.find(({ reason }) => reason !== 'away') ?? errors.at(-1)!
    const reasons = failures.map((failure, host) => `${hosts[host]}: ${messageOf(failure)}`)
    throw new StorageError(reason, message, { cause: new Error(reasons.join('; ')) })
  }

  /**
   * Cuts all connections to a host that has failed: what waits for replies need not wait for its end, and
   * what waits for a connection gets one to the next host.
   */
  #leave(pool: Pool): void {
    if (this.#pool !== pool) return
    this.#pool = undefined
    this.#host = (this.#host + 1) % this.#settings.urls.length
    const { _clients: clients, _pendingQueue: queue } = pool as unknown as PoolInternals
    pool.end().catch(ignore)
    for (const client of clients) client.connection.stream.destroy()
    for (const { callback } of queue.splice(0)) callback(new Error('the host was left for another host'))
  }

  #createPool(host: number): Pool {
    const { tls, connectTimeout, urls, connections, exclusive } = this.#settings
    const pool = new pg.Pool({
      connectionString: urls[host]!,
      ...(tls === undefined ? {} : { ssl: tls }),
      connectionTimeoutMillis: connectTimeout,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      application_name: 'allot',
      // A driver with the option `exclusive` keeps one for its lock.
      max: connections + (exclusive ? 1 : 0),
      // One stays open, whose lock keeps a repair out.
      min: 1,
      idleTimeoutMillis: IDLE_TIMEOUT_MS,
      onConnect: (client) => this.#setUp(client),
      ...PIPELINE,
    })
    // The pool has already removed an idle connection that breaks, and replaces it on demand.
    pool.on('error', ignore)
    return pool
  }

  async #setUp(client: ClientBase): Promise<void> {
    // Without a listener, a connection that breaks between two statements would end the process.
    client.on('error', ignore)
    await query(client, { text: sessionSettings(this.#settings) }, [], REPLY_TIMEOUT_MS)
    const [[isReadOnly] = []] = await ask(client, { text: 'SHOW transaction_read_only' })
    if (isReadOnly === 'on') throw standby()
    if (this.#hasTables && !this.#settings.exclusive) await this.#claim(client)
  }

  async #prepareStore(): Promise<void> {
    const { pool, client } = await this.#connect()
    const { exclusive } = this.#settings
    try {
      await this.#refuseSharedSessions(client)
      await ask(client, this.statements.createTables)
      await this.#claim(client)
      this.#hasTables = true
    } finally {
      if (exclusive) this.#hold(pool, client)
      else client.release()
    }
  }

  /** A repair ends with its lock: others may write from then on. */
  #hold(pool: Pool, client: PoolClient): void {
    this.#holder = client
    client.once('end', () => {
      this.#isClaimLost = true
      this.#leave(pool)
    })
  }

  /** @throws StorageError `locked` when others use the store, `busy` when another process holds it alone */
  async #claim(client: ClientBase): Promise<void> {
    const { claimShared, claimAlone, otherUsers } = this.statements
    const { exclusive } = this.#settings
    for (let attempt = 1; ; attempt++) {
      const [[isHeld] = []] = await ask(client, exclusive ? claimAlone : claimShared)
      if (isHeld === 't') return
      if (attempt === CLAIM_ATTEMPTS) break
      // The database may not have noticed yet that a process has ended.
      await setTimeout(CLAIM_PAUSE_MS)
    }
    const [[processes] = []] = await ask(client, otherUsers)
    throw exclusive ? usedByOthers(processes) : heldAlone(processes)
  }

  /**
   * A pooler must keep a session for each connection, because prepared statements, settings and the lock
   * belong to it: another connection must not find a setting of this one, nor must this one lose it while the
   * other is in a transaction.
   * @throws StorageError `failed` when connections share sessions
   */
  async #refuseSharedSessions(client: ClientBase): Promise<void> {
    const mark = randomBytes(16).toString('hex')
    const [[backend] = []] = await ask(client, SET_MARK, [mark])
    // Without a pooler the backend is the one that the server announced for the connection.
    if (backend === String((client as { processID?: number }).processID)) return
    const pool = this.#createPool(this.#host)
    const other = await pool.connect()
    try {
      await ask(other, { text: 'BEGIN' })
      const [[others] = []] = await ask(other, GET_MARK)
      const [[own] = []] = await ask(client, GET_MARK)
      if (others === mark || own !== mark) throw sharedSessions()
    } catch (error) {
      throw /statement pooling/.test(String(error)) ? sharedSessions() : error
    } finally {
      other.release(true)
      await pool.end()
    }
  }
}

const ask = (client: ClientBase, statement: Statement, values: readonly unknown[] = []) =>
  query(client, statement, values, REPLY_TIMEOUT_MS)

/** Sends a statement before the reply to the one before it has come; the types of pg lack the option. */
const PIPELINE: object = { pipeline: true }

interface PoolInternals {
  readonly _clients: readonly { connection: { stream: { destroy(): void } } }[]
  readonly _pendingQueue: { callback(error: Error): void }[]
}

const SET_MARK = { text: "SELECT pg_backend_pid() FROM set_config('allot.session', $1, false)" }
const GET_MARK = { text: "SELECT current_setting('allot.session', true)" }

/** Limit for a statement of a read: with the reply, less than REPLY_TIMEOUT_MS. */
const READ_TIMEOUT_MS = REPLY_TIMEOUT_MS - 500
/** An export may write repositories and files for long before it reads on. */
const READ_IDLE_TIMEOUT_MS = 60 * 60_000

/**
 * Settings of each session. PgBouncer refuses a connection that sends them as startup parameters.
 * - `statement_timeout`, `idle_in_transaction_session_timeout`: those of a read; a write sets its own.
 * - `synchronous_commit`: a role with a weaker setting would lose acknowledged writes when the server is
 *   killed.
 * - `client_min_messages`: a commit without its synchronous standby is only a warning.
 * - `enable_seqscan`, `enable_bitmapscan`: on a small table the planner prefers a sequential scan, whose
 *   predicate lock conflicts with every write.
 * - `jit`: with sequential scans disabled, estimated costs are so high that JIT compiles the statement,
 *   for half a second.
 * - `plan_cache_mode`: planning a statement takes longer than running it.
 */
const sessionSettings = ({ statementTimeout }: Settings): string =>
  `SET statement_timeout = ${Math.min(statementTimeout, READ_TIMEOUT_MS)};
  SET idle_in_transaction_session_timeout = ${READ_IDLE_TIMEOUT_MS};
  SET client_min_messages = warning; SET enable_seqscan = off; SET enable_bitmapscan = off; SET jit = off;
  SET plan_cache_mode = force_generic_plan;
  SELECT set_config('synchronous_commit',
    CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false)`
