import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { withHealthChecks } from '../../bin/server/listeners.ts'
import { memory } from '../../drivers/memory/index.ts'
import { openAllot } from '../../lib/allot.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { listen } from '../support/listen.ts'
import { served } from './program.ts'

/** Longer than the result of a check is good. */
/** For how long a check is good, and a time after which it is not. */
const CHECK_MS = 250
const READY_MS = 300

describe('The health checks of the server', () => {
  it('answer GET and HEAD without credentials', async () => {
    const server = await served(['--data', temporaryDirectory()])
    const origin = new URL(server.api).origin
    try {
      for (const [path, words] of [
        ['/-/healthz', 'alive\n'],
        ['/-/readyz?verbose', 'ready\n'],
      ] as const) {
        const got = await fetch(origin + path)
        assert.deepEqual([got.status, await got.text()], [200, words])
        assert.equal(got.headers.get('cache-control'), 'no-store')
        assert.equal((await fetch(origin + path, { method: 'HEAD' })).status, 200)
        const posted = await fetch(origin + path, { method: 'POST' })
        assert.deepEqual([posted.status, posted.headers.get('allow')], [405, 'GET, HEAD'])
      }
      assert.equal((await fetch(`${origin}/-/other`)).status, 404)
    } finally {
      await server.stop()
    }
  })

  it('answer 503 at /-/readyz and 200 at /-/healthz when the store is down or takes no writes', async () => {
    const store = memory()
    let isHanging = false
    let writes = 0
    const driver: typeof store = {
      ...store,
      write: (work) => {
        writes++
        return isHanging ? new Promise(() => undefined) : store.write(work)
      },
    }
    const allot = await openAllot({ driver, repositories: false })
    const { origin, stop } = await listen(withHealthChecks(allot, allot.handler))
    const statuses = () =>
      Promise.all(['/-/healthz', '/-/readyz'].map(async (path) => (await fetch(origin + path)).status))
    try {
      writes = 0
      const begun = performance.now()
      await Promise.all(Array.from({ length: 20 }, statuses))
      // On a busy machine the requests take longer than a check is good for.
      const checks = 1 + Math.floor((performance.now() - begun) / CHECK_MS)
      assert.ok(writes <= checks, 'requests share a check')
      await setTimeout(READY_MS)
      isHanging = true
      assert.deepEqual(await statuses(), [200, 503])
      isHanging = false
      await setTimeout(READY_MS)
      assert.deepEqual(await statuses(), [200, 200])
      await allot.close()
      await setTimeout(READY_MS)
      assert.deepEqual(await statuses(), [200, 503])
    } finally {
      await stop()
    }
  })
})
