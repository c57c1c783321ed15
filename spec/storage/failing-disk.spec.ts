import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type StorageDriver, StorageError, type StorageReason } from '../../lib/storage/index.ts'
import { bytes, load, save, signal, text } from '../driver-spec/fixture.ts'
import { openObserved } from './opened.ts'

const because =
  (reason: StorageReason) =>
  (error: unknown): boolean =>
    error instanceof StorageError && error.reason === reason

/** Messages of LevelDB when a write to the disk fails, and the error that each becomes. */
const failures: { says: string; reason: StorageReason; code: string }[] = [
  { says: 'IO error: /store/000003.log: Input/output error', reason: 'failed', code: 'unavailable' },
  { says: 'IO error: /store/000003.log: No space left on device', reason: 'full', code: 'storage_full' },
  { says: 'IO error: /store/000003.log: Disk quota exceeded', reason: 'full', code: 'storage_full' },
]

const failWith = async (t: TestContext, says: string) => {
  const observed = await openObserved(t)
  await save(observed.driver, { key: 'old' })
  observed.batches.length = 0
  const [reached, release] = [signal(), signal()]
  observed.before = async () => {
    reached.happen()
    await release.happened
    throw Object.assign(new Error(says), { code: 'LEVEL_IO_ERROR' })
  }
  return { observed, reached: reached.happened, release: release.happen }
}

const results = async (writes: Promise<unknown>[]): Promise<unknown[]> =>
  (await Promise.allSettled(writes)).map((outcome) =>
    outcome.status === 'rejected' ? outcome.reason : 'resolved',
  )

for (const { says, reason, code } of failures)
  test(`the store refuses writes after a batch failed with "${says}" (${reason})`, async (t) => {
    const { observed, reached, release } = await failWith(t, says)
    const { driver, batches } = observed
    const inBatch = [save(driver, { key: 'new' }), save(driver, { other: 'new' })]
    await reached
    const waiting = [
      save(driver, { key: 'newer' }),
      driver.write(async (tx) => text(await tx.get(bytes('key')))),
    ]
    const settled = results([...inBatch, ...waiting])
    release()
    for (const error of await settled) {
      assert.ok(because(reason)(error), String(error))
      assert.equal((error as StorageError).code, code)
    }
    observed.before = async () => {}
    await assert.rejects(save(driver, { key: 'later' }), because(reason))
    assert.equal(batches.length, 1, 'nothing is tried again')
  })

const failed = async (t: TestContext): Promise<StorageDriver> => {
  const { observed, release } = await failWith(t, 'IO error: Input/output error')
  release()
  await assert.rejects(save(observed.driver, { key: 'new' }), because('failed'))
  observed.before = async () => {}
  return observed.driver
}

test('reads go on after a failed batch, and return what was durable before it', async (t) => {
  const driver = await failed(t)
  assert.equal(await load(driver, 'key'), 'old')
})

test('a write that was running when the batch failed is refused too', async (t) => {
  const { observed, reached, release } = await failWith(t, 'IO error: Input/output error')
  const first = save(observed.driver, { key: 'new' })
  await reached
  const second = observed.driver.write(async (tx) => {
    assert.equal(text(await tx.get(bytes('key'))), 'new')
    release()
    await first.catch(() => undefined)
  })
  await assert.rejects(first, because('failed'))
  await assert.rejects(second, because('failed'))
})

test('a store that failed takes writes again after it was closed and opened', async (t) => {
  const driver = await failed(t)
  await driver.close()
  await driver.open()
  await save(driver, { key: 'new' })
  assert.equal(await load(driver, 'key'), 'new')
})

test('a full store that cannot be opened again tells its folder to operators, and not to clients', async (t) => {
  const says = 'IO error: /store/000003.log: No space left on device'
  const { observed, release } = await failWith(t, says)
  const { driver } = observed
  const reopened = signal()
  observed.hasSpace = true
  observed.beforeOpen = async () => {
    reopened.happen()
    throw new Error(says)
  }
  release()
  await assert.rejects(save(driver, { key: 'new' }), because('full'))
  await reopened.happened
  const forClients = { reason: 'full', message: 'the disk is full' }
  await assert.rejects(load(driver, 'key'), forClients)
  await assert.rejects(save(driver, { key: 'new' }), forClients)
  await driver.close()
  await assert.rejects(driver.open(), { reason: 'full', message: /^\/.+ cannot be used because the disk is/ })
})
