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
