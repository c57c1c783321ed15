import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Slice } from '../../lib/records/pages.ts'
import { MAX_COUNTED, MAX_READ, visiblePage } from '../../lib/repositories/visible.ts'

const NUMBER_OF_ITEMS = 3 * MAX_READ

const SLICES: Slice[] = [
  { offset: 0, limit: 0 },
  { offset: 0, limit: 2 },
  { offset: 0, limit: MAX_COUNTED + 50 },
  { offset: 2 * MAX_COUNTED, limit: 50 },
]

/** A page of numbers, and how many were read for it. */
const page = async (isVisible: (item: number) => boolean, slice: Slice, size = NUMBER_OF_ITEMS) => {
  let [read, taken, released] = [0, 0, 0]
  const acquire = async () => {
    taken++
    return () => void released++
  }
  const visibleAmong = async (batch: readonly number[]) => {
    read += batch.length
    return batch.filter(isVisible)
  }
  const items = Array(size).keys()
  const found = await visiblePage(items, visibleAmong, slice, acquire)
  assert.equal(released, taken)
  return { ...found, read, taken }
}

describe('A page of what a viewer can see', () => {
  it(`reads a bounded number for a total, and has none when there are more`, async () => {
    const { items, total, read, taken } = await page((item) => item < 5, { offset: 0, limit: 3 })
    assert.deepEqual([items, total, taken], [[0, 1, 2], undefined, 1])
    assert.ok(read < 1.1 * MAX_READ, String(read))
  })

  it('takes no slot when it counts enough at once', async () => {
    const { total, taken } = await page(() => true, { offset: 0, limit: 3 })
    assert.deepEqual([total, taken], [undefined, 0])
  })

  it('has its page whole, however many records are hidden before it', async () => {
    const first = 2 * MAX_READ
    const { items } = await page((item) => item >= first, { offset: 1, limit: 2 })
    assert.deepEqual(items, [first + 1, first + 2])
  })

  it('has no total where only its last page needed all items', async () => {
    const { items, total } = await page((item) => item % 1000 === 0, { offset: 25, limit: 10 })
    assert.deepEqual([items.length, total], [5, undefined])
  })

  it('has the same total whatever its place and length are', async () => {
    for (const [isVisible, expected] of [
      [(item: number) => item >= NUMBER_OF_ITEMS - 1, undefined],
      [(item: number) => item <= MAX_COUNTED, undefined],
    ] as const)
      for (const slice of SLICES) assert.equal((await page(isVisible, slice)).total, expected)
    for (const slice of SLICES) {
      const few = await page((item) => item < MAX_COUNTED, slice, MAX_READ)
      assert.equal(few.total, MAX_COUNTED)
    }
  })
})
