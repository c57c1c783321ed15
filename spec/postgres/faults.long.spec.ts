import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { onPostgres } from '../support/store.ts'
import { missing } from './cluster.ts'
import { faults, runFault } from './faults.ts'

/**
 * Writes of each client before and after each fault. `npm run spec:postgres` runs all faults, with more
 * writes.
 */
const CALM_WRITES = onPostgres ? 50 : 5
const selected = onPostgres ? faults : faults.filter(({ name }) => /commit|promoted/.test(name))

describe('While 16 clients write to a server on PostgreSQL, a fault:', { skip: missing }, () => {
  for (const fault of selected)
    it(`${fault.name} loses no acknowledged write, keeps counts right, and answers 503 meanwhile`, async () => {
      const { acknowledged, lost, miscounted, wrong } = await runFault(fault, CALM_WRITES)
      assert.ok(acknowledged > 0)
      assert.deepEqual({ lost, miscounted, wrong }, { lost: 0, miscounted: 0, wrong: [] })
    })
})
