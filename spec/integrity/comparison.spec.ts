import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { ExactComparison, FingerprintComparison } from '../../lib/integrity/comparison.ts'

describe('A comparison by fingerprints', () => {
  const key = fc.uint8Array({ minLength: 1, maxLength: 20 })
  const value = fc.uint8Array({ maxLength: 20 })
  const amount = fc.integer({ min: -(2 ** 50), max: 2 ** 50 }).filter((one) => one !== 0)

  it('agrees when both sides get the same, in any order', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(key, amount, value)), (entries) => {
        const comparison = new FingerprintComparison()
        for (const one of entries) comparison.expected(...one)
        for (const one of [...entries].reverse()) comparison.actual(...one)
        assert.deepEqual(comparison.differingBuckets(), [])
      }),
    )
  })

  it('agrees when the amounts of a key add up to the same', () => {
    fc.assert(
      fc.property(key, fc.array(fc.nat({ max: 2 ** 40 }), { minLength: 1, maxLength: 9 }), (one, parts) => {
        const comparison = new FingerprintComparison()
        for (const part of parts) comparison.expected(one, part)
        comparison.actual(
          one,
          parts.reduce((sum, part) => sum + part, 0),
        )
        assert.deepEqual(comparison.differingBuckets(), [])
      }),
    )
  })

  it('differs when a key is missing, when a value is wrong, and when two keys have exchanged their values', () => {
    const differ = (tell: (comparison: FingerprintComparison) => void) => {
      const comparison = new FingerprintComparison()
      tell(comparison)
      return comparison.differingBuckets().length > 0
    }
    fc.assert(
      fc.property(key, key, value, value, amount, (one, other, its, others, much) => {
        assert.ok(differ((comparison) => comparison.expected(one, much, its)))
        fc.pre(Buffer.compare(one, other) !== 0 && Buffer.compare(its, others) !== 0)
        assert.ok(
          differ((comparison) => [comparison.expected(one, 1, its), comparison.actual(other, 1, its)]),
        )
        assert.ok(
          differ((comparison) => [comparison.expected(one, 1, its), comparison.actual(one, 1, others)]),
        )
        const exchanged = differ((comparison) => {
          comparison.expected(one, 1, its)
          comparison.expected(other, 1, others)
          comparison.actual(one, 1, others)
          comparison.actual(other, 1, its)
        })
        assert.ok(exchanged)
      }),
      { numRuns: 2000 },
    )
  })

  it('differs for amounts that differ by a power of two, by one of its primes, or by a product of them', () => {
    for (const by of [1, 2 ** 26, 2 ** 32, 2 ** 52, 67108859, 67108837, 67108859 * 67108837]) {
      const comparison = new FingerprintComparison()
      comparison.expected(Buffer.from('key'), 5)
      comparison.actual(Buffer.from('key'), 5 + by)
      const [bucket] = comparison.differingBuckets()
      assert.ok(bucket, String(by))
      const exact = new ExactComparison()
      exact.addBucket(bucket.bucket)
      exact.expected(Buffer.from('key'), 5)
      exact.actual(Buffer.from('key'), 5 + by)
      assert.deepEqual(
        [...exact.differences()].map(({ expected, actual }) => [expected, actual]),
        [[5, 5 + by]],
      )
    }
  })
})
