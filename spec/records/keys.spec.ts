import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { decodeKey, encodeKey, type KeyPart, rangeBelow } from '../../lib/records/keys.ts'

const text = fc.string({ unit: 'grapheme' }).filter((one) => one.isWellFormed())
const part: fc.Arbitrary<KeyPart> = fc.oneof(
  text,
  fc.maxSafeInteger().map((one) => one + 0),
  fc.boolean(),
)
const tuple = fc.array(part, { minLength: 1, maxLength: 5 })

describe('The key of a tuple', () => {
  it('gives the tuple back', () => {
    fc.assert(fc.property(tuple, (given) => assert.deepEqual(decodeKey(encodeKey(given)), given)))
  })

  it('sorts numbers by value, negative ones first', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.maxSafeInteger(), (one, other) => {
        const order = Buffer.compare(encodeKey(['x', one + 0, 'y']), encodeKey(['x', other + 0, 'y']))
        assert.equal(order, Math.sign(one - other) + 0)
      }),
    )
  })

  it('sorts texts by their bytes', () => {
    fc.assert(
      fc.property(text, text, (one, other) => {
        const order = Buffer.compare(encodeKey(['x', one]), encodeKey(['x', other]))
        assert.equal(order, Buffer.compare(Buffer.from(one), Buffer.from(other)))
      }),
    )
  })

  it('lies below its own beginning, and below no other', () => {
    fc.assert(
      fc.property(tuple, tuple, fc.array(part, { minLength: 1, maxLength: 3 }), (prefix, other, rest) => {
        const { start, end } = rangeBelow(prefix)
        const isBelow = (key: Uint8Array) => Buffer.compare(start, key) <= 0 && Buffer.compare(key, end) < 0
        assert.ok(isBelow(encodeKey([...prefix, ...rest])))
        assert.ok(!isBelow(encodeKey(prefix)))
        const begins = other.length > prefix.length && prefix.every((one, at) => one === other[at])
        assert.equal(isBelow(encodeKey(other)), begins)
      }),
    )
  })
})
