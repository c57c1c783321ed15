import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import * as v from 'valibot'
import { memory } from '../../drivers/memory/index.ts'
import { Collection, type IndexEntry } from '../../lib/records/collection.ts'
import * as schema from '../../lib/records/schema/index.ts'
import { countReads } from '../counted.ts'

const Book = v.object({ id: v.number(), author: v.string(), year: v.number() })

const books = new Collection({
  name: 'book',
  schema: Book,
  id: (book) => [book.id],
  ordered: { author: (book) => [book.author], year: (book) => [book.author, book.year] },
  counted: { author: (book) => [book.author] },
})

const written = async () => {
  const driver = memory()
  await driver.open()
  await driver.write(async (tx) => {
    for (const [id, author, year] of [
      [1, 'ann', 2003],
      [2, 'ben', 2001],
      [3, 'ann', 2001],
      [4, 'ann', 2002],
    ] as const)
      await books.save(tx, { id, author, year })
  })
  return driver
}

describe('The list of all collections', () => {
  it('has every collection that a file of the schema declares', () => {
    const declared = Object.values<unknown>(schema).filter((value) => value instanceof Collection)
    assert.deepEqual(new Set<unknown>(schema.collections), new Set<unknown>(declared))
    const folder = new URL('../../lib/records/schema/', import.meta.url)
    const files = [...readdirSync(folder), '../jobs.ts'].map((file) =>
      readFileSync(new URL(file, folder), 'utf8'),
    )
    const sources = files.join('\n')
    const names = [...sources.matchAll(/\bname: '(\w+)',\s+schema|\brelation\('(\w+)'/g)]
    const named = names.map(([, name, relation]) => name ?? relation)
    assert.deepEqual(schema.collections.map(({ options }) => options.name).sort(), named.sort())
  })
})

describe('A page of a collection', () => {
  it('has the items of the slice in the order of the index, and the total of the whole listing', async () => {
    const driver = await written()
    const page = await driver.read((tx) => books.page(tx, 'author', { prefix: ['ann'], offset: 1, limit: 1 }))
    assert.deepEqual(page, { items: [{ id: 3, author: 'ann', year: 2001 }], total: 3 })
  })

  it('takes the total from another counter when the index has none of its name', async () => {
    const driver = await written()
    const latest = { prefix: ['ann'], reverse: true, offset: 0, limit: 2 }
    const page = await driver.read((tx) => books.page(tx, 'year', latest, 'author'))
    assert.deepEqual(
      page.items.map(({ year }) => year),
      [2003, 2002],
    )
    assert.equal(page.total, 3)
    // @ts-expect-error The index has no counter, so the caller must name one.
    await driver.read((tx) => books.page(tx, 'year', latest))
  })

  it('has the items at its offset, however deep in a long listing, and reads few before the last ones', async () => {
    const { driver, during } = countReads(memory())
    await driver.open()
    const ids = Array.from({ length: 1200 }, (_, index) => index)
    await driver.write(async (tx) => {
      for (const id of ids) await books.add(tx, { id, author: 'eve', year: id })
    })
    for (const reverse of [false, true])
      for (const offset of [0, 499, 500, 599, 600, 1151, 1199, 1200, 5000])
        for (const limit of [0, 1, 50]) {
          const listing = { prefix: ['eve'], reverse, offset, limit }
          const { items, total } = await driver.read((tx) => books.page(tx, 'author', listing))
          const expected = (reverse ? ids.toReversed() : ids).slice(offset, offset + limit)
          assert.deepEqual(
            items.map(({ id }) => id),
            expected,
            JSON.stringify(listing),
          )
          assert.equal(total, 1200)
        }
    const last = { prefix: ['eve'], offset: 1150, limit: 50 }
    const reads = await during(() => driver.read((tx) => books.page(tx, 'author', last)))
    assert.ok(reads < 150, `${reads} reads`)
  })
})

describe('The records of entries from an earlier snapshot', () => {
  it('are those that are left when one between them was removed', async () => {
    const driver = await written()
    const entries: IndexEntry[] = []
    await driver.read(async (tx) => {
      for await (const entry of books.entries(tx, 'author', { prefix: ['ann'] })) entries.push(entry)
    })
    await driver.write((tx) => books.remove(tx, [3]))
    await driver.read(async (tx) => {
      const left = await books.load(tx, entries)
      assert.deepEqual(
        left.map(({ id }) => id),
        [1, 4],
      )
    })
  })
})
