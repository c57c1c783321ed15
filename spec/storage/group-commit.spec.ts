import assert from 'node:assert/strict'
import { test } from 'node:test'
import { below, bytes, collect, load, save, signal, text } from '../driver-spec/fixture.ts'
import type { Observed } from './observed.ts'
import { openObserved } from './opened.ts'

/** Holds the next batch back, and those after it not. */
const holdNext = (observed: Observed) => {
  const [reached, release] = [signal(), signal()]
  observed.before = () => {
    observed.before = async () => {}
    reached.happen()
    return release.happened
  }
  return { reached: reached.happened, release: release.happen }
}

const isSettled = async (promise: Promise<unknown>): Promise<boolean> => {
  let settled = false
  const settle = () => {
    settled = true
  }
  promise.then(settle, settle)
  await new Promise((resolve) => setTimeout(resolve, 10))
  return settled
}

test('concurrent writes share synced batches', async (t) => {
  const observed = await openObserved(t)
  await Promise.all(Array.from({ length: 200 }, (_, at) => save(observed.driver, { [`k${at}`]: 'value' })))
  assert.ok(observed.batches.length <= 20, `${observed.batches.length} batches for 200 writes`)
  assert.equal(
    observed.batches.reduce((sum, { operations }) => sum + operations, 0),
    200,
  )
  assert.ok(observed.batches.every(({ sync }) => sync))
})

test('only one batch is written at a time', async (t) => {
  const observed = await openObserved(t)
  const writeOn = async (name: number) => {
    for (let at = 0; at < 20; at++) await save(observed.driver, { [`${name}/${at}`]: 'value' })
  }
  await Promise.all(Array.from({ length: 8 }, (_, name) => writeOn(name)))
  assert.equal(observed.atOnce, 1)
})

test('the last of several writes to the same key wins, within one batch', async (t) => {
  const { driver, batches } = await openObserved(t)
  await Promise.all(Array.from({ length: 20 }, (_, at) => save(driver, { key: `${at}` })))
  assert.equal(await load(driver, 'key'), '19')
  assert.ok(batches.every(({ operations }) => operations === 1))
})

test('a later write sees changes that are not durable yet, and a reader does not', async (t) => {
  const observed = await openObserved(t)
  const { driver } = observed
  const { reached, release } = holdNext(observed)
  const first = save(driver, { key: 'first' })
  await reached
  const second = driver.write(async (tx) => {
    const seen = text(await tx.get(bytes('key')))
    tx.put(bytes('key'), bytes(`${seen}, second`))
  })
  assert.equal(await isSettled(Promise.race([first, second])), false)
  assert.equal(await load(driver, 'key'), undefined)
  release()
  await Promise.all([first, second])
  assert.equal(await load(driver, 'key'), 'first, second')
  assert.equal(observed.batches.length, 2)
})

test('a range has the newest of stored, written, waiting and own changes', async (t) => {
  const observed = await openObserved(t)
  const { driver } = observed
  await save(driver, { k0: 'stored', k1: 'stored', k2: 'stored', k3: 'stored' })
  const { reached, release } = holdNext(observed)
  const underWay = save(driver, { k1: 'under way', k2: 'under way', k3: 'under way' })
  await reached
  const waiting = save(driver, { k2: 'waiting', k3: 'waiting' })
  const batcher = driver.write(async (tx) => {
    tx.put(bytes('k3'), bytes('own'))
    return (await collect(tx.range(below('k')))).map(([, value]) => text(value))
  })
  await isSettled(batcher)
  release()
  assert.deepEqual(await batcher, ['stored', 'under way', 'waiting', 'own'])
  await Promise.all([underWay, waiting])
})

test('a write that ends between two turns of the event loop does not start a second batch', async (t) => {
  const observed = await openObserved(t)
  const { driver } = observed
  let turn!: Promise<unknown>
  await Promise.all([
    save(driver, { first: 'value' }),
    driver.write(async (tx) => {
      turn = new Promise(setImmediate)
      tx.put(bytes('second'), bytes('value'))
    }),
    driver.write(async (tx) => {
      await turn
      tx.put(bytes('third'), bytes('value'))
    }),
  ])
  assert.deepEqual(
    observed.batches.map(({ operations }) => operations),
    [2, 1],
  )
  assert.equal(observed.atOnce, 1)
})

test('a write without changes makes no batch, but waits until what it read is durable', async (t) => {
  const observed = await openObserved(t)
  const { driver } = observed
  const look = () => driver.write(async (tx) => text(await tx.get(bytes('key'))))
  assert.equal(await look(), undefined)
  const { reached, release } = holdNext(observed)
  const writing = save(driver, { key: 'value' })
  await reached
  const batcher = look()
  assert.equal(await isSettled(batcher), false)
  release()
  assert.equal(await batcher, 'value')
  await writing
  assert.equal(observed.batches.length, 1)
})

test('a write that fails because of changes that are not durable yet rejects after they are durable', async (t) => {
  const observed = await openObserved(t)
  const { driver } = observed
  const { reached, release } = holdNext(observed)
  const first = save(driver, { key: 'value' })
  await reached
  const second = driver.write(async (tx) => {
    if ((await tx.get(bytes('key'))) !== undefined) throw new Error('it is taken')
  })
  assert.equal(await isSettled(second), false)
  release()
  await first
  await assert.rejects(second, /it is taken/)
})
