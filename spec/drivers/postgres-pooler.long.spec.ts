import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import pg from 'pg'
import { postgres } from '../../drivers/postgres/index.ts'
import { StorageError } from '../../lib/storage/index.ts'
import { load, openFor, save } from '../driver-spec/fixture.ts'
import { type Cluster, startCluster, unprivileged } from '../postgres/cluster.ts'
import { printed, spawnChild } from '../support/child.ts'
import { freePort } from '../support/free-port.ts'
import { lacks, programOf } from '../support/requirements.mjs'

let cluster: Cluster
let port: number

/** All settings but these are PgBouncer's defaults. */
const configuration = (mode = 'session') => `[databases]
session = host=${cluster.folder} port=${cluster.port} dbname=postgres user=allot pool_mode=session
changing = host=${cluster.folder} port=${cluster.port} dbname=postgres user=allot pool_mode=${mode}
transaction = host=${cluster.folder} port=${cluster.port} dbname=postgres user=allot pool_mode=transaction
statement = host=${cluster.folder} port=${cluster.port} dbname=postgres user=allot pool_mode=statement
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
admin_users = allot
`

const through = (database: string) => `postgres://allot@127.0.0.1:${port}/${database}`

const startPooler = async (attempts = 3): Promise<void> => {
  port = await freePort()
  const file = join(cluster.folder, 'pgbouncer.ini')
  writeFileSync(file, configuration())
  try {
    await printed(spawnChild(programOf('PgBouncer')!, [file], unprivileged()), /listening on/)
  } catch (error) {
    // Another program may have taken the port meanwhile.
    if (attempts === 1) throw error
    await startPooler(attempts - 1)
  }
}

describe('Through PgBouncer with its default settings', { skip: lacks('PostgreSQL', 'PgBouncer') }, () => {
  before(async () => {
    cluster = await startCluster()
    await startPooler()
  })

  test('a store reads and writes where sessions are kept', async (t) => {
    const driver = await openFor(t, postgres(through('session')))
    await save(driver, { key: 'value' })
    assert.equal(await load(driver, 'key'), 'value')
  })

  test('a connection that has lost its prepared statements is replaced by another', async (t) => {
    const driver = await openFor(t, postgres(through('changing')))
    await save(driver, { key: 'value' })
    writeFileSync(join(cluster.folder, 'pgbouncer.ini'), configuration('transaction'))
    const console = new pg.Client({ connectionString: through('pgbouncer') })
    await console.connect()
    // Other sessions of the server take the place of those in which statements were prepared.
    for (const command of ['RELOAD', 'RECONNECT']) await console.query(command)
    await console.end()
    assert.equal(await load(driver, 'key'), 'value')
    await save(driver, { key: 'other' })
    assert.equal(await load(driver, 'key'), 'other')
  })

  for (const mode of ['transaction', 'statement'])
    test(`a store is not opened where ${mode}s share sessions, and the error names the setting`, async () => {
      await assert.rejects(postgres(through(mode)).open(), (error: StorageError) => {
        assert.ok(error instanceof StorageError)
        assert.match(error.message, /shares sessions between connections: set pool_mode = session/)
        return true
      })
    })
})
