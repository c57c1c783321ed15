import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { start } from '../support/test-server.ts'

const running = await start()
after(() => running.stop())
const { allot, root } = running
const authorization = { authorization: `token ${root.token}` }

const fetched = (path: string, init: RequestInit = {}) =>
  allot.fetch(new Request(`https://code.example.org${path}`, init))

describe('allot.fetch', () => {
  it('answers a Request with the Response of the listener', async () => {
    for (const path of [
      '/api/v1/version',
      '/api/v1/users/nobody',
      '/api/v1/users/search?limit=1',
      '/elsewhere',
    ]) {
      const [one, other] = [await fetched(path), await fetch(running.base + path)]
      assert.equal(one.status, other.status)
      const expected = (await other.text())
        .replaceAll(running.base, 'https://code.example.org')
        .replaceAll('127.0.0.1', 'code.example.org')
      assert.equal(await one.text(), expected)
      for (const name of ['content-type', 'x-total-count', 'x-content-type-options'])
        assert.equal(one.headers.get(name), other.headers.get(name), name)
    }
  })

  it('reads the body, the credentials and the URL of the Request', async () => {
    const headers = { ...authorization, 'content-type': 'application/json' }
    const body = JSON.stringify({ name: 'demo', description: 'ü'.repeat(1000) })
    const made = await fetched('/api/v1/user/repos', { method: 'POST', headers, body })
    assert.equal(made.status, 201)
    const repository = (await made.json()) as { html_url: string; description: string }
    assert.equal(repository.html_url, 'https://code.example.org/root/demo')
    assert.equal(repository.description.length, 1000)
    const streamed = new ReadableStream({
      start(controller) {
        for (const part of ['{"na', 'me":"two"}']) controller.enqueue(new TextEncoder().encode(part))
        controller.close()
      },
    })
    const init = { method: 'POST', headers, body: streamed, duplex: 'half' } as RequestInit
    assert.equal((await fetched('/api/v1/user/repos', init)).status, 201)
    const tooLarge = { method: 'POST', headers, body: 'x'.repeat(2 ** 20 + 1) }
    assert.equal((await fetched('/api/v1/user/repos', tooLarge)).status, 413)
  })

  it('ends a request whose body is refused before it was read', async () => {
    const endless = new ReadableStream({ start: (to) => to.enqueue(new TextEncoder().encode('{')) })
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: endless,
      duplex: 'half',
    }
    const refused = await fetched('/api/v1/user/repos', init as RequestInit)
    assert.deepEqual([refused.status, typeof (await refused.json())], [401, 'object'])
    // Whatever lingers of it ends a few seconds later, and takes nothing along.
    await new Promise((resolve) => setTimeout(resolve, 3500))
    assert.equal((await fetched('/api/v1/version')).status, 200)
  })

  it('has no body for 204, 304 and HEAD', async () => {
    const starred = await fetched('/api/v1/user/starred/root/demo', { method: 'PUT', headers: authorization })
    assert.deepEqual([starred.status, starred.body], [204, null])
    const head = await fetched('/api/v1/version', { method: 'HEAD' })
    assert.deepEqual([head.status, head.body], [200, null])
    const { headers } = await fetched('/api/v1/version')
    const held = await fetched('/api/v1/version', { headers: { 'if-none-match': headers.get('etag')! } })
    assert.deepEqual([held.status, held.body], [304, null])
  })

  it('streams long responses', async () => {
    const answer = await fetched('/api/v1/admin/export', { headers: authorization })
    assert.equal(answer.status, 200)
    assert.match(await answer.text(), /"end":true/)
  })

  it('stops a response whose reader cancels', async () => {
    const hosted = await start({ repositories: false })
    await hosted.allot.ledger.batch(
      Array.from({ length: 5000 }, (_, n) => ({
        ...{ op: 'put' as const, kind: 'packages' as const, key: `${n}`, owner: 'root', size: n },
        ...{ name: 'x'.repeat(200), type: 'npm', version: '1' },
      })),
    )
    const headers = { authorization: `token ${hosted.root.token}` }
    const answer = await hosted.allot.fetch(new Request('http://x.test/api/v1/admin/export', { headers }))
    const reader = answer.body!.getReader()
    await reader.read()
    await reader.cancel()
    // The store is not held open by it any more.
    await hosted.stop()
  })

  it('rejects when the caller aborts', async () => {
    await assert.rejects(fetched('/api/v1/version', { signal: AbortSignal.abort() }), { name: 'AbortError' })
    const [controller, headers] = [new AbortController(), { 'content-type': 'application/json' }]
    const endless = new ReadableStream({ start: (to) => to.enqueue(new TextEncoder().encode('{')) })
    const init = { method: 'POST', headers, body: endless, duplex: 'half', signal: controller.signal }
    const waiting = fetched('/api/v1/markdown', init as RequestInit)
    setTimeout(() => controller.abort(), 20)
    await assert.rejects(waiting, { name: 'AbortError' })
  })
})
