import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { times } from '../support/long.ts'
import { anyModel } from './model-arbitrary.ts'
import { modelSource } from './model-source.ts'
import { assertNoExcess, excessesOf, rightsNow } from './rights.ts'
import { startTarget } from './two.ts'

/** Requests to the source between two looks at the rights. */
const PAUSE = times(40, 8)

describe('Rights in a migration', () => {
  it('are at most those at the source, for every user and repository, after each run, and in none more than before and there', async () => {
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
          const held = await rightsNow(target, after)
          const excesses: string[] = []
          let requests = 0
          const watched = async (url: string, request: RequestInit) => {
            if (++requests % PAUSE === 0) excesses.push(...(await excessesOf(target, after, held)))
            return source.fetch(url, request)
          }
          const later = await target.from({ ...given, fetch: watched })
          assert.ok(later.isComplete(), later.text)
          assert.ok(requests > PAUSE)
          assert.deepEqual(excesses, [])
          await assertNoExcess(target, after)
          const again = await target.from(given)
          assert.doesNotMatch(again.text, /[1-9]\d* (copied|updated)|revoked|removed|overwritten/)
        } finally {
          await target.stop()
        }
      }),
      // A smaller counterexample would take minutes to find, since each run migrates three times.
      { numRuns: Number(process.env.RUNS ?? times(1, 8)), includeErrorInReport: true, endOnFailure: true },
    )
  })
})
