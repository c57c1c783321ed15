import { Lifecycle, type StorageDriver } from '../../lib/storage/index.ts'
import { Connections } from './connections.ts'
import { WriteLimits } from './deadline.ts'
import { OutcomeCache, readOptimistic } from './optimistic.ts'
import { OptimisticWriter } from './optimistic-writer.ts'
import { type Engine, PlainEngine, unwrap } from './plain.ts'
import { QueryCache } from './query-cache.ts'
import { type PostgresOptions, parseSettings, type Settings } from './settings.ts'

export type { PostgresOptions } from './settings.ts'

/**
 * Keeps records in a PostgreSQL database, or in another one that speaks its protocol and has serializable transactions. Several
 * processes may share the database, and every transaction is serializable. The driver creates its tables, follows the primary of
 * several hosts, and finds out whether a commit took place whose reply was lost.
 * @param url such as `postgres://user:password@host:5432/database?sslmode=verify-full`; may name several hosts, of which
 *   the primary is used
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

/*
 * What is repeated, and what follows when it is in vain:
 *   a write whose reads have changed: `retries` times, then the plain engine; there `retries` times after a conflict, then 503
 *   a write with more and more to read: MAX_PREFETCHES (optimistic-writer.ts), then the plain engine
 *   a read whose results have changed: MAX_READ_RUNS (optimistic.ts), then the plain engine
 *   a batch that PostgreSQL refuses for a conflict although its reads are unchanged: MAX_SENDS (batch.ts), then 503
 *   anything whose connection breaks: MAX_BROKEN_CONNECTIONS (plain.ts), then 503
 * All runs of a write together have `writeTimeout`, then 503: `busy` when nothing was written, `away` when that is not known (deadline.ts).
 */
const start = async (settings: Settings): Promise<{ connections: Connections; engine: Engine }> => {
  const connections = await Connections.open(settings)
  const plain = new PlainEngine(connections, settings.retries)
  const isPlain = settings.plain || !connections.isPostgres
  return { connections, engine: isPlain ? plain : optimisticEngine(connections, plain, settings) }
}

const optimisticEngine = (connections: Connections, plain: PlainEngine, settings: Settings): Engine => {
  const maxSize = Math.floor(settings.readCache / 2)
  const cache = new QueryCache(connections, maxSize)
  const outcomes = new OutcomeCache(maxSize)
  const commits = new OptimisticWriter(connections, cache, plain, settings.retries)
  return {
    async read(body, { canRunAgain = false, cacheKey } = {}) {
      const outcome = canRunAgain ? await readOptimistic(cache, outcomes, body, cacheKey) : undefined
      return outcome === undefined ? plain.read(body) : unwrap(outcome)
    },
    write: (body, deadline) => commits.write(body, deadline),
  }
}
