import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { postgres } from '../../drivers/postgres/index.ts'
import { StorageError } from '../../lib/storage/index.ts'
import { load, save } from '../driver-spec/fixture.ts'
import { type Cluster, missing, startCluster, unprivileged } from '../postgres/cluster.ts'
import { freePort } from '../support/free-port.ts'

const noPooler =
  spawnSync('pgbouncer', ['--version']).status === 0
    ? false
    : 'PgBouncer is not installed: apt-get install pgbouncer'

let cluster: Cluster
let pooler: ChildProcess
let port: number

/** All settings but these are PgBouncer's defaults. */
const configuration = () => `[databases]
session = host=${cluster.folder} port=${cluster.port} dbname=postgres user=allot pool_mode=session
transaction = host=${cluster.folder} port=${cluster.port} dbname=postgres user=allot pool_mode=transaction
statement = host=${cluster.folder} port=${cluster.port} dbname=postgres user=allot pool_mode=statement
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
`

const through = (database: string) => `postgres://allot@127.0.0.1:${port}/${database}`

describe('Through PgBouncer with its default settings', { skip: missing || noPooler }, () => {
  before(async () => {
    cluster = await startCluster()
    port = await freePort()
    const file = join(cluster.folder, 'pgbouncer.ini')
    writeFileSync(file, configuration())
    pooler = spawn('pgbouncer', [file], { ...unprivileged(), stdio: ['ignore', 'ignore', 'pipe'] })
    for await (const chunk of pooler.stderr!) if (String(chunk).includes('listening on')) break
  })
  after(async () => {
    pooler.kill()
    if (pooler.exitCode === null) await once(pooler, 'exit')
    await cluster.dispose()
  })

  for (const plain of [false, true])
    test(`the ${plain ? 'plain' : 'optimistic'} engine reads and writes where sessions are kept`, async (t) => {
      const driver = postgres(through('session'), { plain })
      t.after(() => driver.close())
      await driver.open()
      await save(driver, { key: `${plain}` })
      assert.equal(await load(driver, 'key'), `${plain}`)
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
