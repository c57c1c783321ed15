import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { withHealthChecks } from '../../bin/server/listeners.ts'
import { memory } from '../../drivers/memory/index.ts'
import { openAllot } from '../../lib/allot.ts'
import { READY_INTERVAL_MS, STORE_TIMEOUT_MS, writableCheck } from '../../lib/storage/index.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { listen } from '../support/listen.ts'
import { waitFor } from '../support/wait-for.ts'
import { served } from './in-process.ts'

describe('The health checks of the server', () => {
  it('answer GET and HEAD without credentials', async () => {
    const server = await served(['--data', temporaryDirectory()])
    const origin = new URL(server.api).origin
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
    const pauses: [ms: number, end: () => void][] = []
    const pause = (ms: number) => new Promise<void>((resolve) => pauses.push([ms, resolve]))
    /** Ends the pauses of this length. */
    const pass = async (ms: number) => {
      await waitFor(() => pauses.some(([one]) => one === ms))
      for (const [one, end] of pauses) if (one === ms) end()
      pauses.splice(0)
      await new Promise(setImmediate)
    }
    const ready = writableCheck(driver, pause)
    const { origin } = await listen(withHealthChecks({ ready }, allot.handler))
    const statusOf = async (path: string) => (await fetch(origin + path)).status
    const statuses = () => Promise.all(['/-/healthz', '/-/readyz'].map(statusOf))
    writes = 0
    await Promise.all(Array.from({ length: 20 }, statuses))
    assert.equal(writes, 1, 'requests share a check')
    isHanging = true
    assert.deepEqual(await statuses(), [200, 200], 'the check is reused')
    await pass(READY_INTERVAL_MS)
    const down = statuses()
    await pass(STORE_TIMEOUT_MS)
    assert.deepEqual(await down, [200, 503])
    isHanging = false
    await pass(READY_INTERVAL_MS)
    assert.deepEqual(await statuses(), [200, 200])
    await allot.close()
    await pass(READY_INTERVAL_MS)
    assert.deepEqual(await statuses(), [200, 503])
  })
})
