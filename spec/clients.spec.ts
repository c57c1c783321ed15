import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type AcquireOptions, ClientBudget, type ClientBudgetOptions } from '../lib/client-budget.ts'
import { AllotError } from '../lib/errors.ts'

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

const isRefusal = (error: unknown) =>
  error instanceof AllotError && error.code === 'unavailable' && error.retryAfter !== undefined

/**
 * Acquires for clients, and keeps who holds a slot, who was refused and in which order the slots were given.
 */
const observed = (options: Omit<ClientBudgetOptions, 'message'>) => {
  const budget = new ClientBudget({ ...options, message: 'too busy' })
  const [held, given, refused]: [[string, () => void][], string[], string[]] = [[], [], []]
  return {
    ...{ budget, held, given, refused },
    async ask(client: string, wait?: AcquireOptions) {
      void budget.acquire(client, wait).then(
        (release) => {
          given.push(client)
          held.push([client, release])
        },
        (error) => {
          assert.ok(isRefusal(error))
          refused.push(client)
        },
      )
      await turn()
    },
    async release(index = 0) {
      held.splice(index, 1)[0]![1]()
      await turn()
    },
  }
}

describe('A client budget', () => {
  it('lets a task wait longer than others when it asks for that', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const { ask, refused, given, release } = observed({ slots: 1, queue: 10 })
    await ask('holder')
    await ask('patient', { maxWaitMs: 30_000 })
    await ask('usual')
    t.mock.timers.tick(29_999)
    await turn()
    assert.deepEqual(refused, ['usual'])
    await release()
    assert.deepEqual(given, ['holder', 'patient'])
  })

  it('gives free slots to the waiting clients in turn', async () => {
    const { ask, release, given, held } = observed({ slots: 1, queue: 20 })
    for (const client of ['a', 'a', 'a', 'a', 'b', 'b', 'c']) await ask(client)
    while (held.length > 0) await release()
    assert.deepEqual(given, ['a', 'a', 'b', 'c', 'a', 'b', 'a'])
  })

  it('gives a place no more than its share, and passes over those that wait for it', async () => {
    const { ask, release, given, held } = observed({
      slots: 4,
      slotsPerClient: 4,
      slotsPerPlace: 1,
      queue: 200,
    })
    for (let task = 0; task < 40; task++) await ask('many', { place: 'slow' })
    await ask('other', { place: 'slow' })
    await ask('many', { place: 'fast' })
    await ask('many', { place: 'fast' })
    assert.deepEqual([given, held.length], [['many', 'many'], 2])
    await release(1)
    assert.deepEqual([given.length, held.length], [3, 2])
    await release()
    assert.deepEqual(given, ['many', 'many', 'many', 'other'])
  })

  it('refuses only the client whose places in the queue are taken', async () => {
    const { ask, refused, budget } = observed({ slots: 1, queue: 4, queuePerClient: 2 })
    for (let time = 0; time < 5; time++) await ask('greedy')
    await ask('other')
    assert.deepEqual(refused, ['greedy', 'greedy'])
    assert.equal(budget.waiting('other'), 1)
  })

  it('makes a place in a full queue where the client with the most waits last', async () => {
    const { ask, refused, budget } = observed({ slots: 1, queue: 4, queuePerClient: 3 })
    for (const client of ['a', 'a', 'a', 'a', 'b']) await ask(client)
    assert.deepEqual(refused, [])
    await ask('c')
    assert.deepEqual([refused, budget.waiting('a'), budget.waiting('c')], [['a'], 2, 1])
    for (const client of ['d', 'e', 'f']) await ask(client)
    assert.deepEqual(refused, ['a', 'a', 'e', 'f'])
  })

  it('refuses what has waited for 1.5 seconds, and not what was given a slot before', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const { ask, refused, given, release } = observed({ slots: 1, queue: 4 })
    for (const client of ['a', 'b', 'c']) await ask(client)
    t.mock.timers.tick(1499)
    await release()
    t.mock.timers.tick(1)
    await turn()
    assert.deepEqual([given, refused], [['a', 'b'], ['c']])
    await release()
    await ask('c')
    assert.deepEqual(given, ['a', 'b', 'c'])
  })

  it('ends the wait of a client that goes away', async () => {
    const { budget, ask } = observed({ slots: 1, queue: 4 })
    const gone = new AbortController()
    await ask('a')
    await ask('b', { signal: gone.signal })
    gone.abort()
    await turn()
    assert.equal(budget.waiting(), 0)
  })

  it('gives the slot of work that fails to the next', async () => {
    const budget = new ClientBudget({ slots: 1, queue: 4, message: 'too busy' })
    for (let time = 0; time < 3; time++)
      await assert.rejects(
        budget.run('a', () => Promise.reject(new Error('of the work'))),
        /of the work/,
      )
    assert.equal(await budget.run('a', () => 7), 7)
    assert.deepEqual([budget.running(), budget.waiting()], [0, 0])
  })

  const client = fc.constantFrom('a', 'b', 'c', 'd')
  const step = fc.oneof(client, fc.nat({ max: 10 }))
  const sizes = fc.record({
    slots: fc.integer({ min: 1, max: 5 }),
    slotsPerClient: fc.integer({ min: 1, max: 5 }),
    queue: fc.integer({ min: 1, max: 8 }),
    queuePerClient: fc.integer({ min: 1, max: 8 }),
  })
  it('never exceeds a share, never leaves a slot free that a client may have, and loses no work', () =>
    fc.assert(
      fc.asyncProperty(sizes, fc.array(step, { maxLength: 60 }), async (options, steps) => {
        const { budget, ask, release, held, given, refused } = observed(options)
        let asked = 0
        for (const one of steps) {
          if (typeof one === 'string') {
            asked++
            await ask(one)
          } else if (held.length > 0) await release(one % held.length)
          const [slots, places] = [budget.running(), budget.waiting()]
          assert.ok(slots <= options.slots && places <= options.queue)
          assert.equal(slots, held.length)
          assert.equal(given.length + refused.length + places, asked)
          for (const name of ['a', 'b', 'c', 'd']) {
            assert.ok(budget.running(name) <= options.slotsPerClient)
            assert.ok(budget.waiting(name) <= options.queuePerClient)
            const mayStart = slots < options.slots && budget.running(name) < options.slotsPerClient
            if (mayStart) assert.equal(budget.waiting(name), 0)
          }
        }
        while (held.length > 0) await release()
        assert.deepEqual([budget.running(), budget.waiting()], [0, 0])
      }),
    ))
})
