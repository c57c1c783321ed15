import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { table } from './figures.ts'
import { type Latency, type Measurement, markDisturbed, medianLatency } from './measure.ts'

const latency = (p99: number): Latency => ({ p50: p99 / 100, p99, p999: p99 * 2, rate: 1000 })
const row = (name: string, p99: number, ofReference: number): Measurement => ({
  ...{ name, value: 20, reference: 18, unit: 'µs', against: 'a bare server' },
  ...{ latency: latency(p99), latencyOfReference: latency(ofReference) },
})

describe('Latencies at half of the maximum', () => {
  const rowsOf = (all: Measurement[]) => table(markDisturbed(all)).split('\n').slice(-all.length)

  it('are not printed when the reference took several times what it took in other rows', () => {
    const [quiet, busy] = rowsOf([row('a', 5, 4), row('b', 584, 903), row('c', 6, 3)])
    assert.match(quiet!, /^\| a \| 1,000 \| p50 0\.05 ms, p99 5\.00 ms, p99\.9 10 ms \| p50 /)
    assert.equal(
      busy,
      '| b | 1,000 | disturbed by other processes: measure again | p50 9.03 ms, p99 903 ms, p99.9 1,806 ms |',
    )
  })

  it('are printed when only Allot took long', () => {
    const [first] = rowsOf([row('a', 584, 4), row('b', 5, 3), row('c', 6, 3)])
    assert.match(first!, /p99 584 ms/)
  })

  it('are those of the round in the middle', () => {
    assert.equal(medianLatency([latency(900), latency(2), latency(5)]).p99, 5)
  })
})
