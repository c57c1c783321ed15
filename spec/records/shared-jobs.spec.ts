import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { memory } from '../../drivers/memory/index.ts'
import { createAllot } from '../../lib/allot.ts'
import { jobs } from '../../lib/records/jobs.ts'

it('A job that a killed process left in a shared store is done by another process within a minute', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const driver = { ...memory(), shared: true }
  const allot = await createAllot({ driver, repositories: false })
  t.after(() => allot.close())
  await driver.write((tx) => jobs.save(tx, { kind: 'updateRelations', id: 1 }))
  const pending = () => driver.read((tx) => jobs.count(tx, 'kind', ['updateRelations']))
  t.mock.timers.tick(59_000)
  assert.equal(await pending(), 1)
  t.mock.timers.tick(1000)
  for (let attempts = 0; attempts < 400 && (await pending()) > 0; attempts++) await sleep(25)
  assert.equal(await pending(), 0)
})
