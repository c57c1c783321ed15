import assert from 'node:assert/strict'
import { it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { decodeKey } from '../../lib/records/key-codec.ts'
import { deliveries, hookQueues } from '../../lib/records/schema/index.ts'
import { Store } from '../../lib/records/store.ts'
import type { ReadTransaction, StorageDriver } from '../../lib/storage/index.ts'
import { startReceiver } from '../support/receiver.ts'
import { start } from '../support/test-server.ts'

/** A driver that counts what is read of an index. */
const counting = (driver: StorageDriver, index: string) => {
  const counts = { entries: 0 }
  const noting = (tx: ReadTransaction): ReadTransaction => ({
    ...tx,
    async *range(range) {
      for await (const entry of tx.range(range)) {
        if (decodeKey(entry[0]).slice(0, 3).join(' ') === index) counts.entries++
        yield entry
      }
    },
  })
  const read: StorageDriver['read'] = (body) => driver.read((tx) => body(noting(tx)))
  return { counts, driver: { ...driver, read } }
}

it('finds what is due by one entry of each webhook, however many deliveries of each wait', async () => {
  const receiver = await startReceiver((_, res) => void res.writeHead(500).end())
  const driver = memory()
  const webhooks = { allowedHosts: ['127.0.0.1'] }
  const options = { repositories: false as const, webhooks }
  const first = await start({ driver, ...options })
  const config = { url: `${receiver.url}/waits`, content_type: 'json' }
  const given = { type: 'gitea', config, events: ['repository'], active: true }
  const ids: number[] = []
  for (let count = 0; count < 2; count++)
    ids.push((await first.as(first.root, 'POST', '/user/hooks', given)).body.id)
  for (let count = 0; count < 20; count++)
    await first.as(first.root, 'POST', '/user/repos', { name: `r${count}` })
  await receiver.at('/waits', 2)
  await first.stop()
  await driver.open()
  const store = new Store(driver)
  await store.write(async (tx) => {
    for (const hook of ids) await hookQueues.save(tx, { hook, last: 20, nextAt: 0 })
    for (const one of await deliveries.list(tx, 'waiting', { prefix: [] }))
      await deliveries.save(tx, { ...one, nextAt: 0 })
  })
  await driver.close()
  const before = receiver.received.length
  const { counts, driver: counted } = counting(driver, 'hookQueue o due')
  await start({ driver: counted, ...options }, { root: 'other' })
  await receiver.at('/waits', before + 2)
  assert.equal(counts.entries, ids.length)
})
