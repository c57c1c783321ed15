import assert from 'node:assert/strict'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { outcome } from '../support/child.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { writeGroup } from '../support/groups.ts'
import { onPostgres } from '../support/store.ts'
import { missing } from './cluster.ts'
import { emptyStore } from './empty-store.ts'

/** Specs of the API that write, and that repeat writes. `npm run spec:plain` runs all of them. */
const FILES = ['api/commit-order.spec.ts', 'api/starred.spec.ts']

const withoutSchema = (text: string): string => {
  const url = new URL(text)
  url.searchParams.delete('schema')
  return url.href
}

/** `npm run spec:plain` runs all specs of the API, and `npm run spec:postgres` those with the optimistic engine. */
if (!onPostgres)
  describe('The API on PostgreSQL with the plain engine', { skip: missing }, () => {
    it(`passes ${FILES.join(', ')}`, async () => {
      const { url } = await emptyStore()
      const group = writeGroup(dirname(import.meta.dirname), FILES, join(temporaryDirectory(), 'group.mjs'))
      // Without the variable of the runner, which keeps a process within a run from reporting its own.
      const { NODE_TEST_CONTEXT: _, ...env } = process.env
      const args = ['--import', import.meta.resolve('tsx'), group]
      const { code, stdout, stderr } = await outcome(process.execPath, args, {
        env: { ...env, ALLOT_SPEC_STORAGE: 'postgres-plain', ALLOT_SPEC_POSTGRES: withoutSchema(url) },
        timeout: 300_000,
      })
      assert.equal(code, 0, stdout + stderr)
      assert.match(stdout, /^# (?:pass|ℹ pass) [1-9]/m)
    })
  })
