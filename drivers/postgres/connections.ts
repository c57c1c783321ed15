import { randomBytes } from 'node:crypto'
import type { ClientBase, PoolClient, PoolConfig } from 'pg'
import pg from 'pg'
import { type Bytes, Mutex, StorageError } from '../../lib/storage/index.ts'
import { isCatalogRace, isLost, isPoolExhausted, isWrongServer, toStorageError } from './errors.ts'
import { checkPrimary, clientOf, Hosts } from './failover.ts'
import type { Settings } from './options.ts'
import { type Statement, type Statements, statementsFor } from './statements.ts'

/** A connection that writes, as the database knows it; its writes are numbered. */
export interface Writer {
  readonly id: Bytes
  last: number
}

/** What is kept of the server while the driver is open. */
export interface Connections {
  readonly statements: Statements
  /** How many connections may write at once. */
  readonly writers: number
  /** Whether it takes what only PostgreSQL's planner and its kin take: several changes of one table in one statement. */
  readonly isPostgres: boolean
  /** What an error of pg means. */
  readonly explain: (cause: unknown) => StorageError
  /** One statement on any connection, outside of a transaction. */
  read(statement: Statement, values: readonly unknown[]): Promise<Row[]>
  /** A connection for transactions that read. */
  withReader<T>(work: (session: Session) => Promise<T>): Promise<T>
  /** A connection whose transactions are serialisable. */
  withWriter<T>(work: (session: Session, writer: Writer) => Promise<T>): Promise<T>
  close(): Promise<void>
}

const IDLE = 5 * 60_000
const PATIENCE_IN_TRANSACTION = 60_000

export const connect = async (settings: Settings): Promise<Connections> => {
  const statements = statementsFor(settings.schema)
  const writers = new WeakMap<ClientBase, Writer>()
  const hosts = new Hosts(settings.urls)
  const ready = async (client: ClientBase) => {
    await checkPrimary(hosts, client)
    await prepare(client)
  }
  const config = { ...configOf(settings), Client: clientOf(hosts) }
  const reading = new pg.Pool({ ...config, max: settings.readers, onConnect: ready })
  const writing = new pg.Pool({
    ...config,
    max: settings.writers,
    onConnect: async (client) => {
      await ready(client)
      await enlist(client, statements, writers)
    },
  })
  // An idle connection that breaks has left the pool by then, and whoever asks next gets a new one.
  for (const pool of [reading, writing]) pool.on('error', () => undefined)
  let isOpening = true
  const taken = (pool: pg.Pool) => take(pool, hosts.count, isOpening ? settings.where : undefined)

  const connections: Connections = {
    statements,
    writers: settings.writers,
    isPostgres: true,
    explain: (cause) => toStorageError(undefined, cause),
    read: (statement, values) => holding(taken(reading), (client) => rowsOf(client, statement, values)),
    withReader: (work) => holding(taken(reading), (client) => work(new Session(client))),
    withWriter: (work) =>
      holding(taken(writing), (client) => work(new Session(client), writers.get(client)!)),
    async close() {
      await Promise.all([reading.end(), writing.end()])
    },
  }
  try {
    await makeTables(connections)
    const [[version]] = (await connections.read({ text: 'SELECT version()' }, [])) as [Row]
    isOpening = false
    return { ...connections, isPostgres: /^PostgreSQL/.test(version ?? '') }
  } catch (error) {
    await connections.close()
    throw toStorageError(settings.where, error)
  }
}

const configOf = ({ tls, connectTimeout, statementTimeout }: Settings): PoolConfig => ({
  ...(tls === undefined ? {} : { ssl: tls }),
  connectionTimeoutMillis: connectTimeout,
  statement_timeout: statementTimeout,
  // The server's own limit comes first; this one is for a server that has gone without a word.
  query_timeout: statementTimeout + 5000,
  idle_in_transaction_session_timeout: PATIENCE_IN_TRANSACTION,
  idleTimeoutMillis: IDLE,
  keepAlive: true,
  application_name: 'allot',
})

/**
 * The planner would read a small table from end to end, which conflicts with every write; and where it must do without,
 * it takes the cost that it puts on that for a reason to compile the statement, which takes half a second. Nor is there
 * anything to plan anew for each execution, which would take longer than the execution does.
 */
const SETTINGS = `SET enable_seqscan = off; SET enable_bitmapscan = off; SET jit = off;
  SET plan_cache_mode = force_generic_plan`

/** What has no such planner says so. */
const prepare = async (client: ClientBase): Promise<void> => {
  await client.query(SETTINGS).catch((error: unknown) => {
    if (isLost(error)) throw error
  })
}

const enlist = async (
  client: ClientBase,
  statements: Statements,
  writers: WeakMap<ClientBase, Writer>,
): Promise<void> => {
  const writer = { id: randomBytes(16), last: 0 }
  await rowsOf(client, statements.enlist, [writer.id])
  await rowsOf(client, statements.forget, [])
  await client.query("SET default_transaction_isolation = 'serializable'")
  writers.set(client, writer)
}

/** @param hosts so many servers are tried, one after another. */
const take = async (pool: pg.Pool, hosts: number, where: string | undefined): Promise<PoolClient> => {
  for (let tried = 1; ; tried++)
    try {
      return await pool.connect()
    } catch (cause) {
      if (isPoolExhausted(cause))
        throw new StorageError('busy', 'every connection to the database has been in use for too long', {
          cause,
        })
      if (tried >= hosts || !isWrongServer(cause)) throw toStorageError(where, cause)
    }
}

const holding = async <T>(
  taken: Promise<PoolClient>,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> => {
  const client = await taken
  // A connection that breaks while nothing is asked of it says so here; the next question hears of it too.
  const hear = () => undefined
  client.on('error', hear)
  try {
    return await work(client)
  } finally {
    client.off('error', hear)
    client.release(isBroken(client) || client.getTransactionStatus() !== 'I')
  }
}

const ATTEMPTS = 10

const makeTables = async ({ read, statements }: Connections): Promise<void> => {
  for (let attempt = 1; ; attempt++)
    try {
      for (const text of statements.make) await read({ text }, [])
      return
    } catch (error) {
      if (attempt === ATTEMPTS || !isCatalogRace(error)) throw error
      await new Promise((resolve) => setTimeout(resolve, 50 * Math.random() * attempt))
    }
}

const broken = new WeakSet<object>()

/** A value of a row is text, or null. */
export type Row = readonly (string | null)[]

/** A connection that is held for as long as a transaction lasts; what is asked of it at once is asked one by one. */
export class Session {
  readonly #client: ClientBase
  readonly #turns = new Mutex()
  /** The first error of the database: work may hide it, but nothing that comes after it counts. */
  failure: unknown

  constructor(client: ClientBase) {
    this.#client = client
  }

  /** Ends a transaction that has come to nothing, so that the connection can be used again. */
  async rollBack(): Promise<void> {
    if (isBroken(this.#client)) return
    await rowsOf(this.#client, { text: 'ROLLBACK' }, []).catch(() => undefined)
  }

  /** Takes the connection out of use once it is given back. */
  discard(): void {
    broken.add(this.#client)
  }

  run(statement: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    return this.#turns.run(async () => {
      if (this.failure !== undefined) throw this.failure
      try {
        return await rowsOf(this.#client, statement, values)
      } catch (error) {
        this.failure = error
        throw error
      }
    })
  }
}

/** Values come as the text that the server sends: the driver's own types are few. */
const asText = { getTypeParser: () => (text: string) => text }

/** Whether the connection is of no use any more; what timed out may still be under way on it. */
export const isBroken = (client: object): boolean => broken.has(client)

export const rowsOf = async (
  client: ClientBase,
  statement: Statement,
  values: readonly unknown[],
): Promise<Row[]> => {
  try {
    const { rows } = await client.query<(string | null)[]>({
      ...statement,
      values: [...values],
      rowMode: 'array',
      types: asText as never,
    })
    return rows
  } catch (error) {
    if (isLost(error)) broken.add(client)
    throw error
  }
}
