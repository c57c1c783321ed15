import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { type ReadTransaction, type StorageDriver, StorageError } from '../../lib/storage/index.ts'
import { type Candidate, fixture, load, opened, type Part, save, signal } from './fixture.ts'

const isClosed = (error: unknown): boolean => error instanceof StorageError && error.reason === 'closed'

/** How a driver reaches each state, and whether it accepts transactions there. */
const states: { state: string; serves: boolean; reach: (driver: StorageDriver) => Promise<unknown> }[] = [
  { state: 'before it is opened', serves: false, reach: async () => {} },
  { state: 'while it is opening', serves: false, reach: async (driver) => void driver.open() },
  { state: 'when it is open', serves: true, reach: (driver) => driver.open() },
  {
    state: 'when it was opened twice, one after the other',
    serves: true,
    reach: async (driver) => {
      await driver.open()
      await driver.open()
    },
  },
  {
    state: 'when it was opened twice at once',
    serves: true,
    reach: (driver) => Promise.all([driver.open(), driver.open()]),
  },
  {
    state: 'while it is closing',
    serves: false,
    reach: async (driver) => {
      await driver.open()
      void driver.close()
    },
  },
  {
    state: 'when it is closed',
    serves: false,
    reach: async (driver) => {
      await driver.open()
      await driver.close()
    },
  },
  {
    state: 'when it was closed twice at once',
    serves: false,
    reach: async (driver) => {
      await driver.open()
      await Promise.all([driver.close(), driver.close()])
    },
  },
  { state: 'when it was closed before it was opened', serves: false, reach: (driver) => driver.close() },
  {
    state: 'when it was closed while it was opening',
    serves: false,
    reach: (driver) => Promise.all([driver.open(), driver.close()]),
  },
  {
    state: 'when it was opened while it was closing',
    serves: true,
    reach: async (driver) => {
      await driver.open()
      await Promise.all([driver.close(), driver.open()])
    },
  },
  {
    state: 'when it is opened again',
    serves: true,
    reach: async (driver) => {
      await driver.open()
      await driver.close()
      await driver.open()
    },
  },
]

const serves = async (driver: StorageDriver): Promise<void> => {
  await save(driver, { key: 'value' })
  assert.equal(await load(driver, 'key'), 'value')
}

const refuses = async (driver: StorageDriver): Promise<void> => {
  let begun = 0
  const body = async () => void begun++
  const [read, write] = await Promise.allSettled([driver.read(body), driver.write(body)])
  for (const outcome of [read, write])
    assert.ok(outcome.status === 'rejected' && isClosed(outcome.reason), JSON.stringify(outcome))
  assert.equal(begun, 0, 'no callback is run')
}

export const lifecycle: Part = (candidate) =>
  describe('in each state of its lifecycle', () => {
    for (const { state, serves: does, reach } of states)
      test(`${state} it ${does ? 'runs transactions' : 'rejects every call with the reason closed'}`, async (t) => {
        const { driver } = await fixture(t, candidate)
        await reach(driver)
        await (does ? serves(driver) : refuses(driver))
        await driver.close()
      })
    test('closing waits for transactions that have begun', (t) => closingWaits(t, candidate))
    test('records are there after it is closed and opened again', async (t) => {
      const driver = await opened(t, candidate)
      await save(driver, { key: 'value' })
      await driver.close()
      await driver.open()
      assert.equal(await load(driver, 'key'), 'value')
    })
  })

const closingWaits = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const driver = await opened(t, candidate)
  await save(driver, { key: 'old' })
  const [begun, release] = [[signal(), signal()] as const, signal()]
  const held = async (at: 0 | 1, work: () => Promise<unknown>) => {
    begun[at].happen()
    await release.happened
    return work()
  }
  const length = async (tx: ReadTransaction) => (await tx.get(Buffer.from('key')))?.length
  const reading = driver.read(async (tx) => {
    assert.equal(await length(tx), 3)
    return held(0, () => length(tx))
  })
  const writing = driver.write((tx) => held(1, async () => tx.put(Buffer.from('key'), Buffer.from('longer'))))
  await Promise.all(begun.map(({ happened }) => happened))
  let closed = false
  const closing = driver.close().then(() => {
    closed = true
  })
  await new Promise((resolve) => setTimeout(resolve, 20))
  assert.equal(closed, false)
  release.happen()
  assert.equal(await reading, 3)
  await Promise.all([writing, closing])
  await driver.open()
  assert.equal(await load(driver, 'key'), 'longer')
}
