import assert from 'node:assert/strict'
import { it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { accounts, jobs, repositories } from '../../lib/records/schema/index.ts'
import { Store } from '../../lib/records/store.ts'
import { Search } from '../../lib/repositories/search/search.ts'
import { createReadBudget } from '../../lib/repositories/visible.ts'
import { countReads } from '../counted.ts'
import { account, repository } from './records.ts'

const OWNERS = 40
const HIDDEN = 10
const NONE = { offset: 0, limit: 0 }

const opened = async () => {
  const { driver, during } = countReads(memory())
  await driver.open()
  const store = new Store(driver)
  return { driver, during, store, search: new Search(store, createReadBudget()) }
}

it('A search reads keys of what it counts and the records of its page, however many deletions are pending', async () => {
  const { driver, during, store, search } = await opened()
  await store.write(async (tx) => {
    for (let id = 1; id <= OWNERS; id++) {
      await accounts.save(tx, account(id, id <= HIDDEN ? 'limited' : 'public'))
      await repositories.save(tx, repository(id, id))
    }
  })
  const page = { offset: 0, limit: 5 }
  const find = async () => {
    const { items, total } = await search.repositories(null, { q: 'name' }, page)
    assert.deepEqual([items.length, total], [page.limit, OWNERS - HIDDEN])
  }
  const reads = await during(find)
  assert.equal(reads, OWNERS + OWNERS + page.limit)
  await store.write(async (tx) => {
    for (let id = 1; id <= 100; id++) await jobs.save(tx, { kind: 'removeAccountData', id: OWNERS + id })
  })
  assert.equal(await during(find), reads)
  await driver.close()
})

it('A search reads none of the public repositories of the viewer that do not match', async () => {
  const { driver, during, store, search } = await opened()
  await store.write((tx) => accounts.save(tx, account(1, 'limited')))
  const find = () => during(() => search.repositories({ id: 1, admin: false }, { q: 'other' }, NONE))
  const reads = await find()
  await store.write(async (tx) => {
    for (let id = 1; id <= OWNERS; id++) await repositories.save(tx, repository(id, 1))
  })
  assert.equal(await find(), reads)
  await driver.close()
})

it('A search with private=false reads each owner once, and none for private repositories', async () => {
  const { driver, during, store, search } = await opened()
  await store.write(async (tx) => {
    await accounts.save(tx, account(1, 'public'))
    for (let id = 1; id <= OWNERS; id++) await repositories.save(tx, repository(id, 1))
  })
  const find = (open: true | undefined) =>
    during(() =>
      search.repositories(null, { q: 'name', filter: { open, sort: 'id' } }, { offset: 0, limit: 5 }),
    )
  assert.equal((await find(true)) - (await find(undefined)), 1)
  const viewer = { id: 1, admin: true }
  const hidden = await during(() => search.repositories(viewer, { filter: { private: true } }, NONE))
  const both = await during(() =>
    search.repositories(viewer, { filter: { private: true, open: true } }, NONE),
  )
  assert.equal(both, hidden)
  await driver.close()
})
