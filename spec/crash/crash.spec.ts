import assert from 'node:assert/strict'
import { it } from 'node:test'
import { isLong } from '../support/long.ts'
import { seed } from '../support/seed.ts'
import { crash } from './rounds.ts'

/** `npm run crash` runs as many rounds as one likes. */
const rounds = isLong ? 6 : 1

it('A server that is killed repeatedly while 16 clients write loses no acknowledged write', async (t) => {
  const { faults, data, ...totals } = await crash({ rounds, seed, maxWrites: 100, recountEvery: 3 })
  t.diagnostic(`seed ${seed}: ${JSON.stringify(totals)}`)
  assert.deepEqual(faults, [], `seed ${seed}, in ${data}`)
  assert.ok(totals.kills >= 2 + rounds && totals.acknowledged >= rounds, JSON.stringify(totals))
  assert.ok(totals.inFlight >= rounds, JSON.stringify(totals))
})

if (isLong)
  it('A server that gets SIGTERM under load does every write wholly or not at all, and exits with 0', async () => {
    const { faults, data, ...totals } = await crash({
      ...{ rounds: 2, seed, maxWrites: 200, recountEvery: 2, signal: 'SIGTERM' },
    })
    assert.deepEqual(faults, [], `seed ${seed}, in ${data}`)
    assert.ok(totals.acknowledged >= 2, JSON.stringify(totals))
  })
