import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { diskEntries } from '../../lib/records/schema/index.ts'
import { takeNumber } from '../../lib/records/store.ts'
import { spawnChild } from '../support/child.ts'
import { waitFor } from '../support/wait-for.ts'
import { bytesIn, startGit } from './served.ts'

const [HOUR, DAY] = [3600, 24 * 3600]

/** Leaves an entry in the push journal, as a server does that is killed before it counts a push. */
const begun = async (t: TestContext) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const driver = { ...memory(), shared: true }
  const served = await startGit({ driver })
  const alice = await served.person('alice')
  const folder = await served.folderOf(await served.repository(alice, 'demo', { auto_init: true }))
  writeFileSync(join(folder, 'objects/more'), 'x'.repeat(1000))
  const number = await driver.write((tx) => takeNumber(tx, 'push'))
  const leave = (age: number, pid: number | null = null) =>
    driver.write(async (tx) => {
      const since = Math.floor(Date.now() / 1000) - age
      const { id } = (await served.allot.hosting.repositories.find(
        { id: alice.id, admin: false },
        'alice',
        'demo',
      ))!
      await diskEntries.save(tx, { what: 'push', id: number, repository: id, pid, since })
    })
  const counted = async () => (await served.allot.quota.info('alice')).used.size.repos.public
  const settle = () => served.allot.hosting.disk.settleAbandoned()
  return { leave, counted, settle, folder, there: bytesIn(folder) }
}

it('counts a push that another process left uncounted once it is a day and an hour old, within an hour', async (t) => {
  const { leave, counted, there } = await begun(t)
  assert.notEqual(await counted(), there)
  await leave(DAY + HOUR)
  t.mock.timers.tick(HOUR * 1000)
  await waitFor(async () => (await counted()) === there)
  assert.equal(await counted(), there)
})

it('does not count a push that may still be in progress in another process', async (t) => {
  const { leave, counted, settle, there } = await begun(t)
  await leave(DAY)
  const before = await counted()
  t.mock.timers.tick(HOUR * 1000)
  await settle()
  assert.equal(await counted(), before)
  assert.notEqual(before, there)
})

it('ends no process with the pid that a push had on another machine', async (t) => {
  const { leave, counted, folder, there } = await begun(t)
  const other = spawnChild('sh', ['-c', 'read line', folder])
  await once(other, 'spawn')
  await leave(DAY + HOUR, other.pid)
  t.mock.timers.tick(HOUR * 1000)
  await waitFor(async () => (await counted()) === there)
  assert.deepEqual([other.exitCode, other.signalCode], [null, null])
  other.stdin.end()
  await once(other, 'exit')
})
