import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { Store, takeNumber } from '../../lib/records/store.ts'
import type { StorageDriver } from '../../lib/storage/index.ts'

describe('The actions after a commit', () => {
  it('all run when one of them throws, and the write rejects with its error', async () => {
    const driver = memory()
    await driver.open()
    const store = new Store(driver)
    const ran: string[] = []
    const write = store.write(async (tx) => {
      tx.afterCommit(() => {
        throw new Error('the first action failed')
      })
      tx.afterCommit((isCommitted) => void ran.push(`committed: ${isCommitted}`))
    })
    await assert.rejects(write, /the first action failed/)
    assert.deepEqual(ran, ['committed: true'])
  })

  it('all run after a failed commit, and the write rejects with the error of the commit', async () => {
    const driver = memory()
    await driver.open()
    const failing: StorageDriver['write'] = (body) =>
      driver.write(async (tx) => {
        await body(tx)
        throw new Error('the disk is full')
      })
    const store = new Store(Object.assign(Object.create(driver) as StorageDriver, { write: failing }))
    const ran: string[] = []
    const write = store.write(async (tx) => {
      tx.afterCommit(() => {
        throw new Error('the first action failed')
      })
      tx.afterCommit((isCommitted) => void ran.push(`committed: ${isCommitted}`))
    })
    await assert.rejects(write, /the disk is full/)
    assert.deepEqual(ran, ['committed: false'])
  })
})

describe('What writes keep', () => {
  const key = Buffer.from('key')
  /** A store whose key has a value, and how often writes have read it. */
  const opened = async () => {
    const driver = memory()
    await driver.open()
    const store = new Store(driver)
    const put = (value: string, after: () => void = () => undefined) =>
      store.write(async (tx) => {
        tx.put(key, Buffer.from(value))
        tx.beforeCommit(async () => after())
      })
    await put('old')
    const seen = { reads: 0 }
    const cached = () =>
      store.write((tx) =>
        tx.cached('value', async (reading) => {
          seen.reads++
          return String(await reading.get(key))
        }),
      )
    return { put, cached, seen }
  }

  it('is read once', async () => {
    const { cached, seen } = await opened()
    assert.deepEqual([await cached(), await cached(), seen.reads], ['old', 'old', 1])
  })

  it('ends with the write that changes it, before it is durable', async () => {
    const { put, cached } = await opened()
    await cached()
    assert.deepEqual(await Promise.all([put('new'), cached(), put('newest'), cached()]), [
      ...[undefined, 'new', undefined, 'newest'],
    ])
    assert.equal(await cached(), 'newest')
  })

  it('is not what a write that failed would have changed', async () => {
    const { put, cached } = await opened()
    const failing = put('new', () => {
      throw new Error('refused')
    })
    const [outcome, value] = await Promise.allSettled([failing, cached()])
    assert.deepEqual([outcome.status, value], ['rejected', { status: 'fulfilled', value: 'old' }])
    assert.equal(await cached(), 'old')
  })
})

it('Concurrent writes take each number of a sequence once, in the order of their commits', async () => {
  const driver = memory()
  await driver.open()
  const taken: number[] = []
  const take = async () => taken.push(await driver.write((tx) => takeNumber(tx, 'repository')))
  await Promise.all(Array.from({ length: 100 }, take))
  assert.deepEqual(
    taken,
    taken.map((_, at) => at + 1),
  )
})
