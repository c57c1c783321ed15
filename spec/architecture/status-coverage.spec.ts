import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { Empty } from '../../lib/http/index.ts'
import { recordAnswer, uncoveredStatuses } from '../support/status-coverage.ts'

it('A status that a route declares, and that no spec has got, is found out after the run', () => {
  const folder = mkdtempSync(join(tmpdir(), 'allot-produced-'))
  const one = { operationId: 'one', responses: { 200: Empty, 404: Empty } }
  const other = { operationId: 'other', responses: { 200: Empty } }
  try {
    recordAnswer(one, 200, folder)
    recordAnswer(one, 405, folder)
    assert.deepEqual(uncoveredStatuses([one, other], folder), ['one 404', 'other 200'])
    recordAnswer(one, 404, folder)
    recordAnswer(other, 200, folder)
    assert.deepEqual(uncoveredStatuses([one, other], folder), [])
  } finally {
    rmSync(folder, { recursive: true })
  }
})
