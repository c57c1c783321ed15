import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { onPostgres } from '../support/store.ts'
import { missing } from './cluster.ts'
import { faults, runFault } from './faults.ts'

/** Writing before and after each fault. `npm run spec:postgres` runs all faults, with more time. */
const CALM_MS = onPostgres ? 2000 : 400
const selected = onPostgres ? faults : faults.filter(({ name }) => /commit|promoted/.test(name))

describe('While 16 clients write to a server on PostgreSQL, a fault:', { skip: missing }, () => {
  for (const fault of selected)
    it(`${fault.name} loses no acknowledged write, keeps counts right, and answers 503 meanwhile`, async () => {
      const { acknowledged, lost, miscounted, wrong } = await runFault(fault, CALM_MS)
      assert.ok(acknowledged > 0)
      assert.deepEqual({ lost, miscounted, wrong }, { lost: 0, miscounted: 0, wrong: [] })
    })
})
