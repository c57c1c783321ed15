import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { IndexEntry } from '../../lib/records/collection.ts'
import { except, intersect, merge, pageOf, recordKeyText } from '../../lib/records/merge.ts'

/*
 * Listings are merged without loading records. Each law compares with sorting arrays; `reads` counts the
 * entries that were taken, and `open` the listings that nobody has ended.
 */

const entryOf = (order: number, record = order): IndexEntry => ({
  order: Buffer.from([order]),
  recordKey: Buffer.from([record]),
})
const ordersOf = (entries: readonly Pick<IndexEntry, 'order'>[]): number[] =>
  entries.map(({ order }) => order[0]!)

const usage = { reads: 0, open: 0 }

async function* listingOf(orders: readonly number[]): AsyncGenerator<IndexEntry> {
  usage.open++
  try {
    for (const order of orders) {
      usage.reads++
      yield entryOf(order)
    }
  } finally {
    usage.open--
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

describe('merge', () => {
  it('has the entries of all listings in order, also in reverse, and ends each listing', () =>
    check(fc.tuple(lists, fc.boolean(), fc.nat(10)), async ([given, reverse, limit]) => {
      const direction = (list: readonly number[]) => (reverse ? list.toReversed() : list)
      const listings = () => given.map((list) => listingOf(direction(list)))
      const expected = direction(given.flat().sort(ascending))
      assert.deepEqual(ordersOf(await taken(merge(listings(), reverse))), expected)
      assert.deepEqual(
        ordersOf(await taken(merge(listings(), reverse), limit + 1)),
        expected.slice(0, limit + 1),
      )
      assert.equal(usage.open, 0)
    }))

  it('takes equal entries in the order of the listings', async () => {
    const listings = [1, 2, 3].map((record) => [entryOf(7, record), entryOf(8, record)])
    const found = await taken(merge(listings))
    assert.deepEqual(
      found.map(({ recordKey }) => recordKey[0]),
      [1, 2, 3, 1, 2, 3],
    )
  })

  it('ends the other listings when one fails', async () => {
    async function* failing(): AsyncGenerator<IndexEntry> {
      yield entryOf(2)
      throw new Error('the disk is gone')
    }
    await assert.rejects(taken(merge([listingOf([1, 3]), failing()])), /the disk is gone/)
    assert.equal(usage.open, 0)
  })
})

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
      assert.equal(usage.open, 0)
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

describe('intersect', () => {
  it('has the entries that all listings have, also in reverse, and ends each listing', () =>
    check(
      fc.tuple(fc.array(orders, { minLength: 1, maxLength: 4 }), fc.boolean()),
      async ([given, reverse]) => {
        const distinct = given.map((list) => [...new Set(list)])
        const direction = (list: readonly number[]) => (reverse ? list.toReversed() : list)
        const expected = direction(
          distinct[0]!.filter((order) => distinct.every((list) => list.includes(order))),
        )
        const found = await taken(
          intersect(
            distinct.map((list) => listingOf(direction(list))),
            reverse,
          ),
        )
        assert.deepEqual(ordersOf(found), expected)
        assert.equal(usage.open, 0)
      },
    ))
})

describe('pageOf', () => {
  it('has the entries of one page, and reads none after it', () =>
    check(fc.tuple(orders, fc.nat(14), fc.nat(14)), async ([list, offset, limit]) => {
      usage.reads = 0
      const page = await pageOf(listingOf(list), { offset, limit })
      assert.deepEqual(ordersOf(page), list.slice(offset, offset + limit))
      assert.ok(usage.reads <= (limit === 0 ? 0 : offset + limit))
    }))
})

describe('except', () => {
  it('leaves out the entries of some records', () =>
    check(fc.tuple(orders, orders), async ([list, without]) => {
      const records = new Set(without.map((order) => recordKeyText(entryOf(order))))
      const found = await taken(except(records, listingOf(list)))
      assert.deepEqual(
        ordersOf(found),
        list.filter((order) => !without.includes(order)),
      )
    }))
})
