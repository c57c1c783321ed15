import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import { postgres } from '../../drivers/postgres/index.ts'
import { atEnd } from '../support/cleanup.ts'
import { type Cluster, missing, startCluster } from './cluster.ts'

/** How long the server stays without room for locks. */
const SHORT_MS = 1500
const ROWS = 20_000

/** A connection of the cluster whose transactions are serializable. */
const connect = async ({ url }: Cluster): Promise<pg.Client> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  atEnd(() => client.end())
  await client.query("SET enable_seqscan = off; SET default_transaction_isolation = 'serializable'")
  return client
}

/**
 * Reads row after row, each in its own transaction, until the server refuses the next one: a transaction that
 * runs meanwhile keeps the locks of all of them in the table.
 */
const fillLockTable = async (client: pg.Client): Promise<void> => {
  for (let id = 1; id <= ROWS; id++)
    try {
      await client.query('SELECT id FROM filler WHERE id = $1', [id])
    } catch (error) {
      assert.equal((error as pg.DatabaseError).code, '53200')
      return
    }
  assert.fail('the server has room for all of the locks')
}

describe('A PostgreSQL server without room for the locks of further transactions', { skip: missing }, () => {
  let cluster: Cluster
  before(async () => {
    cluster = await startCluster({ settings: ['max_pred_locks_per_transaction=10'] })
    const client = await connect(cluster)
    await client.query(`CREATE TABLE filler AS SELECT id FROM generate_series(1, ${ROWS}) AS id`)
    await client.query('CREATE UNIQUE INDEX ON filler (id)')
  })

  it('delays writes until the transaction that fills it has ended', async () => {
    const driver = postgres(cluster.url)
    await driver.open()
    const holder = await connect(cluster)
    await holder.query('BEGIN; SELECT id FROM filler WHERE id = 1')
    await fillLockTable(await connect(cluster))
    let isHeld = true
    const release = setTimeout(SHORT_MS).then(async () => {
      isHeld = false
      await holder.query('COMMIT')
    })
    const keys = Array.from({ length: 50 }, (_, at) => Buffer.from(`${at}`))
    await driver.write(async (tx) => {
      assert.deepEqual(
        await tx.getMany(keys),
        keys.map(() => undefined),
      )
      for (const key of keys) tx.put(key, key)
    })
    assert.equal(isHeld, false, 'the write had no room before')
    await release
    assert.deepEqual(await driver.read((tx) => tx.getMany(keys)), keys)
    await driver.close()
  })
})
