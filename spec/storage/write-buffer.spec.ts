import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { compareKeys, WriteBuffer } from '../../lib/storage/transactions.ts'

const key = fc.uint8Array({ minLength: 1, maxLength: 3 })
const step = fc.oneof(
  fc.record({ key, value: fc.option(fc.uint8Array(), { nil: undefined }) }),
  fc.record({ start: key, end: key }),
)

/** Milliseconds in which a buffer gets 120,000 keys, as many as a plan of 20,000 assignments has. */
const timeOf = (ranges: number): number => {
  const buffer = new WriteBuffer()
  const begun = performance.now()
  for (let at = 0; at < 120_000; at++) {
    if (at < ranges) buffer.within({ start: Buffer.from('b'), end: Buffer.from('c') })
    buffer.set(Buffer.from((Math.imul(at + 1, 0x9e3779b1) >>> 0).toString(36)), Buffer.from('value'))
  }
  return performance.now() - begun
}

describe('The changes of a write', () => {
  it('are found by range as in a sorted list of all of them, at any moment', () => {
    const property = fc.property(fc.array(step, { maxLength: 100, size: 'max' }), (steps) => {
      const buffer = new WriteBuffer()
      const model = new Map<string, readonly [Uint8Array, Uint8Array | undefined]>()
      for (const one of steps) {
        if ('key' in one) {
          buffer.set(one.key, one.value)
          model.set(one.key.join(), [one.key, one.value])
          continue
        }
        const expected = [...model.values()]
          .filter(([key]) => compareKeys(one.start, key) <= 0 && compareKeys(key, one.end) < 0)
          .sort(([left], [right]) => compareKeys(left, right))
        assert.deepEqual(buffer.within(one), expected)
      }
    })
    fc.assert(property, { numRuns: 500 })
  })

  it('cost no more after a range, however many they are', () => {
    timeOf(1)
    const [without, after] = [timeOf(0), timeOf(1)]
    assert.ok(after < 8 * without + 200, `${after} ms after a range, ${without} ms without one`)
  })
})
