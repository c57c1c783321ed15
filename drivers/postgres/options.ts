import type { ConnectionOptions } from 'node:tls'
import { StorageError } from '../../lib/storage/index.ts'

/** Times are milliseconds. */
export interface PostgresOptions {
  /** Where the tables are: made when it is missing. The first of the search path when absent; `?schema=` says it too. */
  schema?: string
  /** Connections that read: 6 when absent. */
  readers?: number
  /** Connections that write: 4 when absent. */
  writers?: number
  /** How long a new connection may take, and how long to wait for one when all are in use: 5,000 when absent. */
  connectTimeout?: number
  /** How long one statement may take: 30,000 when absent. */
  statementTimeout?: number
  /** How often a write is begun again when others are in its way: 30 when absent. */
  retries?: number
  /** Bytes of what the database answered before, by which reads and writes need fewer round trips: 32 MiB when absent. */
  recollection?: number
  /**
   * Every transaction in statements of its own, such as any database that speaks PostgreSQL's language takes: more round
   * trips. By itself where the database is no PostgreSQL.
   */
  plain?: boolean
  /** As node:tls takes it. `?sslmode=verify-full&sslrootcert=…` in the URL says it too. */
  tls?: ConnectionOptions | boolean
}

export type Settings = Required<Omit<PostgresOptions, 'schema' | 'tls'>> &
  Pick<PostgresOptions, 'schema' | 'tls'> & {
    url: string
    /** The database in words, without a password. */
    where: string
  }

/** @throws StorageError failed for what is no such URL. */
export const settingsOf = (given: string, options: PostgresOptions): Settings => {
  const url = parsed(given)
  const schema = options.schema ?? url.searchParams.get('schema') ?? undefined
  url.searchParams.delete('schema')
  const host = url.searchParams.get('host') ?? (url.host || 'localhost')
  return {
    readers: 6,
    writers: 4,
    connectTimeout: 5000,
    statementTimeout: 30_000,
    retries: 30,
    recollection: 32 * 1024 ** 2,
    plain: false,
    ...options,
    ...(schema === undefined ? {} : { schema }),
    url: url.href,
    where: `the database ${decodeURIComponent(url.pathname.slice(1)) || 'of the user'} at ${host}`,
  }
}

const parsed = (given: string): URL => {
  const url = URL.canParse(given) ? new URL(given) : undefined
  // Without the text itself: it may hold a password.
  if (url === undefined || !/^postgres(ql)?:$/.test(url.protocol))
    throw new StorageError('failed', 'expected a URL such as postgres://user:password@host:5432/database')
  return url
}
