import assert from 'node:assert/strict'
import { it } from 'node:test'
import { crash } from './rounds.ts'

/** Few rounds; `npm run crash` has as many as one likes. */
const seed = Math.floor(Math.random() * 2 ** 32)

it('A server that gets SIGTERM under load does every write wholly or not at all, and exits with 0', async () => {
  const { faults, data, ...totals } = await crash({
    rounds: 2,
    seed,
    maxLifetimeMs: 800,
    recountEvery: 2,
    signal: 'SIGTERM',
  })
  assert.deepEqual(faults, [], `seed ${seed}, in ${data}`)
  assert.ok(totals.acknowledged > 50, JSON.stringify(totals))
})

it('A server that is killed repeatedly while 16 clients write loses no acknowledged write', async (t) => {
  const { faults, data, ...totals } = await crash({ rounds: 6, seed, maxLifetimeMs: 800, recountEvery: 3 })
  t.diagnostic(`seed ${seed}: ${JSON.stringify(totals)}`)
  assert.deepEqual(faults, [], `seed ${seed}, in ${data}`)
  assert.ok(totals.kills >= 6 && totals.acknowledged > 50 && totals.inFlight > 30, JSON.stringify(totals))
})
