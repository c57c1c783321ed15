import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createBounds } from '../../lib/hosting/bounds.ts'

describe('Work that is costly', () => {
  it('runs a few at once, waits in a queue that has an end, and beyond it is refused as unavailable', async () => {
    const bounded = createBounds(2, 3, 'too much')
    let [running, most, done] = [0, 0, 0]
    const work = async () => {
      most = Math.max(most, ++running)
      await sleep(5)
      running--
      done++
    }
    const all = await Promise.allSettled(Array.from({ length: 10 }, () => bounded(work)))
    const refused = all.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[]
    assert.deepEqual([most, done, refused.length], [2, 5, 5])
    for (const { reason } of refused) assert.equal(reason.code, 'unavailable')
    await bounded(work)
    assert.equal(done, 6)
  })

  it('that fails makes room as well', async () => {
    const bounded = createBounds(1, 1, 'too much')
    const failing = () => bounded(() => Promise.reject(new Error('of the work')))
    for (let time = 0; time < 5; time++) await assert.rejects(failing(), /of the work/)
    assert.equal(await bounded(async () => 7), 7)
  })
})
