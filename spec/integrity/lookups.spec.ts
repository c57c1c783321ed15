import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Lookup, LookupTable } from '../../lib/integrity/checks.ts'
import { isLong } from '../support/long.ts'

const COUNT = 100_000
const BLOCK = 32

/** The ids that one of `of` shards gives out: blocks, of which it takes every `of`-th. */
const idOf = (index: number, of: number): number =>
  (of === 1 ? 1 : 2 ** 40) + Math.floor(index / BLOCK) * BLOCK * of + (index % BLOCK)

describe('The numbers that an integrity check remembers', () => {
  for (const of of [1, 64, 4096])
    it(`take less than 16 bytes for each record of one of ${of} shards, and are found again`, () => {
      const lookup: Lookup = { collection: 'hat', key: (_, id) => id, value: Number }
      const table = new LookupTable([lookup])
      const before = process.memoryUsage().arrayBuffers
      for (let index = 0; index < COUNT; index++) table.remember('hat', idOf(index, of), index)
      const taken = process.memoryUsage().arrayBuffers - before
      // What was not collected yet counts, too.
      if (isLong) assert.ok(taken < 16 * COUNT, `${taken} bytes`)
      for (let index = 0; index < COUNT; index++)
        if (table.find(lookup, idOf(index, of)) !== index) assert.fail(`record ${index}`)
      assert.equal(table.find(lookup, idOf(COUNT + BLOCK, of)), undefined)
      assert.equal(table.find(lookup, idOf(BLOCK, of) - 1), of === 1 ? BLOCK - 1 : undefined)
    })

  it('cannot be asked for by a check whose domain does not list the lookup', () => {
    const lookup: Lookup = { collection: 'hat', key: (_, id) => id, value: Number }
    assert.throws(() => new LookupTable([]).find(lookup, 1), /a lookup of hat is not in the list `lookups`/)
  })
})
