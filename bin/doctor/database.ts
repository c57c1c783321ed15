import type { Client } from 'pg'
import { type PostgresOptions, parseSettings } from '../../drivers/postgres/settings.ts'
import { importWith } from '../../lib/optional-package.ts'
import { failed, type Outcome, ok, warning } from './finding.ts'

const MIN_POSTGRES = 12
const MAX_SKEW_MS = 5000
const DATABASE_QUERY = `SELECT current_setting('server_version'), pg_is_in_recovery(),
  (extract(epoch FROM clock_timestamp()) * 1000)::float8, current_setting('fsync'),
  current_setting('synchronous_commit')`

/** Asks the database without creating its tables. */
export const checkDatabase = async (url: string, options: PostgresOptions): Promise<Outcome[]> => {
  const { urls, where, connectTimeout, tls } = parseSettings(url, options)
  const { default: pg } = await importWith('pg', 'PostgreSQL stores', () => import('pg'))
  const faults: string[] = []
  for (const connectionString of urls) {
    const ssl = tls === undefined ? {} : { ssl: tls }
    const client = new pg.Client({ connectionString, connectionTimeoutMillis: connectTimeout, ...ssl })
    const answer = await askDatabase(client).catch((error: Error) => error.message)
    if (typeof answer !== 'string') return databaseOutcomes(where, answer)
    faults.push(answer)
  }
  return [failed(`${where} cannot be used: ${faults.join('; ')}`)]
}

type Row = [version: string, isStandby: boolean, clock: number, fsync: string, synchronousCommit: string]

interface DatabaseAnswer {
  version: string
  fsync: string
  synchronousCommit: string
  /** Milliseconds by which its clock is ahead of the clock of this machine. */
  skewMs: number
}

/** @throws Error also when the host is a standby */
const askDatabase = async (client: Client): Promise<DatabaseAnswer> => {
  client.on('error', () => undefined)
  try {
    await client.connect()
    const before = Date.now()
    const { rows } = await client.query({ text: DATABASE_QUERY, rowMode: 'array' })
    const [version, isStandby, clock, fsync, synchronousCommit] = rows[0] as Row
    if (isStandby) throw new Error('this host is a standby: name the primary')
    return { version, fsync, synchronousCommit, skewMs: Math.round(clock - (before + Date.now()) / 2) }
  } finally {
    await client.end().catch(() => undefined)
  }
}

const databaseOutcomes = (where: string, answer: DatabaseAnswer): Outcome[] => {
  const { version, fsync, synchronousCommit, skewMs } = answer
  const isOld = Number.parseInt(version, 10) < MIN_POSTGRES
  const named = `${where} has version ${version}`
  const found = [
    isOld ? failed(`${named}: PostgreSQL ${MIN_POSTGRES} or later is needed`) : ok(`${named}, a primary`),
  ]
  if (fsync === 'off') found.push(warning('fsync is off, so a crash loses writes: turn it on'))
  if (!['on', 'remote_apply'].includes(synchronousCommit))
    found.push(
      warning(
        `synchronous_commit is ${synchronousCommit} for this user: Allot commits with on, other programs lose writes`,
      ),
    )
  const skew = `the clock of the database differs by ${skewMs} ms: synchronize both`
  if (Math.abs(skewMs) > MAX_SKEW_MS) found.push({ check: 'clock', ...warning(skew) })
  return found
}
