import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { WriteBuffer } from '../../lib/storage/transactions.ts'

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
  it('cost no more after a range, however many they are', () => {
    timeOf(1)
    const [without, after] = [timeOf(0), timeOf(1)]
    assert.ok(after < 8 * without + 200, `${after} ms after a range, ${without} ms without one`)
  })
})
