import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import type { StorageItemQuery } from '../../lib/content/usage/storage-item.ts'
import { countReads } from '../counted.ts'
import { openFixture } from '../removal/fixture.ts'

const KINDS = ['artifacts', 'lfs', 'packages', 'attachments'] as const

describe('The list of what an owner uses', () => {
  it('reads after a write the usage of the repositories, and the entries up to the page, or the largest thousand', async () => {
    const counted = countReads(memory())
    const fixture = await openFixture(counted.driver, { maxPerTransaction: 500, batchSize: 50 })
    const { hosting } = fixture
    const ann = await hosting.accounts.createUser({ name: 'ann' })
    const entry = (number: number, size: number) => ({
      ...{ kind: KINDS[number % 2]!, key: `k${number}`, repository: `ann/r${number % REPOSITORIES}`, run: 1 },
      ...{ name: `file ${number}`, size },
    })
    for (let number = 0; number < REPOSITORIES; number++)
      await hosting.repositories.create(ann, ann, { name: `r${number}` })
    const all = Array.from({ length: ENTRIES }, (_, number) => ({
      op: 'put',
      ...entry(number, 1000 + number),
    }))
    await hosting.ledger.batch(all as never)
    /** Reads besides the usage of each repository, and the details of a page. */
    const queries: [query: StorageItemQuery, offset: number, entries: number][] = [
      [{}, 0, 100],
      [{}, 900, 2500],
      [{ kind: 'repositories' }, 0, 0],
      [{ search: 'file 1' }, 0, 2500],
      [{ sort: 'created' }, 0, 2500],
    ]
    const viewer = { id: ann.id, admin: false }
    for (const [query, offset, entries] of queries) {
      const read = () =>
        counted.during(() => hosting.storageItems.list(viewer, ann.id, query, { offset, limit: 50 }))
      await read()
      for (const number of [3, 400, ENTRIES - 1]) {
        await hosting.ledger.put(entry(number, 5000 + number) as never)
        const reads = await read()
        assert.ok(reads < 3 * REPOSITORIES + entries + 200, `${JSON.stringify(query)}: ${reads}`)
      }
    }
    await fixture.close()
  })
})

const [REPOSITORIES, ENTRIES] = [200, 2000]
