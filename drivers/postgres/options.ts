import type { ConnectionOptions } from 'node:tls'
import { urlsIn } from './failover.ts'

/** Times are milliseconds. */
export interface PostgresOptions {
  /** Where the tables are: made when it is missing. The first of the search path when absent; `?schema=` says it too. */
  schema?: string | undefined
  /** Connections that read: 6 when absent. */
  readers?: number | undefined
  /** Connections that write: 4 when absent. */
  writers?: number | undefined
  /** How long a new connection may take, and how long to wait for one when all are in use: 5,000 when absent. */
  connectTimeout?: number | undefined
  /** How long one statement may take: 30,000 when absent. */
  statementTimeout?: number | undefined
  /** How often a write is begun again when others are in its way: 30 when absent. */
  retries?: number | undefined
  /** Bytes of what the database answered before, by which reads and writes need fewer round trips: 32 MiB when absent. */
  readCache?: number | undefined
  /**
   * Every transaction in statements of its own, such as any database that speaks PostgreSQL's language takes: more round
   * trips. By itself where the database is no PostgreSQL.
   */
  plain?: boolean | undefined
  /** As node:tls takes it. `?sslmode=verify-full&sslrootcert=…` in the URL says it too. */
  tls?: ConnectionOptions | boolean | undefined
}

const DEFAULTS = {
  readers: 6,
  writers: 4,
  connectTimeout: 5000,
  statementTimeout: 30_000,
  retries: 30,
  recollection: 32 * 1024 ** 2,
  plain: false,
}

export interface Settings extends Readonly<typeof DEFAULTS> {
  readonly schema: string | undefined
  readonly tls: ConnectionOptions | boolean | undefined
  /** One for each server that may be the one that takes writes. */
  readonly urls: readonly string[]
  /** The database in words, without a password. */
  readonly where: string
}

/** @throws StorageError failed for what is no such URL. */
export const settingsOf = (given: string, options: PostgresOptions): Settings => {
  const urls = urlsIn(given)
  const [first] = urls as [URL]
  const schema = options.schema ?? first.searchParams.get('schema') ?? undefined
  for (const url of urls) url.searchParams.delete('schema')
  const hosts = urls.map((url) => url.searchParams.get('host') ?? (url.host || 'localhost'))
  return {
    ...DEFAULTS,
    ...defined(options),
    schema,
    tls: options.tls,
    urls: urls.map(({ href }) => href),
    where: `the database ${decodeURIComponent(first.pathname.slice(1)) || 'of the user'} at ${hosts.join(',')}`,
  }
}

const defined = <T extends object>(options: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never
