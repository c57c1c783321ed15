import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  decodeKey,
  encodeKey,
  type KeyPart,
  type KeyTuple,
  lookupKey,
  MAX_KEY_BYTES,
  rangeBelow,
} from '../../lib/records/key-codec.ts'

/**
 * Characters at every border of the encoding: escapes, separators, types, lengths of UTF-8, lone surrogates.
 */
const unit = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.constantFrom(
      '\0',
      '\x01',
      '\x02',
      '\x03',
      '\x04',
      '\x05',
      '\x06',
      '\x07',
      '\x10',
      '\x1b',
      '\x1c',
      '\x1f',
    ),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      'a',
      'b',
      ' ',
      '\x7f',
      '\x80',
      '\u07ff',
      '\u0800',
      '\uffff',
      '😀',
      '\u{10ffff}',
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom('\ud800', '\udbff', '\udc00', '\udfff') },
)
const short = fc.string({ unit, maxLength: 6 })
/**
 * Around 64 characters, where the former encoding changed, and around the longest that is read without
 * Buffer.
 */
const around = fc
  .tuple(
    fc.constantFrom('a', '\0', '\x04', '\x04\0', '\0\x04', 'ö', '😀', '\ud800'),
    fc.integer({ min: 28, max: 70 }),
    short,
  )
  .map(([one, count, end]) => one.repeat(count) + end)
const text = fc.oneof(short, around, fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }))
const number = fc
  .oneof(
    fc.integer({ min: -3, max: 3 }),
    fc.maxSafeInteger(),
    fc.double({ noNaN: true }),
    fc.constantFrom(0x0400, 2 ** 53 - 1, 1 - 2 ** 53, 5e-324, -5e-324, Infinity, -Infinity),
  )
  .map((value) => value + 0)
const part: fc.Arbitrary<KeyPart> = fc.oneof({ weight: 4, arbitrary: text }, number, fc.boolean())
const tuple = fc.array(part, { minLength: 1, maxLength: 5 })

/**
 * Two tuples that share a beginning, or nearly so: members whose contents run into each other are the hard
 * case.
 */
const pair = fc.oneof(
  fc.tuple(tuple, tuple),
  fc
    .tuple(fc.array(part, { maxLength: 2 }), tuple, tuple)
    .map(([head, ...ends]) => ends.map((end) => [...head, ...end])),
  fc.tuple(text, text, text).map(([one, two, three]) => [
    [`${one}\0${two}`, three],
    [one, `${two}\0${three}`],
  ]),
) as fc.Arbitrary<[KeyPart[], KeyPart[]]>

const RANK = { boolean: 0, number: 1, string: 2 } as Record<string, number>
const points = (value: string) => [...value].map((one) => one.codePointAt(0)!)

const compareParts = (one: KeyPart, other: KeyPart): number => {
  if (typeof one !== typeof other) return RANK[typeof one]! - RANK[typeof other]!
  if (typeof one === 'string') return compareLists(points(one), points(other as string))
  return Number(one) < Number(other) ? -1 : Number(one) > Number(other) ? 1 : 0
}

const compareLists = (one: readonly KeyPart[], other: readonly KeyPart[]): number => {
  for (let index = 0; index < one.length && index < other.length; index++) {
    const order = compareParts(one[index]!, other[index]!)
    if (order !== 0) return order
  }
  return one.length - other.length
}

const isIn = ({ start, end }: { start: Uint8Array; end: Uint8Array }, key: Uint8Array): boolean =>
  Buffer.compare(start, key) <= 0 && Buffer.compare(key, end) < 0

const beginsWith = (one: KeyTuple, prefix: KeyTuple): boolean =>
  one.length > prefix.length && prefix.every((member, index) => one[index] === member)

describe('The key of a tuple', () => {
  it('decodes to the tuple, for strings with any characters', () => {
    fc.assert(
      fc.property(tuple, (given) => assert.deepEqual(decodeKey(encodeKey(given)), given)),
      { numRuns: 500 },
    )
  })

  it('sorts as the tuple does, member by member, and differs from that of every other tuple', () => {
    fc.assert(
      fc.property(pair, ([one, other]) => {
        const order = Buffer.compare(encodeKey(one), encodeKey(other))
        assert.equal(order, Math.sign(compareLists(one, other)) + 0)
      }),
      { numRuns: 2000 },
    )
  })

  it('lies in the range of each prefix of it, and in no other', () => {
    fc.assert(
      fc.property(pair, fc.array(part, { maxLength: 3 }), ([prefix, other], rest) => {
        const range = rangeBelow(prefix)
        assert.equal(isIn(range, encodeKey([...prefix, ...rest])), rest.length > 0)
        assert.equal(isIn(range, encodeKey(other)), beginsWith(other, prefix))
      }),
      { numRuns: 1000 },
    )
    assert.ok(isIn(rangeBelow([]), encodeKey(['\0'])) && isIn(rangeBelow([]), encodeKey(['\u{10ffff}'])))
  })

  it('is refused when it is longer than the longest that a store takes, up to the last byte', () => {
    const AROUND = [-1, 0, 1, 2, 9, 100, 10_000]
    for (const [one, bytes] of [
      ['x', 1],
      ['\0', 2],
      ['ö', 2],
      ['ก', 3],
      ['😀', 4],
      ['\ud800', 3],
    ] as const)
      for (const more of AROUND) {
        const count = Math.floor((MAX_KEY_BYTES - 2) / bytes) + more
        const given = ['', one.repeat(count)]
        const expected = 2 + count * bytes + (one === '\0' ? 1 : 0)
        if (expected > MAX_KEY_BYTES)
          assert.throws(() => encodeKey(given), { code: 'invalid', message: /too long/ }, `${one} × ${count}`)
        else assert.deepEqual(decodeKey(encodeKey(given)), given)
      }
    assert.throws(() => encodeKey(Array.from({ length: 2000 }, () => 1)), { code: 'invalid' })
  })

  it('is looked up by its exact value; a key that is too long is never found', () => {
    fc.assert(fc.property(tuple, (given) => assert.deepEqual(lookupKey(given), encodeKey(given))))
    const long = ['x'.repeat(MAX_KEY_BYTES + 1)]
    assert.deepEqual(lookupKey(long), Uint8Array.of(0xff))
    const { start, end } = rangeBelow(long)
    assert.deepEqual(start, end)
  })
})
