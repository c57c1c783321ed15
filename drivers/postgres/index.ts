/**
 * The PostgreSQL driver keeps ordered bytes in one table, `allot_entry (key, value)`, and runs transactions
 * by one of two engines, which is chosen when the store is opened: the optimistic one on PostgreSQL, the
 * plain one elsewhere and with the option `plain`. Both are serializable, so processes with different engines
 * may share a database.
 *
 * **Plain** (plain.ts): BEGIN, one statement for each group of reads, the changes, COMMIT. It works on any
 * database with PostgreSQL's protocol and serializable transactions. A transaction takes as many round trips
 * as it has dependent reads, plus about four.
 *
 * **Optimistic** (optimistic.ts, optimistic-writer.ts): optimistic concurrency control with backward
 * validation. A transaction runs in memory, over results that the read cache holds from earlier transactions,
 * and collects its read set. A single statement then compares the read set with the database: for a read,
 * that is all; for a write, the same statement also applies the changes. When a result was stale, nothing is
 * written and the transaction runs again over the current results. So a stale cache costs a round trip and
 * never a wrong result, and a transaction whose reads are cached takes one round trip. It needs PostgreSQL:
 * the statement changes two tables in one snapshot (WITH … UPDATE, INSERT, DELETE).
 *
 *            read(body)                               write(body)
 *                |                                         |
 *        +-------v--------+                      +---------v----------+   one transaction at a time,
 *        | run over the   |<---- read cache ---->| run over the cache |   over the changes of the
 *        | cache          |        ^             | and the batches    |   transactions before it
 *        +-------+--------+        |             +---------+----------+
 *                | read set        | fresh                 | read set, changes
 *        +-------v--------+        | results     +---------v----------+
 *        | validate       |--------+-------------| waiting batch      |   collects transactions while
 *        | (SELECT)       | stale: run again     +---------+----------+   another batch is in flight
 *        +-------+--------+        ^                       |
 *                | unchanged       | stale       +---------v----------+
 *                v                 +-------------| batch in flight    |   SERIALIZABLE: validates the
 *             result                             | (SELECT + UPDATE)  |   read set, then writes
 *                                                +---------+----------+
 *                                                          | committed
 *                                                          v
 *                                                   results of its writes
 *
 * Group commit: the writes of a process share batches, so they never conflict with each other, and a hot
 * counter costs one row update per batch. Batches of different processes can conflict. After repeated
 * conflicts they take turns with an advisory lock, which only saves retries: correctness comes from the
 * validation and from SERIALIZABLE.
 *
 * Fallback: beside the optimistic engine, the plain one runs a read that must not run again, and a
 * transaction whose reads and changes together exceed 1,000, that needs many dependent queries, or whose
 * reads keep changing.
 *
 * Lost replies: when a connection breaks during a commit, the row of this connection in `allot_writer` tells
 * whether the commit took place (`recoverOutcome` in plain.ts). Hosts, failover and pools: connections.ts.
 *
 * What is repeated, and what follows when it is in vain:
 *
 * - A write whose reads have changed: `retries` times, then the plain engine; there `retries` times after a
 *   conflict, then 503.
 * - A write with more and more to read: MAX_PREFETCHES (optimistic-writer.ts) since its last conflict, then
 *   the plain engine.
 * - A read whose results have changed: MAX_READ_RUNS (optimistic.ts), then the plain engine.
 * - A batch that PostgreSQL refuses for a conflict although its reads are unchanged: MAX_SENDS (batch.ts),
 *   then 503.
 * - Anything whose connection breaks: MAX_BROKEN_CONNECTIONS (plain.ts), then 503.
 *
 * A write waits at most `writeTimeout` while the database does not reply, then 503: `busy` when nothing was
 * written, `away` when that is not known (deadline.ts). The time is that of all runs together with the
 * optimistic engine, and begins again at each reply with the plain one.
 */
import { Lifecycle, type StorageDriver } from '../../lib/storage/index.ts'
import { Connections } from './connections.ts'
import { WriteLimits } from './deadline.ts'
import { readOptimistic } from './optimistic.ts'
import { OptimisticWriter } from './optimistic-writer.ts'
import { type Engine, PlainEngine, unwrap } from './plain.ts'
import { QueryCache } from './query-cache.ts'
import { type PostgresOptions, parseSettings, type Settings } from './settings.ts'

export type { PostgresOptions } from './settings.ts'

/**
 * Keeps records in a PostgreSQL database, or in another one that speaks its protocol and has serializable
 * transactions. Several processes may share the database, and every transaction is serializable. The driver
 * creates its tables, follows the primary of several hosts, and finds out whether a commit took place whose
 * reply was lost.
 * @param url such as `postgres://user:password@host:5432/database?sslmode=verify-full`; may name several
 *   hosts, of which the primary is used
 * @throws StorageError `failed` when the URL is not a PostgreSQL URL
 */
export const postgres = (url: string, options: PostgresOptions = {}): StorageDriver => {
  const settings = parseSettings(url, options)
  const limits = new WriteLimits(settings.writeTimeout)
  const lifecycle = new Lifecycle(
    () => start(settings),
    ({ connections }) => connections.close(),
  )
  return {
    name: 'postgres',
    shared: true,
    open: () => lifecycle.open(),
    read: (body, readOptions) => lifecycle.use(({ engine }) => engine.read(body, readOptions)),
    write: (body) => lifecycle.use(({ engine }) => limits.run((deadline) => engine.write(body, deadline))),
    close: () => lifecycle.close(),
  }
}

const start = async (settings: Settings): Promise<{ connections: Connections; engine: Engine }> => {
  const connections = await Connections.open(settings)
  const plain = new PlainEngine(connections, settings.retries)
  const isPlain = settings.plain || !connections.isPostgres
  return { connections, engine: isPlain ? plain : optimisticEngine(connections, plain, settings) }
}

const optimisticEngine = (connections: Connections, plain: PlainEngine, settings: Settings): Engine => {
  const cache = new QueryCache(connections, Math.max(1, settings.readCache))
  const commits = new OptimisticWriter(connections, cache, plain, settings.retries)
  return {
    async read(body, { canRunAgain = false } = {}) {
      const outcome = canRunAgain ? await readOptimistic(cache, body) : undefined
      return outcome === undefined ? plain.read(body) : unwrap(outcome)
    },
    write: (body, deadline) => commits.write(body, deadline),
  }
}
