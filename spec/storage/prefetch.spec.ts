import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { type PageSource, prefetch } from '../../lib/storage/index.ts'

/** Pages as a database gives them, which can be asked for one at a time and be closed once. */
const paged = (lengths: readonly number[], failsAt: number) => {
  let [asked, given, isAsked, isClosed] = [0, 0, false, false]
  const pages: PageSource<number> = {
    async next() {
      assert.ok(!isAsked && !isClosed, 'asked for one at a time, and not after the end')
      isAsked = true
      await setImmediate()
      isAsked = false
      const at = asked++
      if (at === failsAt) throw new Error('the disk')
      return Array.from({ length: lengths[at] ?? 0 }, () => given++)
    },
    async close() {
      assert.ok(!isAsked && !isClosed, 'closed once, and not while a page is fetched')
      isClosed = true
    },
  }
  return { items: prefetch(() => pages), isClosed: () => isClosed, asked: () => asked }
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0)

describe('The prefetching iterator', () => {
  it('gives every item in order, throws an error at its place, and is always closed', async () => {
    const lengths = fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 6 })
    const property = fc.asyncProperty(
      lengths,
      fc.nat(8),
      fc.nat(20),
      async (lengths, failsAt, leavesAfter) => {
        const { items, isClosed } = paged(lengths, failsAt)
        const before = sum(lengths.slice(0, failsAt))
        const isWhole = failsAt > lengths.length
        const read: number[] = []
        const reading = (async () => {
          for await (const item of items) {
            read.push(item)
            if (read.length > leavesAfter) break
          }
        })()
        if (isWhole || leavesAfter < before) await reading
        else await assert.rejects(reading, /the disk/)
        const expected = Math.min(isWhole ? sum(lengths) : before, leavesAfter + 1)
        assert.deepEqual(read, [...Array(expected).keys()])
        assert.ok(isClosed())
      },
    )
    await fc.assert(property, { numRuns: 200 })
  })

  it('fetches ahead for a consumer that reads on, and not for one that stops early', async () => {
    const { items, asked } = paged([2, 2, 2, 2], Number.POSITIVE_INFINITY)
    const reader = items[Symbol.asyncIterator]()
    for (const expected of [1, 1, 3, 3, 4, 4]) {
      await reader.next()
      await setImmediate()
      assert.equal(asked(), expected)
    }
    await reader.return?.()
  })
})
