import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { add, compare, jsonOf, parseExactly, type Sum, subtract } from '../lib/integers.ts'

/** An integer in the type that a sum of its size has. */
const sumOf = (exact: bigint): Sum => (Number.isSafeInteger(Number(exact)) ? Number(exact) : exact)
const EDGE = 2n ** 53n
const integers = fc
  .oneof(
    fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }),
    fc.bigInt({ min: EDGE - 3n, max: EDGE + 3n }),
    fc.bigInt({ min: -3n, max: 3n }),
  )
  .map((exact) => ({ exact, sum: sumOf(exact) }))

describe('Sums', () => {
  it('are exact and of one type for one integer, whatever their size', () =>
    fc.assert(
      fc.property(integers, integers, (left, right) => {
        assert.equal(add(left.sum, right.sum), sumOf(left.exact + right.exact))
        assert.equal(subtract(left.sum, right.sum), sumOf(left.exact - right.exact))
        assert.equal(
          Math.sign(compare(left.sum, right.sum)),
          Number(left.exact > right.exact) - Number(left.exact < right.exact),
        )
      }),
    ))
})

/** Texts that look like numbers, like the marks of numbers, and like the ends of strings. */
const texts = fc.oneof(
  fc.string(),
  fc.stringMatching(/^[-\d.eE"\\ ]{0,40}$/),
  fc.constantFrom('9007199254740993', '\\"9007199254740993', '\\ud8009007199254740993', '"', '\\'),
)
const values = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    integers.map(({ sum }) => sum),
    texts,
    fc.boolean(),
    fc.constant(null),
    fc.double({ noNaN: true, noDefaultInfinity: true, max: 1000, min: -1000 }).map((one) => one + 0.5),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(texts, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
})).value

describe('JSON with integers of any size', () => {
  it('is read as it was written', () =>
    fc.assert(
      fc.property(values, fc.constantFrom(0, 2), (value, indent) => {
        assert.deepEqual(parseExactly(jsonOf(value, { indent })), value)
      }),
    ))

  it('has its integers as they are, and other numbers and strings as JSON.stringify writes them', () => {
    const value = { a: 9007199254740993n, b: ['9007199254740993', 1.5], c: 1 }
    assert.equal(jsonOf(value), '{"a":9007199254740993,"b":["9007199254740993",1.5],"c":1}')
    assert.equal(jsonOf(value, { before: ' ' })[0], ' ')
    assert.equal(jsonOf({ c: 1 }, { before: ' ' }), '{"c":1}')
  })

  it('is the same where a host has taught bigints to become strings', () => {
    const proto = BigInt.prototype as { toJSON?: () => string }
    proto.toJSON = function () {
      return String(this)
    }
    try {
      assert.equal(jsonOf({ a: 9007199254740993n, b: 'x', c: 2n }), '{"a":9007199254740993,"b":"x","c":2}')
      assert.equal(jsonOf({ b: 'x' }, { before: ' ' }), '{"b":"x"}')
    } finally {
      delete proto.toJSON
    }
  })

  it('is refused where JSON.parse refuses it', () => {
    for (const text of [
      '01234567890123456',
      '{"a":12345678901234567',
      '[12345678901234567 1]',
      '"12345678901234567',
    ])
      assert.throws(() => parseExactly(text), SyntaxError, text)
  })
})
