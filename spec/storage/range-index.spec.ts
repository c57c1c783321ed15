import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { RangeIndex } from '../../lib/storage/range-index.ts'

const part = fc.string({ unit: fc.constantFrom('a', 'b', '\0', '\xff'), maxLength: 4 })
/** Short ones, and some that have as much in common as ranges in a store do. */
const key = fc.oneof(
  part,
  part.map((text) => `of one kind ${text}`),
)
const range = fc
  .tuple(key, key)
  .map(([one, other]) => (one < other ? { start: one, end: other } : { start: other, end: one }))
const step = fc.record({ isAdded: fc.boolean(), range, name: fc.constantFrom('x', 'y', 'z') })

describe('The range index', () => {
  it('finds the same ranges for a key as a scan of all ranges, after any additions and removals', () => {
    const property = fc.property(fc.array(step), fc.array(key), (steps, keys) => {
      const index = new RangeIndex()
      const model = new Map<string, { start: string; end: string; name: string }>()
      for (const { isAdded, range, name } of steps) {
        const text = JSON.stringify([range, name])
        if (isAdded) {
          index.add(range, name)
          model.set(text, { ...range, name })
        } else {
          index.remove(range, name)
          model.delete(text)
        }
      }
      for (const one of keys) {
        const within = [...model.values()].filter(({ start, end }) => start <= one && one < end)
        assert.deepEqual(index.namesAt(one).sort(), within.map(({ name }) => name).sort())
      }
    })
    fc.assert(property, { numRuns: 1000 })
  })
})
