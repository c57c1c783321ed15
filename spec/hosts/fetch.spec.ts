import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { Listener } from '../../lib/http/index.ts'
import { fetchOf } from '../../lib/http/index.ts'
import { start, startBefore, type TestServer } from '../support/test-server.ts'

let allot: TestServer['allot']
let authorization: { authorization: string }
const running = startBefore()
before(async () => {
  allot = running.allot
  authorization = { authorization: `token ${running.root.token}` }
})

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

  it('checks the content type of a body whose size the Request does not say', async () => {
    const headers = { ...authorization, 'content-type': 'text/plain' }
    const refused = await fetched('/api/v1/user/repos', { method: 'POST', headers, body: '{"name":"text"}' })
    assert.equal(refused.status, 415)
  })

  it('serves the pages below the path that its options name, with its cookies and redirects', async () => {
    const pages = (path: string, init: RequestInit = {}) =>
      allot.fetch(new Request(`https://code.example.org${path}`, init), {
        prefix: '/code',
        pages: '/storage',
      })
    assert.equal((await pages('/code/api/v1/version')).status, 200)
    assert.equal((await pages('/api/v1/version')).status, 404)
    const redirect = await pages('/code/storage')
    assert.deepEqual([redirect.status, redirect.headers.get('location')], [303, '/code/storage/-/sign-in'])
    const form = await pages('/code/storage/-/sign-in')
    const [cookie] = form.headers.getSetCookie()
    assert.match(cookie!, /^__Host-allot-[0-9a-f]{16}=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure$/)
    const [, token] = /name="form" value="([^"]*)"/.exec(await form.text())!
    const signIn = (origin: string) =>
      pages('/code/storage/-/sign-in', {
        method: 'POST',
        headers: { cookie: cookie!.split(';', 1)[0]!, origin },
        body: new URLSearchParams({ form: token!, secret: running.root.token }),
      })
    assert.equal((await signIn('https://evil.test')).status, 403)
    const signedIn = await signIn('https://code.example.org')
    assert.deepEqual([signedIn.status, signedIn.headers.get('location')], [303, '/code/storage/'])
    const session = signedIn.headers.getSetCookie()[0]!.split(';', 1)[0]!
    const page = await pages('/code/storage/', { headers: { cookie: session } })
    assert.match(await page.text(), /<h1>Storage of root<\/h1>/)
  })

  it('serves no pages without the option', async () => {
    for (const path of ['/', '/-/sign-in', '/storage/']) assert.equal((await fetched(path)).status, 404, path)
  })

  it('ignores what frameworks pass as a second argument, and rejects paths that are not plain', async () => {
    const request = () => new Request('https://code.example.org/api/v1/version')
    const context = { params: Promise.resolve({}), incoming: {} }
    assert.equal((await allot.fetch(request(), context as object)).status, 200)
    for (const [options, message] of [
      [{ pages: 'storage' }, /^pages: expected a path such as "\/storage", .*, got "storage"$/],
      [{ pages: '/api/v1' }, /^pages: \/api\/v1 belongs to the API: name a path outside of \/api\/v1$/],
      [{ pages: '/api/v1/pages' }, /^pages: .* belongs to the API/],
      [{ prefix: '/code', pages: '/api/v1' }, /^pages: .* belongs to the API/],
      [{ prefix: '/*' }, /^prefix: expected a path such as "\/storage", .*, got "\/\*"$/],
      [{ prefix: 5 as unknown as string }, /^prefix: .*, got 5$/],
    ] as const)
      await assert.rejects(allot.fetch(request(), options), { code: 'invalid', message })
  })

  it('keeps every Set-Cookie apart, and has no headers about a connection', async () => {
    const listener: Listener = (_req, res) => {
      for (const cookie of ['a=1; Path=/', 'b=2, 3']) res.appendHeader('Set-Cookie', cookie)
      res.writeHead(200, ['Connection', 'keep-alive']).end()
    }
    const { headers } = await fetchOf(() => listener)(new Request('https://code.example.org/'))
    assert.deepEqual(headers.getSetCookie(), ['a=1; Path=/', 'b=2, 3'])
    for (const name of ['connection', 'keep-alive', 'transfer-encoding', 'date'])
      assert.equal(headers.get(name), null, name)
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

  it('lets the caller cancel a body that is complete, as after a status that it does not expect', async (t) => {
    const faults: unknown[] = []
    const note = (error: unknown) => void faults.push(error)
    process.on('uncaughtException', note)
    t.after(() => process.off('uncaughtException', note))
    for (const path of ['/api/v1/version', '/api/v1/user', '/elsewhere', '/openapi.json']) {
      const { body } = await fetched(path)
      await body?.cancel()
      await new Promise((resolve) => setImmediate(resolve))
    }
    assert.deepEqual(faults, [])
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

  it('breaks off the body of a response when the caller aborts later', async () => {
    const controller = new AbortController()
    const listener: Listener = (_req, res) => void res.writeHead(200).write('first')
    const request = new Request('https://code.example.org/', { signal: controller.signal })
    const { body } = await fetchOf(() => listener)(request)
    const reader = body!.getReader()
    assert.equal(Buffer.from((await reader.read()).value!).toString(), 'first')
    controller.abort()
    await assert.rejects(reader.read())
  })
})
