import assert from 'node:assert/strict'
import { it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { Store } from '../../lib/records/store.ts'
import { DiskJournal } from '../../lib/repositories/disk-journal.ts'
import { signal } from '../driver-spec/fixture.ts'

it('A deletion waits for all removals before it, and for none that begins later', async () => {
  const driver = memory()
  await driver.open()
  const store = new Store(driver)
  const disk = new DiskJournal(store, assert.fail)
  const [first, later] = [signal(), signal()]
  const removed = new Set<number>()
  disk.handlers.folder = async ({ repository }, forget) => {
    await (repository <= 100 ? first : later).happened
    await forget()
    removed.add(repository)
  }
  const leave = (from: number, to: number) =>
    store.write(async (tx) => {
      for (let repository = from; repository <= to; repository++)
        await disk.leave(tx, { what: 'folder', repository })
    })
  await leave(1, 100)
  const idle = disk.idle().then(() => removed.size)
  await leave(101, 200)
  first.happen()
  assert.equal(await idle, 100)
  later.happen()
  await disk.idle()
  assert.equal(removed.size, 200)
  await driver.close()
})
