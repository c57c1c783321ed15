import { randomBytes } from 'node:crypto'
import type { ConnectionOptions } from 'node:tls'
import type { ClientBase, Pool, PoolClient, PoolConfig } from 'pg'
import { type Bytes, StorageError } from '../../lib/storage/index.ts'
import { isCatalogRace, isLost, isPoolExhausted, isWrongHost, toStorageError } from './errors.ts'
import { pg, query, type Row, Session, type Statement, type Statements, statementsFor } from './statements.ts'

/** All times are in milliseconds. */
export interface PostgresOptions {
  /** Schema of the tables; created when missing. Default: `?schema=` of the URL, else the first of the search path. */
  schema?: string | undefined
  /** Size of the connection pool for reads. Default: 6. */
  readers?: number | undefined
  /** Size of the connection pool for writes. Default: 4. */
  writers?: number | undefined
  /** Limit for opening a connection, and for waiting until a pool has a free one. Default: 5,000. */
  connectTimeout?: number | undefined
  /** Limit for one statement. Default: 30,000. */
  statementTimeout?: number | undefined
  /** How many times a write is retried after conflicts with concurrent writes. Default: 30. */
  retries?: number | undefined
  /** Bytes of database content to cache, so that reads and writes need fewer round trips. Default: 32 MiB. */
  readCache?: number | undefined
  /**
   * Runs every transaction as BEGIN, statements and COMMIT, which any database with PostgreSQL's protocol and
   * serializable transactions supports, at the cost of more round trips. Default: false on PostgreSQL, true elsewhere.
   */
  plain?: boolean | undefined
  /** TLS settings for node:tls. The URL can set them too: `?sslmode=verify-full&sslrootcert=…`. */
  tls?: ConnectionOptions | boolean | undefined
}

export type Settings = ReturnType<typeof parseSettings>

const SESSION_ATTRIBUTES = 'target_session_attrs'

/**
 * Options with their defaults, and the hosts of the URL.
 * @throws StorageError `failed` when the URL is not a PostgreSQL URL.
 */
export const parseSettings = (url: string, options: PostgresOptions) => {
  const urls = parseHosts(url)
  const [{ pathname, searchParams }] = urls as [URL]
  const schema = options.schema ?? searchParams.get('schema') ?? undefined
  if (!['read-write', 'primary'].includes(searchParams.get(SESSION_ATTRIBUTES) ?? 'primary'))
    throw new StorageError(
      'failed',
      `${SESSION_ATTRIBUTES} in the database URL must be read-write or primary`,
    )
  for (const { searchParams } of urls)
    for (const name of ['schema', SESSION_ATTRIBUTES]) searchParams.delete(name)
  const hosts = urls.map(({ searchParams, host }) => searchParams.get('host') ?? (host || 'localhost'))
  const database = decodeURIComponent(pathname.slice(1)) || 'of the user'
  return {
    schema,
    readers: options.readers ?? 6,
    writers: options.writers ?? 4,
    connectTimeout: options.connectTimeout ?? 5000,
    statementTimeout: options.statementTimeout ?? 30_000,
    retries: options.retries ?? 30,
    readCache: options.readCache ?? 32 * 1024 ** 2,
    plain: options.plain ?? false,
    tls: options.tls,
    /** One URL for each host; any of them may be the primary. */
    urls: urls.map(({ href }) => href),
    /** Names the database and its hosts in error messages, without the password. */
    where: `the database ${database} at ${hosts.join(',')}`,
  }
}

/** Splits libpq's form for several hosts, `postgres://user@first:5432,second:5432/database`, into one URL each. */
const parseHosts = (text: string): URL[] => {
  const [, head, hosts, tail] = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#@]*)(.*)$/s.exec(text) ?? []
  const urls = hosts?.split(',').map((host) => `${head}${host}${tail}`) ?? []
  // The message does not repeat the text, which may hold a password.
  if (urls.length === 0 || !urls.every((url) => URL.canParse(url)))
    throw new StorageError('failed', 'expected a URL such as postgres://user:password@host:5432/database')
  return urls.map((url) => new URL(url))
}

/** A connection that writes, as its row in the writer table knows it. The connection numbers its writes. */
export interface Writer {
  readonly id: Bytes
  lastWrite: number
}

/** The connection pools of one host: one for reads and one for serializable writes. */
interface Host {
  readonly readers: Pool
  readonly writers: Pool
}

/**
 * The connections of an open driver. Both engines run all their statements through them. New connections go to the current
 * host; when that host fails or turns out to be a standby, the next one of the URL becomes current. node-postgres itself
 * connects to a single host.
 */
export class Connections {
  readonly statements: Statements
  /** Size of the pool for writes. */
  readonly writers: number
  /** False for other databases with PostgreSQL's protocol. They may not support the statement that commits a batch. */
  isPostgres = true
  /** Any of them may be the primary. */
  readonly #hosts: readonly Host[]
  #current = 0
  readonly #writerOf = new WeakMap<ClientBase, Writer>()
  /** Where the database is, for error messages while the driver opens. */
  #where: string | undefined

  /** @throws StorageError when the database cannot be used. */
  static async open(settings: Settings): Promise<Connections> {
    const connections = new Connections(settings)
    try {
      await connections.#createTables()
      const [[version]] = (await connections.run({ text: 'SELECT version()' })) as [Row]
      connections.isPostgres = /^PostgreSQL/.test(version ?? '')
      connections.#where = undefined
      return connections
    } catch (error) {
      await connections.close()
      throw toStorageError(settings.where, error)
    }
  }

  private constructor(settings: Settings) {
    this.statements = statementsFor(settings.schema)
    this.writers = settings.writers
    this.#where = settings.where
    const prepare = async (client: ClientBase) => {
      if (settings.urls.length > 1) await refuseStandby(client)
      await setPlannerOptions(client)
    }
    const prepareWriter = async (client: ClientBase) => {
      await prepare(client)
      this.#writerOf.set(client, await registerWriter(client, this.statements))
    }
    this.#hosts = settings.urls.map((connectionString) => {
      const config = { ...poolConfig(settings), connectionString }
      const readers = new pg.Pool({ ...config, max: settings.readers, onConnect: prepare })
      const writers = new pg.Pool({ ...config, max: settings.writers, onConnect: prepareWriter })
      // The pool has already removed an idle connection that breaks, and replaces it on demand.
      for (const pool of [readers, writers]) pool.on('error', () => undefined)
      return { readers, writers }
    })
  }

  /** Runs one statement outside of a transaction. */
  run(statement: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    return this.withReader((session) => session.run(statement, values))
  }

  /** Holds a connection for a transaction that reads. */
  withReader<T>(body: (session: Session) => Promise<T>): Promise<T> {
    return this.#use('readers', body)
  }

  /** Holds a connection whose transactions are serializable. */
  withWriter<T>(body: (session: Session, writer: Writer) => Promise<T>): Promise<T> {
    return this.#use('writers', (session, client) => body(session, this.#writerOf.get(client)!))
  }

  async close(): Promise<void> {
    await Promise.all(this.#hosts.flatMap(({ readers, writers }) => [readers.end(), writers.end()]))
  }

  async #use<T>(pool: keyof Host, body: (session: Session, client: ClientBase) => Promise<T>): Promise<T> {
    const client = await this.#take(pool)
    const session = new Session(client)
    // Without a listener, a connection that breaks between two statements would end the process.
    const ignore = () => undefined
    client.on('error', ignore)
    try {
      return await body(session, client)
    } finally {
      client.off('error', ignore)
      client.release(session.isBroken || client.getTransactionStatus() !== 'I')
    }
  }

  /** Tries each host at most once. */
  async #take(pool: keyof Host): Promise<PoolClient> {
    for (let attempt = 1; ; attempt++) {
      const index = this.#current
      try {
        return await this.#hosts[index]![pool].connect()
      } catch (cause) {
        if (isPoolExhausted(cause)) throw allInUse(cause)
        // When many connections to one host fail at once, only the first failure changes the current host.
        if (this.#current === index) this.#current = (index + 1) % this.#hosts.length
        if (attempt >= this.#hosts.length || !isWrongHost(cause)) throw toStorageError(this.#where, cause)
      }
    }
  }

  async #createTables(): Promise<void> {
    for (let attempt = 1; ; attempt++)
      try {
        for (const text of this.statements.createTables) await this.run({ text })
        return
      } catch (error) {
        if (attempt === CREATE_ATTEMPTS || !isCatalogRace(error)) throw error
        await new Promise((resolve) => setTimeout(resolve, 50 * Math.random() * attempt))
      }
  }
}

const CREATE_ATTEMPTS = 10

const allInUse = (cause: unknown) =>
  new StorageError(
    'busy',
    'all connections to the database have been in use for too long: try again in a moment',
    { cause },
  )

const IDLE_TIMEOUT_MS = 5 * 60_000
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 60_000

const poolConfig = ({ tls, connectTimeout, statementTimeout }: Settings): PoolConfig => ({
  ...(tls === undefined ? {} : { ssl: tls }),
  connectionTimeoutMillis: connectTimeout,
  statement_timeout: statementTimeout,
  // The client's own limit is for a server that has gone silent; the server's limit expires first.
  query_timeout: statementTimeout + 5000,
  idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
  idleTimeoutMillis: IDLE_TIMEOUT_MS,
  keepAlive: true,
  application_name: 'allot',
})

/** Reads need the primary, too: a standby may lag behind it. Throws the SQLSTATE with which a standby refuses a write. */
const refuseStandby = async (client: ClientBase): Promise<void> => {
  const { rows } = await client.query<{ transaction_read_only: string }>('SHOW transaction_read_only')
  if (rows[0]?.transaction_read_only === 'on')
    throw Object.assign(new Error('this server is a standby'), { code: '25006' })
}

/**
 * Makes every statement an index scan with a cached plan. On a small table the planner would prefer a sequential scan,
 * whose predicate lock conflicts with every write. Without sequential scans the estimated cost is so high that the
 * server would compile the statement, which takes half a second. Planning a statement takes longer than running it.
 */
const PLANNER_OPTIONS = `SET enable_seqscan = off; SET enable_bitmapscan = off; SET jit = off;
  SET plan_cache_mode = force_generic_plan`

/** Other databases refuse these options, which does no harm. */
const setPlannerOptions = async (client: ClientBase): Promise<void> => {
  await client.query(PLANNER_OPTIONS).catch((error: unknown) => {
    if (isLost(error)) throw error
  })
}

const registerWriter = async (client: ClientBase, statements: Statements): Promise<Writer> => {
  const id = randomBytes(16)
  await query(client, statements.addWriter, [id])
  await query(client, statements.removeOldWriters, [])
  await client.query("SET default_transaction_isolation = 'serializable'")
  return { id, lastWrite: 0 }
}
