import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { times } from '../support/long.ts'
import { anyModel } from './model-arbitrary.ts'
import { modelSource } from './model-source.ts'
import { assertNoExcess } from './rights.ts'
import { startTarget } from './two.ts'

describe('Rights after a migration', () => {
  it('are at most those at the source, for every user and repository, after the first run and after later ones', async () => {
    await fc.assert(
      fc.asyncProperty(anyModel, anyModel, async (before, after) => {
        const source = modelSource(before)
        const target = await startTarget({ git: false })
        const given = { ...source, root: { ...target.root, token: 'secret' } }
        try {
          const first = await target.from(given)
          assert.ok(first.isComplete(), first.text)
          await assertNoExcess(target, before)
          // What is less here than there is so by design, and the comparison knows each reason.
          const { differences } = JSON.parse(JSON.stringify(await target.compared(given)))
          const ofRights = differences.filter(({ kind }: { kind: string }) => kind === 'right')
          assert.deepEqual(ofRights, [])
          source.model = after
          const later = await target.from(given)
          assert.ok(later.isComplete(), later.text)
          await assertNoExcess(target, after)
          const again = await target.from(given)
          assert.doesNotMatch(again.text, /[1-9]\d* copied|revoked/)
        } finally {
          await target.stop()
        }
      }),
      // A smaller counterexample would take minutes to find, since each run migrates three times.
      { numRuns: Number(process.env.RUNS ?? times(1, 8)), includeErrorInReport: true, endOnFailure: true },
    )
  })
})
