import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { accounts, repositories } from '../../lib/records/schema/index.ts'
import { Store } from '../../lib/records/store.ts'
import { MAX_MATCHES, type RepositoryFilter } from '../../lib/repositories/search/filters.ts'
import { Search } from '../../lib/repositories/search/search.ts'
import { createReadBudget } from '../../lib/repositories/visible.ts'
import { account, repository } from './records.ts'

describe('A search that sorts or filters', () => {
  it(`is refused when more than ${MAX_MATCHES} repositories match that the viewer can see`, async () => {
    const driver = memory()
    await driver.open()
    const store = new Store(driver)
    const search = new Search(store, createReadBudget())
    const save = (at: number, isPrivate: boolean) =>
      store.write((tx) => repositories.save(tx, repository(at, 1, isPrivate)))
    await store.write(async (tx) => {
      await accounts.save(tx, account(1, 'public'))
      for (let at = 1; at <= MAX_MATCHES; at++) await repositories.add(tx, repository(at, 1))
    })
    await save(MAX_MATCHES + 1, true)
    const find = (q: string, filter: RepositoryFilter) =>
      search.repositories(null, { q, filter }, { offset: 0, limit: 1 })
    assert.equal((await find('name', { sort: 'id' })).total, MAX_MATCHES)
    await save(MAX_MATCHES + 1, false)
    const refused = /more than 10000 repositories match: search for a longer q or within an owner \(uid\)/
    for (const filter of [{ sort: 'id' }, { archived: true }] as const)
      await assert.rejects(find('name', filter), refused)
    const texts = { parts: [{ word: 'x' }], topicOnly: false }
    await assert.rejects(
      find('x', { texts }),
      /topic and includeDesc read every repository, .*: search within/,
    )
    await driver.close()
  })
})
