import { describe } from 'node:test'
import pg from 'pg'
import { type PostgresOptions, postgres } from '../../drivers/postgres/index.ts'
import { type Candidate, driverSpec } from '../driver-spec.ts'
import { missing } from '../postgres/cluster.ts'
import { emptyStore } from '../postgres/empty-store.ts'
import { onPostgres } from '../support/store.ts'

/** Partitions as in docs/scale.md. The keys of the suite lie on both sides of each bound and on it. */
const partition = async (url: string): Promise<void> => {
  const client = new pg.Client({ connectionString: url })
  const schema = new URL(url).searchParams.get('schema')!
  await client.connect()
  const made = `CREATE SCHEMA ${schema};
    CREATE TABLE ${schema}.allot_entry (key bytea PRIMARY KEY, value bytea NOT NULL) PARTITION BY RANGE (key)`
  const bounds = ['MINVALUE', "'c'", "'k'", "'k3'", "'\\xff'", 'MAXVALUE']
  const parts = bounds.slice(1).map(
    (end, at) => `CREATE TABLE ${schema}.part_${at} PARTITION OF ${schema}.allot_entry
      FOR VALUES FROM (${bounds[at]}) TO (${end})`,
  )
  for (const text of [made, ...parts]) await client.query(text)
  await client.end()
}

const candidate = (
  name: string,
  options: PostgresOptions,
  prepare?: (url: string) => Promise<void>,
): Candidate => ({
  name,
  durable: true,
  shared: true,
  async create() {
    const { url, drop } = await emptyStore()
    await prepare?.(url)
    const made = [postgres(url, options)]
    return {
      driver: made[0]!,
      async reopen() {
        made.push(postgres(url, options))
        return made.at(-1)!
      },
      recipe: {
        module: import.meta.resolve('../../drivers/postgres/index.ts'),
        name: 'postgres',
        parameters: [url],
      },
      async dispose() {
        await Promise.all(made.map((driver) => driver.close()))
        await drop()
      },
    }
  },
})

describe('on PostgreSQL', { skip: missing }, () => {
  driverSpec(candidate('postgres', {}))
  // The other configurations run in `npm run spec:postgres`.
  if (!onPostgres) return
  driverSpec(candidate('postgres with the plain engine', { plain: true }))
  driverSpec(candidate('postgres with a partitioned table', {}, partition))
  driverSpec(candidate('postgres with a tiny read cache', { readCache: 64 * 1024 }))
})
