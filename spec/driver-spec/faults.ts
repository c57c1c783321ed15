import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate, setTimeout } from 'node:timers/promises'
import fc from 'fast-check'
import type { ReadTransaction, StorageDriver, WriteTransaction } from '../../lib/storage/index.ts'
import { below, bytes, collect, opened, type Part, text } from './fixture.ts'
import { checkProperty } from './property.ts'
import { type Call, troubled } from './fault-injection.ts'

class Fault extends Error {
  readonly call: Call

  constructor(call: Call) {
    super(`a fault at ${call}`)
    this.call = call
  }
}

/** What meets one call after another. */
type Event = 'nothing' | 'a turn' | 'a while' | 'a fault'

const events: fc.Arbitrary<Event[]> = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: fc.constant<Event>('nothing') },
    { weight: 4, arbitrary: fc.constant<Event>('a turn') },
    { weight: 1, arbitrary: fc.constant<Event>('a while') },
    { weight: 2, arbitrary: fc.constant<Event>('a fault') },
  ),
  { minLength: 20, maxLength: 80 },
)

/** Some goes from one purse to another. */
interface Payment {
  from: number
  to: number
  amount: number
  /** How the purses are read: each has another way through a driver. */
  reads: 'get' | 'getMany' | 'range'
}

const PURSES = [0, 1, 2, 3]
const FULL = 100
const purse = (at: number) => bytes(`purse/${at}`)
const note = (at: number) => bytes(`paid/${String(at).padStart(3, '0')}`)

const payment: fc.Arbitrary<Payment> = fc.record({
  from: fc.constantFrom(...PURSES),
  to: fc.constantFrom(...PURSES),
  amount: fc.integer({ min: 1, max: 9 }),
  reads: fc.constantFrom('get', 'getMany', 'range'),
})

const purses = async (tx: ReadTransaction, reads: Payment['reads']): Promise<number[]> => {
  if (reads === 'range')
    return (await collect(tx.range(below('purse/')))).map(([, value]) => Number(text(value)))
  if (reads === 'getMany') return (await tx.getMany(PURSES.map(purse))).map((value) => Number(text(value)))
  const found: number[] = []
  for (const at of PURSES) found.push(Number(text(await tx.get(purse(at)))))
  return found
}

const pay = async (tx: WriteTransaction, at: number, { from, to, amount, reads }: Payment): Promise<void> => {
  const held = await purses(tx, reads)
  held[from]! -= amount
  held[to]! += amount
  // One by one, with a read in between: what stops here has changed a half.
  tx.put(purse(from), bytes(String(held[from])))
  await tx.get(purse(to))
  tx.put(purse(to), bytes(String(held[to])))
  tx.put(note(at), bytes(String(amount)))
}

const prepare = (driver: StorageDriver): Promise<void> =>
  driver.write(async (tx) => {
    for (const [key] of await collect(tx.range(below('paid/')))) tx.delete(key)
    for (const at of PURSES) tx.put(purse(at), bytes(String(FULL)))
  })

/** Whether a payment was made: its driver said so, or the fault came after it was written. */
const outcomeOf = async (paying: Promise<void>): Promise<boolean> =>
  paying.then(
    () => true,
    (error) => {
      assert.ok(error instanceof Fault, String(error))
      return error.call === 'answer'
    },
  )

const happens = async (event: Event | undefined, call: Call): Promise<void> => {
  if (event === 'a turn') await setImmediate()
  if (event === 'a while') await setTimeout(2)
  if (event === 'a fault') throw new Fault(call)
}

const payAll = async (driver: StorageDriver, payments: readonly Payment[], met: readonly Event[]) => {
  let calls = 0
  const faulty = troubled(driver, (call) => happens(met[calls++ % met.length], call))
  const reading = faulty
    .read((tx) => purses(tx, 'range'))
    .then(
      (held) => assert.equal(sum(held), FULL * PURSES.length, 'a reader sees no half of a payment'),
      (error) => assert.ok(error instanceof Fault, String(error)),
    )
  const paid = await Promise.all(payments.map((one, at) => outcomeOf(faulty.write((tx) => pay(tx, at, one)))))
  await reading
  return paid
}

const agrees = async (driver: StorageDriver, payments: readonly Payment[], paid: readonly boolean[]) => {
  const expected = PURSES.map(() => FULL)
  for (const [at, { from, to, amount }] of payments.entries()) {
    if (!paid[at]) continue
    expected[from]! -= amount
    expected[to]! += amount
  }
  await driver.read(async (tx) => {
    assert.deepEqual(await purses(tx, 'get'), expected)
    const notes = (await collect(tx.range(below('paid/')))).map(([key]) => text(key))
    const made = payments.flatMap((_, at) => (paid[at] ? [text(note(at))] : []))
    assert.deepEqual(notes, made)
  })
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)

export const faults: Part = (candidate) =>
  describe('whatever call of a transaction fails or is held up', () => {
    test('nothing is half done, and the others go on', { timeout: 30_000 }, async (t) => {
      const driver = await opened(t, candidate)
      const cases = fc.record({ payments: fc.array(payment, { minLength: 1, maxLength: 10 }), met: events })
      await checkProperty(cases, 120, async ({ payments, met }) => {
        // A payment to oneself changes nothing, whichever half of it is done.
        const real = payments.filter(({ from, to }) => from !== to)
        await prepare(driver)
        await agrees(driver, real, await payAll(driver, real, met))
      })
    })
  })
