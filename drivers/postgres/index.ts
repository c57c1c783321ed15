/**
 * The PostgreSQL driver keeps ordered bytes in one table, `allot_entry (key, value)`.
 *
 * **A read** runs in one REPEATABLE READ READ ONLY transaction, whose snapshot the first statement takes;
 * BEGIN is sent with it. All gets and ranges that `body` issues before it waits go as one statement
 * (reads.ts). A read with a name first asks for what the last one of the name has asked for, too, up to a
 * megabyte.
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
import { LRUCache } from 'lru-cache'
import { guarded, Lifecycle, type ReadTransaction, type StorageDriver } from '../../lib/storage/index.ts'
import { Connections } from './connections.ts'
import { isLost, toStorageError } from './errors.ts'
import { type Query, type QueryResult, readResults, readTransaction, readValues } from './reads.ts'
import type { Session } from './session.ts'
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
  /** What the last read of each name has asked for. Nothing that was found is kept. */
  const asked = new LRUCache<string, Asked>({
    maxSize: MAX_SIZE,
    sizeCalculation: (queries) => [...queries.keys()].reduce((size, id) => size + sizeOf(id), QUERY_SIZE),
  })
  return {
    name: 'postgres',
    shared: true,
    open: () => lifecycle.open(),
    read: (body, name = '') =>
      lifecycle.use(({ connections }) => {
        const snapshot = new Snapshot(connections, asked.get(name))
        return snapshot.run(body).finally(() => name !== '' && asked.set(name, snapshot.asked))
      }),
    write: (body) => lifecycle.use(({ writer }) => writer.write(body)),
    close: () => lifecycle.close(),
  }
}

/** Bytes of what is remembered, and of a query with a short id, both estimated. */
const [MAX_SIZE, QUERY_SIZE] = [16 * 1024 * 1024, 500]
/** Of a query: its id can take two bytes for each character, and its keys take one. */
const sizeOf = (id: string) => QUERY_SIZE + 3 * id.length
/** Bytes that the remembered queries of a read may find, and what an entry counts besides its value. */
const [MAX_AHEAD, ENTRY_SIZE] = [1_000_000, 200]

/** Queries by id. */
type Asked = ReadonlyMap<string, Query>
const byId = (queries: readonly Query[]): Asked => new Map(queries.map((query) => [query.id, query]))

/** A transaction that reads. It takes a connection when something is read. */
class Snapshot {
  readonly asked = new Map<string, Query>()
  readonly #connections: Connections
  readonly #ahead: Asked
  #first: Promise<{ session: Session; known: ReadonlyMap<string, QueryResult> }> | undefined
  /** Bytes that its queries have found, or may find again. */
  #found = 0
  #isOver = false

  /** @param ahead queries that the first statement has, too, because the body will probably need them */
  constructor(connections: Connections, ahead: Asked = new Map()) {
    this.#connections = connections
    this.#ahead = ahead
  }

  async run<T>(body: (tx: ReadTransaction) => Promise<T>): Promise<T> {
    const { tx, end } = guarded(readTransaction((queries) => this.#read(queries)))
    const [outcome] = await Promise.allSettled([(async () => body(tx))()])
    end()
    this.#isOver = true
    const first = await this.#first
    const failure = first?.session.failure
    // The caller need not wait for it.
    void first?.session.end()
    if (failure !== undefined) throw toStorageError(undefined, failure)
    if (outcome.status === 'rejected') throw outcome.reason
    return outcome.value
  }

  async #read(queries: readonly Query[]): Promise<QueryResult[]> {
    // A body may fail while it still reads: nothing would give the connection back.
    if (this.#isOver) throw new Error('a transaction was used after its callback had settled')
    this.#first ??= this.#begin([...new Map([...this.#ahead, ...byId(queries)]).values()])
    const { session, known } = await this.#first
    const missing = queries.filter(({ id }) => !known.has(id))
    const results = missing.length === 0 ? [] : await this.#ask(session, missing)
    return queries.map((query) => this.#remember(query, known.get(query.id) ?? results.shift()!))
  }

  /** One that has found much is not asked ahead: a body that reads in steps does so to hold little. */
  #remember(query: Query, result: QueryResult): QueryResult {
    this.#found += result.reduce((size, [, value]) => size + value.length, ENTRY_SIZE * query.limit)
    if (this.#found <= MAX_AHEAD) this.asked.set(query.id, query)
    return result
  }

  /**
   * Sends BEGIN and the first statement together, on another connection when the one at hand is broken.
   * @returns what it found, by the ids of the queries
   */
  async #begin(queries: readonly Query[]) {
    for (let attempt = 1; ; attempt++) {
      const session = await this.#connections.take()
      try {
        const [, results] = await Promise.all([session.run(BEGIN), this.#ask(session, queries)])
        return { session, known: new Map(queries.map(({ id }, at) => [id, results[at]!])) }
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

const BEGIN = { text: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY' }
