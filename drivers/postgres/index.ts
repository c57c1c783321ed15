import { Lifetime, type StorageDriver } from '../../lib/storage/index.ts'
import { type Connections, connect } from './connections.ts'
import { type PostgresOptions, settingsOf } from './options.ts'
import { readAtOnce, writeAtOnce } from './transactions.ts'

export type { PostgresOptions } from './options.ts'

/**
 * Records in a PostgreSQL database, which any number of processes share.
 * @param url such as `postgres://user:password@host:5432/database?sslmode=verify-full`
 */
export const postgres = (url: string, options: PostgresOptions = {}): StorageDriver => {
  const settings = settingsOf(url, options)
  const life = new Lifetime(
    () => connect(settings),
    (connections) => connections.close(),
  )
  const use = <T>(work: (connections: Connections) => Promise<T>): Promise<T> => life.use(work)
  return {
    name: 'postgres',
    shared: true,
    open: () => life.open(),
    read: (work) => use((connections) => readAtOnce(connections, work)),
    write: (work) => use((connections) => writeAtOnce(connections, settings.retries, work)),
    close: () => life.close(),
  }
}
