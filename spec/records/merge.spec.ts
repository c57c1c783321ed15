import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { IndexEntry } from '../../lib/records/collection.ts'
import { distinct, merge } from '../../lib/records/merge.ts'

const entryOf = (order: number): IndexEntry => ({
  order: Buffer.from([order]),
  recordKey: Buffer.from([order]),
})
const ordersOf = (entries: readonly Pick<IndexEntry, 'order'>[]): number[] =>
  entries.map(({ order }) => order[0]!)

/** Listings that nobody has ended. */
let open = 0

async function* listingOf(orders: readonly number[]): AsyncGenerator<IndexEntry> {
  open++
  try {
    yield* orders.map(entryOf)
  } finally {
    open--
  }
}

const taken = async <T>(entries: AsyncIterable<T>, limit = Number.POSITIVE_INFINITY): Promise<T[]> => {
  const found: T[] = []
  for await (const entry of entries) if (found.push(entry) >= limit) break
  return found
}

const ascending = (left: number, right: number) => left - right
const orders = fc.array(fc.nat(20), { maxLength: 12 }).map((list) => list.toSorted(ascending))
const lists = fc.array(orders, { maxLength: 5 })
const check = <T>(arbitrary: fc.Arbitrary<T>, law: (value: T) => Promise<void>) =>
  fc.assert(fc.asyncProperty(arbitrary, law))

describe('merge with later listings', () => {
  it('has the entries of all listings in order, whatever the first entry of a deferred one is', () =>
    check(fc.tuple(lists, lists, fc.nat(3)), async ([given, deferred, before]) => {
      const firstOrder = (list: readonly number[]) => Math.max(0, (list[0] ?? 20) - before)
      const sorted = deferred.toSorted((left, right) => firstOrder(left) - firstOrder(right))
      async function* later() {
        for (const list of sorted)
          yield { from: Buffer.from([firstOrder(list)]), listings: [listingOf(list)] }
      }
      const found = await taken(merge(given.map(listingOf), false, later()))
      assert.deepEqual(ordersOf(found), [...given.flat(), ...deferred.flat()].sort(ascending))
      assert.equal(open, 0)
    }))

  it('opens no listing before an entry of it can be the next one', async () => {
    let opened = 0
    async function* later() {
      for (const from of [5, 10, 15]) {
        opened++
        yield { from: Buffer.from([from]), listings: [listingOf([from])] }
      }
    }
    assert.deepEqual(ordersOf(await taken(merge([listingOf([1, 2, 3])], false, later()), 3)), [1, 2, 3])
    assert.equal(opened, 1, 'the first one is looked at, to know where it begins')
  })
})

describe('distinct', () => {
  it('has each record once', () =>
    check(orders, async (list) =>
      assert.deepEqual(ordersOf(await taken(distinct(listingOf(list)))), [...new Set(list)]),
    ))
})
