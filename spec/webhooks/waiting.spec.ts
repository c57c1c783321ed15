import assert from 'node:assert/strict'
import { it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { decodeKey } from '../../lib/records/key-codec.ts'
import { recordKey } from '../../lib/records/layout.ts'
import { type Delivery, deliveries, hooks } from '../../lib/records/schema/index.ts'
import { keyText, type ReadTransaction, type StorageDriver } from '../../lib/storage/index.ts'
import { start } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'

const MINUTE_MS = 60_000

/** A delivery of a webhook that is deleted, so that nothing is sent. */
const waiting = (hook: number, number: number): Delivery => ({
  ...{
    hook,
    number,
    uuid: `${hook}-${number}`,
    event: 'push',
    action: '',
    creator: 1,
    payload: null,
    repeats: null,
  },
  ...{ state: 'waiting', attempts: 0, nextAt: 0, createdAt: 0, finishedAt: null, duration: null },
  ...{ status: null, answer: '', error: '' },
})

/**
 * A driver that counts what is read of the index of waiting deliveries, and the looks for the last webhook.
 */
const counting = (driver: StorageDriver, last: string) => {
  const counts = { entries: 0, looks: 0 }
  const noting = (tx: ReadTransaction): ReadTransaction => ({
    ...tx,
    getMany(keys) {
      if (keys.some((key) => keyText(key) === last)) counts.looks++
      return tx.getMany(keys)
    },
    async *range(range) {
      for await (const entry of tx.range(range)) {
        if (decodeKey(entry[0]).slice(0, 3).join(' ') === 'delivery o waiting') counts.entries++
        yield entry
      }
    },
  })
  const read: StorageDriver['read'] = (body, options) => driver.read((tx) => body(noting(tx)), options)
  return { counts, driver: { ...driver, read } }
}

it('finds the webhooks with waiting deliveries by one delivery of each', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const last = keyText(recordKey(hooks.options.name, [102]))
  const { counts, driver } = counting({ ...memory(), shared: true }, last)
  const server = await start({ driver, webhooks: true })
  const change = (body: (delivery: Delivery) => (tx: never) => Promise<unknown>) =>
    driver.write(async (tx) => {
      for (const hook of [101, 102])
        for (let number = 1; number <= 300; number++) await body(waiting(hook, number))(tx as never)
    })
  await change((delivery) => (tx) => deliveries.save(tx, delivery))
  Object.assign(counts, { entries: 0, looks: 0 })
  t.mock.timers.tick(MINUTE_MS)
  await waitFor(() => counts.looks > 0)
  assert.deepEqual(counts, { entries: 2, looks: 1 })
  await change(
    ({ hook, number }) =>
      (tx) =>
        deliveries.remove(tx, [hook, number]),
  )
  await server.stop()
})
