import assert from 'node:assert/strict'
import { it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { createAllot, openAllot } from '../../lib/allot.ts'
import { jobs } from '../../lib/records/jobs.ts'
import { diskEntries } from '../../lib/records/schema/index.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { waitFor } from '../support/wait-for.ts'

it('A job that a killed process left in a shared store is done by another process within a minute', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const driver = { ...memory(), shared: true }
  const allot = await createAllot({ driver, repositories: false })
  t.after(() => allot.close())
  await driver.write((tx) => jobs.save(tx, { kind: 'removeRepositoryContents', id: 1 }))
  const pending = () => driver.read((tx) => jobs.count(tx, 'kind', ['removeRepositoryContents']))
  t.mock.timers.tick(59_000)
  assert.equal(await pending(), 1)
  t.mock.timers.tick(1000)
  await waitFor(async () => (await pending()) === 0)
  assert.equal(await pending(), 0)
})

it('A command leaves the jobs and the leftovers in a shared store to the servers', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const driver = { ...memory(), shared: true }
  const files = { directory: temporaryDirectory() }
  const repositories = { directory: temporaryDirectory() }
  const leftovers = () =>
    driver.read(async (tx) => [
      await jobs.count(tx, 'kind', ['removeRepositoryContents']),
      (await diskEntries.get(tx, ['folder', 7])) !== undefined,
    ])
  const command = await openAllot({ driver, files, repositories }, { isServer: false })
  await driver.write(async (tx) => {
    await jobs.save(tx, { kind: 'removeRepositoryContents', id: 1 })
    await diskEntries.save(tx, { what: 'folder', repository: 7, since: 0 })
  })
  t.mock.timers.tick(3_600_000)
  await command.close()
  const next = await openAllot({ driver, files, repositories }, { isServer: false })
  assert.deepEqual(await leftovers(), [1, true])
  await next.close()
  const server = await openAllot({ driver, files, repositories })
  t.after(() => server.close())
  await waitFor(async () => !(await leftovers()).some(Boolean))
  assert.deepEqual(await leftovers(), [0, false])
})
