import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate, setTimeout } from 'node:timers/promises'
import fc from 'fast-check'
import type { ReadTransaction, StorageDriver, WriteTransaction } from '../../lib/storage/index.ts'
import { type Call, withFaults } from './fault-injection.ts'
import { below, bytes, collect, opened, type Part, text } from './fixture.ts'
import { checkProperty } from './property.ts'

class InjectedFault extends Error {
  readonly call: Call

  constructor(call: Call) {
    super(`a fault at ${call}`)
    this.call = call
  }
}

/** The fault before a call. */
type Event = 'nothing' | 'short delay' | 'long delay' | 'fault'

const anyEvents: fc.Arbitrary<Event[]> = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: fc.constant<Event>('nothing') },
    { weight: 4, arbitrary: fc.constant<Event>('short delay') },
    { weight: 1, arbitrary: fc.constant<Event>('long delay') },
    { weight: 2, arbitrary: fc.constant<Event>('fault') },
  ),
  { minLength: 20, maxLength: 80 },
)

/** A transfer between two accounts. */
interface Payment {
  from: number
  to: number
  amount: number
  /** How the balances are read: a driver implements each differently. */
  reads: 'get' | 'getMany' | 'range'
}

const ACCOUNTS = [0, 1, 2, 3]
const INITIAL = 100
const account = (at: number) => bytes(`account/${at}`)
const note = (at: number) => bytes(`paid/${String(at).padStart(3, '0')}`)

const payment: fc.Arbitrary<Payment> = fc.record({
  from: fc.constantFrom(...ACCOUNTS),
  to: fc.constantFrom(...ACCOUNTS),
  amount: fc.integer({ min: 1, max: 9 }),
  reads: fc.constantFrom('get', 'getMany', 'range'),
})

const balances = async (tx: ReadTransaction, reads: Payment['reads']): Promise<number[]> => {
  if (reads === 'range')
    return (await collect(tx.range(below('account/')))).map(([, value]) => Number(text(value)))
  if (reads === 'getMany')
    return (await tx.getMany(ACCOUNTS.map(account))).map((value) => Number(text(value)))
  const found: number[] = []
  for (const at of ACCOUNTS) found.push(Number(text(await tx.get(account(at)))))
  return found
}

const pay = async (tx: WriteTransaction, at: number, { from, to, amount, reads }: Payment): Promise<void> => {
  const held = await balances(tx, reads)
  held[from]! -= amount
  held[to]! += amount
  // With a read in between: a fault there leaves half of the payment in the buffer.
  tx.put(account(from), bytes(String(held[from])))
  await tx.get(account(to))
  tx.put(account(to), bytes(String(held[to])))
  tx.put(note(at), bytes(String(amount)))
}

const prepare = (driver: StorageDriver): Promise<void> =>
  driver.write(async (tx) => {
    for (const [key] of await collect(tx.range(below('paid/')))) tx.delete(key)
    for (const at of ACCOUNTS) tx.put(account(at), bytes(String(INITIAL)))
  })

/** Whether a payment was made: the driver confirmed it, or the fault came after the commit. */
const outcomeOf = async (paying: Promise<void>): Promise<boolean> =>
  paying.then(
    () => true,
    (error) => {
      assert.ok(error instanceof InjectedFault, String(error))
      return error.call === 'answer'
    },
  )

const apply = async (event: Event | undefined, call: Call): Promise<void> => {
  if (event === 'short delay') await setImmediate()
  if (event === 'long delay') await setTimeout(2)
  if (event === 'fault') throw new InjectedFault(call)
}

const payAll = async (driver: StorageDriver, payments: readonly Payment[], events: readonly Event[]) => {
  let calls = 0
  const faulty = withFaults(driver, (call) => apply(events[calls++ % events.length], call))
  const reading = faulty
    .read((tx) => balances(tx, 'range'))
    .then(
      (held) => assert.equal(sum(held), INITIAL * ACCOUNTS.length, 'a reader does not see half of a payment'),
      (error) => assert.ok(error instanceof InjectedFault, String(error)),
    )
  const paid = await Promise.all(
    payments.map((payment, at) => outcomeOf(faulty.write((tx) => pay(tx, at, payment)))),
  )
  await reading
  return paid
}

const agrees = async (driver: StorageDriver, payments: readonly Payment[], paid: readonly boolean[]) => {
  const expected = ACCOUNTS.map(() => INITIAL)
  for (const [at, { from, to, amount }] of payments.entries()) {
    if (!paid[at]) continue
    expected[from]! -= amount
    expected[to]! += amount
  }
  await driver.read(async (tx) => {
    assert.deepEqual(await balances(tx, 'get'), expected)
    const notes = (await collect(tx.range(below('paid/')))).map(([key]) => text(key))
    const made = payments.flatMap((_, at) => (paid[at] ? [text(note(at))] : []))
    assert.deepEqual(notes, made)
  })
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)

export const faults: Part = (candidate) =>
  describe('faults and delays at any call of a transaction', () => {
    test('leave no partial write, and other transactions go on', { timeout: 300_000 }, async (t) => {
      const driver = await opened(t, candidate)
      const cases = fc.record({
        payments: fc.array(payment, { minLength: 1, maxLength: 10 }),
        events: anyEvents,
      })
      await checkProperty(cases, 120, async ({ payments, events }) => {
        // Half of a payment to the same account cannot be told from all of it.
        const real = payments.filter(({ from, to }) => from !== to)
        await prepare(driver)
        await agrees(driver, real, await payAll(driver, real, events))
      })
    })
  })
