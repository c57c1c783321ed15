import type { ConnectionOptions } from 'node:tls'
import { checkArgument, checkOptionNames, StorageError } from '../../lib/storage/index.ts'

/** All times are in milliseconds. */
export interface PostgresOptions {
  /**
   * Schema of the tables; created when missing. Default: `?schema=` of the URL, else the first of the search
   * path.
   */
  schema?: string | undefined
  /** Connections of the process. Default: 10. */
  connections?: number | undefined
  /** Limit for opening a connection, and for waiting until one is free. Default: 5,000. */
  connectTimeout?: number | undefined
  /** Limit for one statement of a write; one of a read has at most 4,500. Default: 20,000. */
  statementTimeout?: number | undefined
  /**
   * Limit in which a write is acknowledged or refused, waiting included, while the database does not reply.
   * Default: 25,000.
   */
  writeTimeout?: number | undefined
  /** How many times writes run again after conflicts with those of other processes. Default: 30. */
  retries?: number | undefined
  /**
   * Opens the store only while no other process uses it, and keeps others from opening it meanwhile, as a
   * repair needs it. Default: false.
   */
  exclusive?: boolean | undefined
  /** TLS settings for node:tls. The URL can set them too: `?sslmode=verify-full&sslrootcert=…`. */
  tls?: ConnectionOptions | boolean | undefined
}

export type Settings = ReturnType<typeof parseSettings>

const SESSION_ATTRIBUTES = 'target_session_attrs'

/** Every option, which the compiler checks, and whether it is a whole number from 1. */
const IS_COUNT: Record<keyof PostgresOptions, boolean> = {
  schema: false,
  connections: true,
  connectTimeout: true,
  statementTimeout: true,
  writeTimeout: true,
  retries: true,
  exclusive: false,
  tls: false,
}

/** Milliseconds. Node runs a timer of more after 1 ms, and PostgreSQL refuses a longer statement_timeout. */
const MAX_TIMEOUT = 2 ** 31 - 1

const checkOptions = (options: PostgresOptions): void => {
  checkOptionNames(options, Object.keys(IS_COUNT))
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || !IS_COUNT[name as keyof PostgresOptions]) continue
    checkArgument(Number.isInteger(value) && value > 0, name, 'a whole number from 1', value)
    const isTime = name.endsWith('Timeout')
    checkArgument(!isTime || value <= MAX_TIMEOUT, name, `at most ${MAX_TIMEOUT}`, value)
  }
}

/**
 * Options with their defaults, and the hosts of the URL.
 * @throws StorageError `failed` when the URL is not a PostgreSQL URL; AllotError invalid for a wrong option
 */
export const parseSettings = (url: string, options: PostgresOptions) => {
  checkOptions(options)
  const urls = parseHosts(url)
  const [{ pathname, searchParams }] = urls as [URL]
  const schema = options.schema ?? searchParams.get('schema') ?? undefined
  if (!['read-write', 'primary'].includes(searchParams.get(SESSION_ATTRIBUTES) ?? 'primary'))
    throw new StorageError(
      'failed',
      `${SESSION_ATTRIBUTES} in the database URL must be read-write or primary`,
    )
  for (const { searchParams } of urls)
    for (const name of ['schema', SESSION_ATTRIBUTES]) searchParams.delete(name)
  const hosts = urls.map(({ searchParams, host }) => searchParams.get('host') ?? (host || 'localhost'))
  const database = decodeName(pathname.slice(1)) || 'of the user'
  return {
    schema,
    connections: options.connections ?? 10,
    connectTimeout: options.connectTimeout ?? 5000,
    statementTimeout: options.statementTimeout ?? 20_000,
    writeTimeout: options.writeTimeout ?? 25_000,
    retries: options.retries ?? 30,
    exclusive: options.exclusive === true,
    tls: options.tls,
    /** One URL for each host; any of them may be the primary. */
    urls: urls.map(({ href }) => href),
    /** Names the hosts in the order of `urls`, without the password. */
    hosts,
    /** Names the database and its hosts in error messages, without the password. */
    where: `the database ${database} at ${hosts.join(',')}`,
  } satisfies Record<keyof PostgresOptions, unknown> & Record<string, unknown>
}

/**
 * Splits libpq's form for several hosts, `postgres://user@first:5432,second:5432/database`, into one URL
 * each.
 */
const parseHosts = (text: string): URL[] => {
  const [, head, hosts, tail] = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#@]*)(.*)$/s.exec(text) ?? []
  const urls = hosts?.split(',').map((host) => `${head}${host}${tail}`) ?? []
  if (urls.length === 0 || !urls.every((url) => URL.canParse(url))) throw notUrl()
  return urls.map((url) => new URL(url))
}

/** `new URL` accepts a percent sign without two hexadecimal digits. */
const decodeName = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    throw notUrl()
  }
}

/** The message does not repeat the text, which may hold a password. */
const notUrl = () =>
  new StorageError('failed', 'expected a URL such as postgres://user:password@host:5432/database')
