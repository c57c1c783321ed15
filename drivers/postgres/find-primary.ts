import type { Client, ClientConfig } from 'pg'
import { StorageError } from '../../lib/storage/index.ts'
import { messageOf, toStorageError } from './errors.ts'
import { type Identity, identify, isFormer, isSamePrimary, otherPrimary } from './identity.ts'
import type { Settings } from './settings.ts'
import { pg } from './statements.ts'

/** A connection to a primary. */
export interface Found {
  readonly client: Client
  /** Position in the hosts of the URL. */
  readonly host: number
  readonly identity: Identity
}

/** Limit for a reply on the connection that {@link connectTo} returns. */
export const REPLY_TIMEOUT_MS = 5000
/**
 * Limit for each host, from the beginning of the connection to the reply; longer where connections may take
 * long to open.
 */
const ASK_TIMEOUT_MS = 3000
const askTimeoutMs = ({ connectTimeout }: Settings) => Math.max(ASK_TIMEOUT_MS, connectTimeout - 2000)
/** How long to wait for other hosts when one has replied: during a promotion there can be two primaries. */
const OTHER_HOSTS_MS = 500

/**
 * PgBouncer refuses a connection with limits among the startup parameters, so `Primary` sends them once it is
 * connected.
 */
export const clientConfig = ({ tls, connectTimeout, urls }: Settings, host: number): ClientConfig => ({
  connectionString: urls[host]!,
  ...(tls === undefined ? {} : { ssl: tls }),
  connectionTimeoutMillis: connectTimeout,
  keepAlive: true,
  application_name: 'allot',
})

/**
 * Opens a connection to one host.
 * @throws Error when the host is a standby, or does not reply in time
 */
export const connectTo = async (
  settings: Settings,
  host: number,
  timeoutMs = askTimeoutMs(settings),
): Promise<Found> => {
  const client = new pg.Client({ ...clientConfig(settings, host), query_timeout: REPLY_TIMEOUT_MS })
  // A connection that breaks between two statements would end the process.
  client.on('error', () => undefined)
  const timer = setTimeout(() => disconnect(client), timeoutMs)
  try {
    await client.connect()
    return { client, host, identity: await identify(client) }
  } catch (error) {
    disconnect(client)
    throw error
  } finally {
    clearTimeout(timer)
  }
}

/** Closes without waiting for a server that may be silent. Statements in flight fail. */
export const disconnect = (client: object): void =>
  (client as { connection?: { stream: { destroy(): void } } }).connection?.stream.destroy()

/**
 * Asks all hosts at the same time, and returns the newest primary.
 * @param newest the newest primary that is known: an older one is refused
 * @returns the primary, or the reason why each host is not a primary
 */
export const findPrimary = async (
  settings: Settings,
  newest: Identity | undefined,
): Promise<{ found: Found | undefined; failures: unknown[] }> => {
  const found: Found[] = []
  const failures: unknown[] = []
  // Before the first primary is known there is nothing to leave, so a slow one is waited for.
  const timeoutMs = newest === undefined ? settings.connectTimeout : askTimeoutMs(settings)
  const asked = settings.urls.map((_, host) => connectTo(settings, host, timeoutMs))
  await new Promise<void>((resolve) => {
    const collect = async (answer: Promise<Found>, host: number) => {
      try {
        const { client, identity } = await answer
        if (newest !== undefined && isFormer(identity, newest)) {
          disconnect(client)
          throw otherPrimary(identity, newest)
        }
        found.push(await answer)
        const isPromoted = newest !== undefined && !isSamePrimary(identity, newest)
        setTimeout(resolve, isPromoted ? 0 : OTHER_HOSTS_MS).unref()
      } catch (error) {
        failures[host] = error
      }
    }
    void Promise.all(asked.map(collect)).then(() => resolve())
  })
  const [best] = found.sort((left, right) => (isFormer(left.identity, right.identity) ? 1 : -1))
  for (const answer of asked)
    answer.then((other) => other !== best && disconnect(other.client)).catch(() => undefined)
  return { found: best, failures }
}

/**
 * Chooses the failure to report. One that needs the operator says more than a former primary, and that more
 * than a host that is away.
 * @param where as in `toStorageError`
 * @returns an error whose cause names each host with its failure, for the log
 */
export const toSearchError = (
  where: string | undefined,
  hosts: readonly string[],
  failures: readonly unknown[],
): StorageError => {
  const errors = failures.map((failure) => toStorageError(where, failure))
  const isFound = (_: StorageError, host: number) => failures[host] instanceof StorageError
  const { reason, message } =
    errors.find(({ reason }) => reason !== 'away') ?? errors.find(isFound) ?? errors.at(-1)!
  const reasons = failures.map((failure, host) => `${hosts[host]}: ${messageOf(failure)}`)
  return new StorageError(reason, message, { cause: new Error(reasons.join('; ')) })
}
