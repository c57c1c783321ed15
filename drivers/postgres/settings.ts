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

/** The options that are whole numbers from 1. */
const DEFAULTS = {
  connections: 10,
  connectTimeout: 5000,
  statementTimeout: 20_000,
  writeTimeout: 25_000,
  retries: 30,
}

/** Milliseconds. Node runs a timer of more after 1 ms, and PostgreSQL refuses a longer statement_timeout. */
const MAX_TIMEOUT = 2 ** 31 - 1

const numbersOf = (options: PostgresOptions): typeof DEFAULTS => {
  const numbers = { ...DEFAULTS }
  for (const name of Object.keys(DEFAULTS) as (keyof typeof DEFAULTS)[]) {
    const value = options[name] ?? DEFAULTS[name]
    checkArgument(Number.isInteger(value) && value > 0, name, 'a whole number from 1', value)
    const isTime = name.endsWith('Timeout')
    checkArgument(!isTime || value <= MAX_TIMEOUT, name, `at most ${MAX_TIMEOUT}`, value)
    numbers[name] = value
  }
  return numbers
}

/**
 * Options with their defaults, and the hosts of the URL.
 * @throws StorageError `failed` when the URL is not a PostgreSQL URL; AllotError invalid for a wrong option
 */
export const parseSettings = (url: string, options: PostgresOptions) => {
  checkOptionNames(options, [...Object.keys(DEFAULTS), 'schema', 'exclusive', 'tls'])
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
    ...numbersOf(options),
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
