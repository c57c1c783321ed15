import { randomBytes } from 'node:crypto'
import pg, { type ClientBase, type PoolClient, type PoolConfig } from 'pg'
import { type Bytes, Mutex, StorageError } from '../../lib/storage/index.ts'
import { isCatalogRace, isLost, isPoolExhausted, isWrongHost, toStorageError } from './errors.ts'
import { Hosts } from './failover.ts'
import type { Settings } from './options.ts'
import { type Statement, type Statements, statementsFor } from './statements.ts'

/**
 * The two connection pools of an open driver, one for reads and one for serializable writes. Both engines run all their
 * statements through this interface; which host a connection goes to is decided in failover.ts.
 */
export interface Connections {
  readonly statements: Statements
  /** Size of the pool for writes. */
  readonly writers: number
  /** False for other databases with PostgreSQL's protocol. They may not support the statement that commits a batch. */
  readonly isPostgres: boolean
  /** Runs one statement outside of a transaction. */
  read(statement: Statement, values: readonly unknown[]): Promise<Row[]>
  /** Holds a connection for a transaction that reads. */
  withReader<T>(body: (session: Session) => Promise<T>): Promise<T>
  /** Holds a connection whose transactions are serializable. */
  withWriter<T>(body: (session: Session, writer: Writer) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** A connection that writes, as its row in the writer table knows it. The connection numbers its writes. */
export interface Writer {
  readonly id: Bytes
  lastWrite: number
}

/** Columns as the text that the server sends; this driver decodes the few types that it uses. */
export type Row = readonly (string | null)[]

const IDLE_TIMEOUT_MS = 5 * 60_000
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 60_000

/** @throws StorageError when the database cannot be used. */
export const connect = async (settings: Settings): Promise<Connections> => {
  const statements = statementsFor(settings.schema)
  const writerOf = new WeakMap<ClientBase, Writer>()
  const hosts = new Hosts(settings.urls)
  const config = { ...poolConfig(settings), Client: hosts.clientClass() }
  const prepare = async (client: ClientBase) => {
    await hosts.checkPrimary(client)
    await setPlannerOptions(client)
  }
  const readers = new pg.Pool({ ...config, max: settings.readers, onConnect: prepare })
  const writers = new pg.Pool({
    ...config,
    max: settings.writers,
    onConnect: async (client) => {
      await prepare(client)
      writerOf.set(client, await registerWriter(client, statements))
    },
  })
  // The pool has already removed an idle connection that breaks, and replaces it on demand.
  for (const pool of [readers, writers]) pool.on('error', () => undefined)
  let where: string | undefined = settings.where
  const use = <T>(pool: pg.Pool, body: (session: Session, client: ClientBase) => Promise<T>) =>
    useConnection(() => takeConnection(pool, hosts.count, where), body)

  const connections: Connections = {
    statements,
    writers: settings.writers,
    isPostgres: true,
    read: (statement, values) => use(readers, (session) => session.run(statement, values)),
    withReader: (body) => use(readers, body),
    withWriter: (body) => use(writers, (session, client) => body(session, writerOf.get(client)!)),
    async close() {
      await Promise.all([readers.end(), writers.end()])
    },
  }
  try {
    await createTables(connections)
    const [[version]] = (await connections.read({ text: 'SELECT version()' }, [])) as [Row]
    where = undefined
    return { ...connections, isPostgres: /^PostgreSQL/.test(version ?? '') }
  } catch (error) {
    await connections.close()
    throw toStorageError(where, error)
  }
}

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

const CREATE_ATTEMPTS = 10

const createTables = async ({ read, statements }: Connections): Promise<void> => {
  for (let attempt = 1; ; attempt++)
    try {
      for (const text of statements.createTables) await read({ text }, [])
      return
    } catch (error) {
      if (attempt === CREATE_ATTEMPTS || !isCatalogRace(error)) throw error
      await new Promise((resolve) => setTimeout(resolve, 50 * Math.random() * attempt))
    }
}

/** Tries each host at most once. */
const takeConnection = async (
  pool: pg.Pool,
  hostCount: number,
  where: string | undefined,
): Promise<PoolClient> => {
  for (let attempt = 1; ; attempt++)
    try {
      return await pool.connect()
    } catch (cause) {
      if (isPoolExhausted(cause))
        throw new StorageError(
          'busy',
          'all connections to the database have been in use for too long: try again in a moment',
          { cause },
        )
      if (attempt >= hostCount || !isWrongHost(cause)) throw toStorageError(where, cause)
    }
}

const useConnection = async <T>(
  take: () => Promise<PoolClient>,
  body: (session: Session, client: ClientBase) => Promise<T>,
): Promise<T> => {
  const client = await take()
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

/** A connection while one caller holds it. Runs one statement at a time. */
export class Session {
  readonly #client: ClientBase
  readonly #mutex = new Mutex()
  /** The first error of the database. Every later statement fails with it, even when the caller has caught it. */
  failure: unknown
  /** Whether the pool must close the connection instead of using it again. */
  isBroken = false

  constructor(client: ClientBase) {
    this.#client = client
  }

  run(statement: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    return this.#mutex.run(async () => {
      if (this.failure !== undefined) throw this.failure
      try {
        return await query(this.#client, statement, values)
      } catch (error) {
        this.failure = error
        // A statement that timed out may still be running on the connection.
        this.isBroken ||= isLost(error)
        throw error
      }
    })
  }

  async rollBack(): Promise<void> {
    if (!this.isBroken) await query(this.#client, { text: 'ROLLBACK' }, []).catch(() => this.discard())
  }

  discard(): void {
    this.isBroken = true
  }
}

const asText = { getTypeParser: () => (text: string) => text }

const query = async (
  client: ClientBase,
  statement: Statement,
  values: readonly unknown[],
): Promise<Row[]> => {
  const { rows } = await client.query<(string | null)[]>({
    ...statement,
    values: [...values],
    rowMode: 'array',
    types: asText as never,
  })
  return rows
}
