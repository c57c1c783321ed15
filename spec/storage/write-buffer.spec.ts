import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { WriteBuffer } from '../../lib/storage/transactions.ts'

/** Counts the elements of the arrays that are sorted, or that elements are inserted into, by a function. */
const movedBy = (change: () => void): number => {
  const { sort, splice } = Array.prototype
  let moved = 0
  Object.assign(Array.prototype, {
    sort(this: unknown[], ...args: Parameters<typeof sort>) {
      moved += this.length
      return sort.apply(this, args)
    },
    splice(this: unknown[], ...args: Parameters<typeof splice>) {
      moved += this.length
      return splice.apply(this, args)
    },
  })
  try {
    change()
  } finally {
    Object.assign(Array.prototype, { sort, splice })
  }
  return moved
}

describe('The changes of a write', () => {
  const keys = 20_000
  // A plan of assignments asks for a range once; a removal asks after each change.
  for (const [when, ranges] of [
    ['after a range', 1],
    ['with a range after each', keys],
  ] as const)
    it(`are sorted a logarithmic number of times, ${when}`, () => {
      const buffer = new WriteBuffer()
      const moved = movedBy(() => {
        for (let at = 0; at < keys; at++) {
          buffer.set(Buffer.from((Math.imul(at + 1, 0x9e3779b1) >>> 0).toString(36)), Buffer.from('value'))
          if (at < ranges) buffer.within({ start: Buffer.from('b'), end: Buffer.from('b1') })
        }
        buffer.within({ start: Buffer.from('b'), end: Buffer.from('c') })
      })
      assert.ok(moved <= 2 * keys * Math.log2(keys), `${moved} elements moved for ${keys} keys`)
    })
})
