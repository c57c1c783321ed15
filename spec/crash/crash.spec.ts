import assert from 'node:assert/strict'
import { it } from 'node:test'
import { crash } from './rounds.ts'

const seed = Math.floor(Math.random() * 2 ** 32)

it('A server that gets SIGTERM under load does every write wholly or not at all, and exits with 0', async () => {
  const { faults, data, ...totals } = await crash({
    rounds: 3,
    seed,
    maxLifetimeMs: 800,
    recountEvery: 3,
    signal: 'SIGTERM',
  })
  assert.deepEqual(faults, [], `seed ${seed}, in ${data}`)
  assert.ok(totals.acknowledged > 50, JSON.stringify(totals))
})

it('A server that is killed repeatedly while 16 clients write loses no acknowledged write', async (t) => {
  const { faults, data, ...totals } = await crash({ rounds: 12, seed, maxLifetimeMs: 800, recountEvery: 4 })
  t.diagnostic(`seed ${seed}: ${JSON.stringify(totals)}`)
  assert.deepEqual(faults, [], `seed ${seed}, in ${data}`)
  assert.ok(totals.kills >= 12 && totals.acknowledged > 100 && totals.inFlight > 60, JSON.stringify(totals))
})
