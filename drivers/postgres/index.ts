/**
 * The PostgreSQL driver keeps ordered bytes in one table, `allot_entry (key, value)`.
 *
 * **A read** runs in one REPEATABLE READ READ ONLY transaction, whose snapshot the first statement takes;
 * BEGIN is sent with it. All gets and ranges that `body` issues before it waits go as one statement
 * (reads.ts).
 *
 * **A write** waits until the batch before it is committed. Then all that wait run, in their order, over
 * one buffer and one SERIALIZABLE transaction, which commits their changes together (writer.ts). So the
 * writes of a process never conflict with each other, and a hot counter costs one row update for each
 * batch. To save round trips, the bodies of a batch run together once before that, for what they read:
 * their reads share statements, and the runs in order find the results in memory.
 *
 * What is repeated, and what follows when it is in vain:
 *
 * - A batch that conflicts with another process: `retries` times, with growing random pauses, then 503.
 * - A batch for whose locks the server has no room: `retries` times, some 10 seconds, then 503.
 * - A read whose first statement finds a broken connection, and a batch whose connection breaks before
 *   its commit is sent: MAX_BROKEN times, then 503.
 *
 * Each failure halves the next batch, so in the end only the write that causes it fails.
 *
 * A connection that breaks after the commit was sent ends in 503, since it is not known whether the
 * writes took place. A write waits at most `writeTimeout` while the database does not reply, then 503:
 * `busy` when nothing was written, `away` when that is not known.
 */
import { guarded, Lifecycle, type ReadTransaction, type StorageDriver } from '../../lib/storage/index.ts'
import { Connections } from './connections.ts'
import { isLost, toStorageError } from './errors.ts'
import { type Query, type QueryResult, readResults, readTransaction, readValues } from './reads.ts'
import { REPLY_TIMEOUT_MS, type Session } from './session.ts'
import { type PostgresOptions, parseSettings } from './settings.ts'
import { MAX_BROKEN, Writer } from './writer.ts'

export type { PostgresOptions } from './settings.ts'

/**
 * Keeps records in a PostgreSQL database. Several processes may share it, and every write is
 * serializable. The driver creates its tables, and uses the first of several hosts that accepts writes.
 * @param url such as `postgres://user:password@host:5432/database?sslmode=verify-full`; may name several
 *   hosts
 * @throws StorageError `failed` when the URL is not a PostgreSQL URL
 */
export const postgres = (url: string, options: PostgresOptions = {}): StorageDriver => {
  const settings = parseSettings(url, options)
  const lifecycle = new Lifecycle(
    async () => {
      const connections = await Connections.open(settings)
      return { connections, writer: new Writer(connections, settings) }
    },
    ({ connections }) => connections.close(),
  )
  return {
    name: 'postgres',
    shared: true,
    open: () => lifecycle.open(),
    read: (body) =>
      lifecycle.use(({ connections }) => new Snapshot(connections, settings.statementTimeout).run(body)),
    write: (body) => lifecycle.use(({ writer }) => writer.write(body)),
    close: () => lifecycle.close(),
  }
}

/** Limit for a statement of a read: with the reply, less than REPLY_TIMEOUT_MS. */
const READ_TIMEOUT_MS = REPLY_TIMEOUT_MS - 500
/** An export may write repositories and files for long before it reads on. */
const IDLE_TIMEOUT_MS = 60 * 60_000

/** A transaction that reads. It takes a connection when something is read. */
class Snapshot {
  readonly #connections: Connections
  readonly #beginText: string
  #first: Promise<{ session: Session; results: QueryResult[] }> | undefined
  #isOver = false

  constructor(connections: Connections, statementTimeout: number) {
    this.#connections = connections
    this.#beginText = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
      SET LOCAL statement_timeout = ${Math.min(statementTimeout, READ_TIMEOUT_MS)};
      SET LOCAL idle_in_transaction_session_timeout = ${IDLE_TIMEOUT_MS}`
  }

  async run<T>(body: (tx: ReadTransaction) => Promise<T>): Promise<T> {
    const { tx, end } = guarded(readTransaction((queries) => this.#read(queries)))
    const [outcome] = await Promise.allSettled([(async () => body(tx))()])
    end()
    this.#isOver = true
    const first = await this.#first
    if (first !== undefined) {
      const { session } = first
      // The caller need not wait for it.
      void session
        .run({ text: 'COMMIT' })
        .catch(() => undefined)
        .then(() => session.release())
      if (session.failure !== undefined) throw toStorageError(undefined, session.failure)
    }
    if (outcome.status === 'rejected') throw outcome.reason
    return outcome.value
  }

  async #read(queries: readonly Query[]): Promise<QueryResult[]> {
    // A body may fail while it still reads: nothing would give the connection back.
    if (this.#isOver) throw new Error('a transaction was used after its callback had settled')
    if (this.#first !== undefined) return this.#ask((await this.#first).session, queries)
    this.#first = this.#begin(queries)
    return (await this.#first).results
  }

  /** Sends BEGIN and the first statement together, on another connection when the one at hand is broken. */
  async #begin(queries: readonly Query[]): Promise<{ session: Session; results: QueryResult[] }> {
    for (let attempt = 1; ; attempt++) {
      const session = await this.#connections.take()
      try {
        const sent = [session.run({ text: this.#beginText }), this.#ask(session, queries)] as const
        const [, results] = await Promise.all(sent)
        return { session, results }
      } catch (error) {
        await session.release()
        if (!isLost(error) || attempt === MAX_BROKEN) throw toStorageError(undefined, error)
      }
    }
  }

  async #ask(session: Session, queries: readonly Query[]): Promise<QueryResult[]> {
    const { read } = this.#connections.statements
    return readResults(queries, await session.run(read, readValues(queries)))
  }
}
