import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { describe, it } from 'node:test'
import { hookTo, startReceiver } from '../support/receiver.ts'
import { start } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'

describe('A delivery whose last attempt is in progress', () => {
  for (const [title, method, path] of [
    ['is tried once more when its webhook is changed', 'PATCH', ''],
    ['is tried once more when it is sent again', 'POST', '/deliveries/1/attempts'],
  ] as const)
    it(title, async () => {
      const held: ServerResponse[] = []
      const receiver = await startReceiver(({ path }, res) =>
        path === '/hangs' && held.length === 0 ? void held.push(res) : void res.end(),
      )
      const webhooks = { allowedHosts: ['127.0.0.1'], timeout: 60_000, retryFor: 1 }
      const allot = await start({ repositories: false, webhooks })
      const { id } = await allot.made(allot.root, '/user/hooks', hookTo(`${receiver.url}/hangs`, 'issues'))
      const hook = `/user/hooks/${id}`
      await allot.as(allot.root, 'POST', `${hook}/tests`)
      await receiver.at('/hangs', 1)
      const asked = await allot.as(allot.root, method, hook + path, {
        config: { url: `${receiver.url}/mended` },
      })
      assert.ok(asked.status < 300, asked.text)
      const ended = once(held[0]!, 'close')
      held[0]!.writeHead(500).end()
      await ended
      const delivery = async () => (await allot.as(allot.root, 'GET', `${hook}/deliveries/1`)).body
      await waitFor(async () => (await delivery()).status !== 'waiting')
      const { status, attempts } = await delivery()
      assert.deepEqual([status, attempts], ['delivered', 2])
      const mended = receiver.received.filter(({ path }) => path === '/mended')
      assert.equal(mended.length, method === 'PATCH' ? 1 : 0)
    })
})
