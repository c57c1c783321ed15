import assert from 'node:assert/strict'
import { syncBuiltinESMExports } from 'node:module'
import { it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { memory } from '../../drivers/memory/index.ts'
import { deferred } from '../../lib/deferred.ts'
import { JobRunner } from '../../lib/records/job-runner.ts'
import { Jobs, jobs as records } from '../../lib/records/jobs.ts'
import { Store } from '../../lib/records/store.ts'
import { waitFor } from '../support/wait-for.ts'

/** Starts jobs of two kinds: one with one step that `prepare` precedes, and one with several steps. */
const withJobs = async (prepare: () => Promise<void>) => {
  const driver = memory()
  await driver.open()
  const store = new Store(driver)
  const jobs = new Jobs({ maxPerTransaction: 1, batchSize: 1 }, () => undefined)
  const failed: unknown[] = []
  const runner = new JobRunner(store, jobs, (_error, job) => failed.push(job))
  jobs.handle('copyLfsObjects', { prepare, step: async () => 0 })
  let entries = 3
  jobs.handle('removeLedgerEntries', { step: async () => (entries-- > 0 ? 1 : 0) })
  const pending = async () => {
    const found = await store.read((tx) => records.list(tx, 'kind', { prefix: [] }))
    return found.map(({ kind }) => kind)
  }
  await store.write(async (tx) => {
    await jobs.enqueue(tx, 'copyLfsObjects', 1)
    await jobs.enqueue(tx, 'removeLedgerEntries', 2)
  })
  runner.start()
  return { runner, failed, pending }
}

it('A job that waits does not delay jobs of other kinds', async () => {
  const copy = deferred<void>()
  const { runner, pending } = await withJobs(() => copy.promise)
  await waitFor(async () => (await pending()).length === 1)
  assert.deepEqual(await pending(), ['copyLfsObjects'])
  copy.resolve()
  await waitFor(async () => (await pending()).length === 0)
  assert.deepEqual(await pending(), [])
  await runner.stop()
})

it('A job that fails does not delay jobs of other kinds', async () => {
  const { runner, failed, pending } = await withJobs(() => Promise.reject(new Error('the disk is full')))
  await waitFor(async () => (await pending()).length === 1)
  assert.deepEqual(failed, [{ kind: 'copyLfsObjects', id: 1 }])
  await runner.stop()
  assert.deepEqual(await pending(), ['copyLfsObjects'])
})

it('A job that fails does not delay other jobs of its kind', async () => {
  const driver = memory()
  await driver.open()
  const store = new Store(driver)
  const jobs = new Jobs({ maxPerTransaction: 1, batchSize: 1 }, () => undefined)
  let failures = 0
  const runner = new JobRunner(store, jobs, () => failures++)
  // Far more steps than there are seconds.
  let entries = 200
  jobs.handle('removeAccountData', {
    async step(_tx, id) {
      if (id === 1) throw new Error('a counter would become -1')
      return entries-- > 0 ? 1 : 0
    },
  })
  await store.write(async (tx) => {
    await jobs.enqueue(tx, 'removeAccountData', 1)
    await jobs.enqueue(tx, 'removeAccountData', 2)
  })
  runner.start()
  await waitFor(() => entries < 0)
  assert.ok(failures < 10, `${failures} failures in 201 steps`)
  await runner.stop()
})

it('A job that fails again and again is tried after 1 s, then after twice as long, up to 60 s', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 0 })
  syncBuiltinESMExports()
  t.after(() => syncBuiltinESMExports())
  const seconds: number[] = []
  const { runner } = await withJobs(async () => {
    seconds.push(Date.now() / 1000)
    throw new Error('the disk is full')
  })
  while (Date.now() < 200_000) {
    for (let turns = 0; turns < 20; turns++) await setImmediate()
    t.mock.timers.tick(500)
  }
  assert.deepEqual(seconds, [0, 1, 3, 7, 15, 31, 63, 123, 183])
  t.mock.timers.reset()
  await runner.stop()
})
