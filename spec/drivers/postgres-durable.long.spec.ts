import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import pg from 'pg'
import { postgres } from '../../drivers/postgres/index.ts'
import { load, openFor, save } from '../driver-spec/fixture.ts'
import { missing, startCluster } from '../postgres/cluster.ts'

/** PostgreSQL writes what was committed to the disk by itself only after this time, in milliseconds. */
const LATE = 'wal_writer_delay=10000'

describe('A role with synchronous_commit = off', { skip: missing }, () => {
  test('loses no acknowledged write when PostgreSQL is killed', async (t) => {
    const cluster = await startCluster({ settings: [LATE] })
    const client = new pg.Client({ connectionString: cluster.url })
    await client.connect()
    await client.query('ALTER ROLE allot SET synchronous_commit = off')
    await client.end()
    const driver = await openFor(t, postgres(cluster.url))
    for (let number = 1; number <= 20; number++) await save(driver, { key: `${number}` })
    await cluster.stop('immediate')
    await cluster.start()
    assert.equal(await load(driver, 'key'), '20')
  })
})
