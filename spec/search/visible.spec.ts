import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { IndexEntry } from '../../lib/records/collection.ts'
import { MAX_READ, visiblePage } from '../../lib/repositories/search/visible.ts'
import type { ReadTransaction } from '../../lib/storage/index.ts'

const NUMBER_OF_ENTRIES = 3 * MAX_READ

/** A page of numbers, how many entries were read for it, and how many records. */
const page = async (isVisible: (record: number) => boolean, slice: { offset: number; limit: number }) => {
  let [read, loaded, taken, released] = [0, 0, 0, 0]
  const acquire = async () => {
    taken++
    return () => void released++
  }
  async function* entries(): AsyncGenerator<IndexEntry> {
    for (let record = 0; record < NUMBER_OF_ENTRIES; record++)
      yield { order: Buffer.from([]), recordKey: Buffer.from(String(record)) }
  }
  const numberOf = ({ recordKey }: IndexEntry) => Number(Buffer.from(recordKey).toString())
  const load = async (_tx: ReadTransaction, page: readonly IndexEntry[]) => {
    loaded += page.length
    return page.map(numberOf)
  }
  const visibleAmong = async (batch: readonly IndexEntry[]) => {
    read += batch.length
    return batch.filter((entry) => isVisible(numberOf(entry)))
  }
  const listed = { collection: { load }, entries: entries(), visibleAmong, acquire }
  const { items, total } = await visiblePage({} as ReadTransaction, listed, slice)
  assert.equal(released, taken)
  assert.equal(loaded, items.length)
  return { items, total, read, taken }
}

describe('A search', () => {
  it(`reads ${MAX_READ} entries for a total, and has none when there are more`, async () => {
    const { items, total, read, taken } = await page((record) => record < 5, { offset: 0, limit: 3 })
    assert.deepEqual([items, total, taken], [[0, 1, 2], undefined, 1])
    assert.ok(read < 1.1 * MAX_READ, String(read))
  })

  it('takes no slot when it finds enough at once', async () => {
    const { total, taken } = await page(() => true, { offset: 0, limit: 3 })
    assert.deepEqual([total, taken], [undefined, 0])
  })

  it('has its page whole, however many records are hidden before it', async () => {
    const first = 2 * MAX_READ
    const { items } = await page((record) => record >= first, { offset: 1, limit: 2 })
    assert.deepEqual(items, [first + 1, first + 2])
  })

  it('has a total where its last page needed all entries', async () => {
    const { items, total } = await page((record) => record % 1000 === 0, { offset: 25, limit: 10 })
    assert.deepEqual([items.length, total], [5, NUMBER_OF_ENTRIES / 1000])
  })
})
