import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Lookup, LookupTable } from '../../lib/integrity/checks.ts'
import { isLong } from '../support/long.ts'

const COUNT = 100_000

describe('The numbers that an integrity check remembers', () => {
  it('take less than 16 bytes for each record, and are found again', () => {
    const lookup: Lookup = { collection: 'hat', key: (_, id) => id, value: Number }
    const table = new LookupTable([lookup])
    const before = process.memoryUsage().arrayBuffers
    for (let id = 1; id <= COUNT; id++) table.remember('hat', id, 2 * id)
    const taken = process.memoryUsage().arrayBuffers - before
    // What was not collected yet counts, too.
    if (isLong) assert.ok(taken < 16 * COUNT, `${taken} bytes`)
    for (let id = 1; id <= COUNT; id++) if (table.find(lookup, id) !== 2 * id) assert.fail(`record ${id}`)
    assert.equal(table.find(lookup, COUNT + 1), undefined)
    assert.equal(table.find(lookup, 2 ** 40), undefined)
  })
})
