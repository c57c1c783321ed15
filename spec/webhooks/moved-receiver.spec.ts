import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { it } from 'node:test'
import { hookTo, startReceiver } from '../support/receiver.ts'
import { start } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'

it('A webhook whose URL was changed while it sends no longer takes a connection of its former receiver', async (test) => {
  const held: ServerResponse[] = []
  const answer = ({ path }: { path: string }, res: ServerResponse) =>
    void (path === '/busy' ? held.push(res) : res.end())
  const [former, next] = [await startReceiver(answer), await startReceiver(answer)]
  const limits = { timeout: 60_000, maxConcurrent: 8, maxConcurrentPerReceiver: 1 }
  const webhooks = { allowedHosts: ['127.0.0.1'], ...limits }
  const allot = await start({ repositories: false, webhooks })
  test.after(async () => {
    for (const res of held) res.end()
    await allot.stop()
    await Promise.all([former.stop(), next.stop()])
  })
  const alice = await allot.person('alice')
  const ask = (method: string, path: string, body: object) => allot.done(alice, method, path, body)
  await ask('POST', '/user/repos', { name: 'app' })
  const hooked = async (url: string): Promise<string> =>
    `/repos/alice/app/hooks/${(await ask('POST', '/repos/alice/app/hooks', hookTo(url, 'issues'))).id}`
  const openIssue = (title: string) => ask('POST', '/repos/alice/app/issues', { title })

  const busy = await hooked(`${former.url}/busy`)
  for (const title of ['first', 'second']) await openIssue(title)
  assert.equal((await former.at('/busy', 1)).length, 1)
  await ask('PATCH', busy, { config: { url: `${next.url}/busy` } })
  await waitFor(() => held.length === 1)
  held[0]!.end()
  assert.equal((await next.at('/busy', 1)).length, 1)
  await hooked(`${former.url}/other`)
  await openIssue('third')
  assert.equal((await former.at('/other', 1)).length, 1)
  // The changed one has not given up: it still holds its connection, of its new receiver.
  assert.ok(!held[1]!.closed)
})
