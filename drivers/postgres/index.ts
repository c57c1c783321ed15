import { Lifecycle, type StorageDriver } from '../../lib/storage/index.ts'
import type { Committing } from './batch.ts'
import { connect } from './connections.ts'
import { GroupCommit } from './group-commit.ts'
import { OutcomeCache, readCached } from './optimistic.ts'
import { type PostgresOptions, type Settings, settingsOf } from './options.ts'
import { readAtOnce, writeAtOnce } from './plain.ts'
import { ReadBatcher, ReadCache } from './read-cache.ts'

export type { PostgresOptions } from './options.ts'

/**
 * Records in a PostgreSQL database, which any number of processes share.
 * @param url such as `postgres://user:password@host:5432/database?sslmode=verify-full`
 */
export const postgres = (url: string, options: PostgresOptions = {}): StorageDriver => {
  const settings = settingsOf(url, options)
  const life = new Lifecycle(
    () => begin(settings),
    ({ connections }) => connections.close(),
  )
  return {
    name: 'postgres',
    shared: true,
    open: () => life.open(),
    read: (work, { again = false, as } = {}) =>
      life.use((fixture) =>
        again && fixture.commits !== undefined
          ? readCached(fixture, work, as)
          : readAtOnce(fixture.connections, work),
      ),
    write: (work) =>
      life.use(
        ({ connections, commits }) => commits?.run(work) ?? writeAtOnce(connections, settings.retries, work),
      ),
    close: () => life.close(),
  }
}

/** Without `commits` every transaction is begun and ended in statements of its own. */
interface House extends Committing {
  readonly commits: GroupCommit | undefined
  readonly results: OutcomeCache
}

const begin = async (settings: Settings): Promise<House> => {
  const connections = await connect(settings)
  const readCache = new ReadCache(settings.recollection / 2)
  const results = new OutcomeCache(settings.recollection / 2)
  const fixture = { connections, readCache: readCache, batcher: new ReadBatcher(connections, readCache) }
  const isPlain = settings.plain || !connections.isPostgres
  return { ...fixture, results, commits: isPlain ? undefined : new GroupCommit(fixture, settings.retries) }
}
