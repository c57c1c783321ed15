import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { onPostgres } from '../support/store.ts'
import { missing } from './cluster.ts'
import { faults, struckBy } from './faults.ts'

/** Milliseconds of writing before and after: longer with `npm run spec:postgres`, and all of them. */
const CALM = onPostgres ? 2000 : 400
const struck = onPostgres ? faults : faults.filter(({ name }) => /commit|promoted/.test(name))

describe('While 16 clients write to a server on PostgreSQL', { skip: missing }, () => {
  for (const fault of struck)
    it(`${fault.name}: nothing acknowledged is lost, nothing is miscounted, and being away is 503`, async () => {
      const { acknowledged, lost, miscounted, wrong } = await struckBy(fault, CALM)
      assert.ok(acknowledged > 0)
      assert.deepEqual({ lost, miscounted, wrong }, { lost: 0, miscounted: 0, wrong: [] })
    })
})
