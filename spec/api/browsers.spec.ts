import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { madeBefore, start, type TestServer } from '../support/test-server.ts'

const ORIGIN = 'https://app.example.test'

describe('A POST that the page of another site can send', () => {
  /** As `fetch` in mode `no-cors` and forms send it. */
  const sent = (allot: TestServer, body: BodyInit, type?: string, more: Record<string, string> = {}) =>
    fetch(`${allot.api}/user/repos`, {
      method: 'POST',
      headers: {
        ...{ authorization: `Basic ${btoa(`root:${allot.root.token}`)}`, 'sec-fetch-site': 'cross-site' },
        ...{ origin: 'https://evil.test', ...(type && { 'content-type': type }), ...more },
      },
      body,
    }).then(({ status }) => status)

  it('is refused, whatever credentials the browser adds to it', async () => {
    const allot = await start({ repositories: false })
    const json = () => new Blob(['{"name":"forged"}'])
    for (const type of [
      undefined,
      'text/plain',
      'application/x-www-form-urlencoded',
      'Multipart/Form-Data; boundary=x',
    ])
      assert.equal(await sent(allot, json(), type), 403, type)
    assert.equal(await sent(allot, json(), undefined, { 'sec-fetch-site': 'same-site' }), 403)
    assert.equal(await sent(allot, json(), undefined, { 'sec-fetch-site': 'same-origin' }), 201)
    assert.equal(await sent(allot, new Blob(['{"name":"asked"}']), 'application/json'), 201)
    await allot.stop()
  })

  it('is accepted with a token, which no browser adds by itself', async () => {
    const allot = await start({ repositories: false })
    const authorization = `token ${allot.root.token}`
    assert.equal(await sent(allot, new Blob(['{"name":"asked"}']), undefined, { authorization }), 201)
  })

  it('is accepted from an origin of CORS', async () => {
    const allot = await start({ repositories: false, cors: { origins: [ORIGIN] } })
    assert.equal(await sent(allot, new Blob(['{"name":"one"}']), undefined, { origin: ORIGIN }), 201)
    assert.equal(await sent(allot, new Blob(['{"name":"two"}'])), 403)
    const open = await start({ repositories: false, cors: { origins: ['*'] } })
    assert.equal(await sent(open, new Blob(['{"name":"three"}'])), 403, 'where all origins are allowed')
  })
})

describe('CORS', () => {
  it('is off by default', async () => {
    const allot = await start({ repositories: false })
    const { headers } = await allot.request('GET', '/version', { headers: { origin: ORIGIN } })
    assert.equal(headers.get('access-control-allow-origin'), null)
    const preflight = { origin: ORIGIN, 'access-control-request-method': 'GET' }
    const asked = await allot.request('OPTIONS', '/version', { headers: preflight })
    assert.equal(asked.headers.get('access-control-allow-origin'), null)
  })

  it('lets pages of the configured origins, and no others, read responses and errors', async () => {
    const allot = await start({ repositories: false, cors: { origins: [ORIGIN] } })
    for (const path of ['/version', '/user', '/nothing']) {
      const { headers } = await allot.request('GET', path, { headers: { origin: ORIGIN } })
      assert.deepEqual([headers.get('access-control-allow-origin'), headers.get('vary')], [ORIGIN, 'Origin'])
      const other = await allot.request('GET', path, { headers: { origin: 'https://evil.test' } })
      assert.deepEqual(
        [other.headers.get('access-control-allow-origin'), other.headers.get('vary')],
        [null, 'Origin'],
      )
    }
  })

  it('keeps what the host has set in Vary', async () => {
    const allot = await start({ repositories: false, cors: { origins: [ORIGIN] } })
    const host = createServer((req, res) => {
      res.setHeader('Vary', 'Accept-Encoding')
      allot.allot.handler(req, res)
    })
    try {
      await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve))
      const { port } = host.address() as AddressInfo
      const { pathname } = new URL(allot.api)
      const preflight = {
        method: 'OPTIONS',
        headers: { origin: ORIGIN, 'access-control-request-method': 'GET' },
      }
      for (const init of [{ headers: { origin: ORIGIN } }, {}, preflight]) {
        const { headers } = await fetch(`http://127.0.0.1:${port}${pathname}/version`, init)
        assert.equal(headers.get('vary'), 'Accept-Encoding, Origin')
      }
    } finally {
      host.closeAllConnections()
      host.close()
      await allot.stop()
    }
  })

  it('answers a preflight without credentials', async () => {
    const allot = await start({ repositories: false, cors: { origins: ['*'] } })
    const answer = await allot.request('OPTIONS', '/user/keys', {
      headers: {
        origin: ORIGIN,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type',
      },
    })
    assert.equal(answer.status, 204)
    assert.equal(answer.headers.get('access-control-allow-origin'), '*')
    assert.match(answer.headers.get('access-control-allow-methods') ?? '', /POST/)
    assert.equal(answer.headers.get('access-control-allow-headers'), 'authorization,content-type')
    assert.equal(answer.headers.get('access-control-max-age'), '600')
    const list = await allot.request('GET', '/user/keys', {
      token: allot.root.token,
      headers: { origin: ORIGIN },
    })
    const failure = await allot.request('GET', '/user', { headers: { origin: ORIGIN } })
    for (const { headers } of [list, failure])
      assert.match(
        headers.get('access-control-expose-headers') ?? '',
        /ETag, Link, .*Retry-After, .*X-Total-Count/,
      )
  })
})

describe('Conditional GET', () => {
  const allot = madeBefore(() => start({ repositories: false }))

  it('answers 304 to a client that has the content, until the content changes', async () => {
    const { token } = allot.root
    const first = await allot.request('GET', '/user/quota', { token })
    const tag = first.headers.get('etag')
    assert.match(tag ?? '', /^"[\w-]{27}"$/)
    for (const held of [tag!, `W/${tag}`, `"other", ${tag}`, '*']) {
      const answer = await allot.request('GET', '/user/quota', { token, headers: { 'if-none-match': held } })
      assert.deepEqual([answer.status, answer.text, answer.headers.get('etag')], [304, '', tag])
    }
    const { id } = (await allot.request('POST', '/user/repos', { token, body: { name: 'x' } })).body
    await allot.allot.hosting.repositories.resize(id, 5)
    const changed = await allot.request('GET', '/user/quota', { token, headers: { 'if-none-match': tag! } })
    assert.equal(changed.status, 200)
    assert.notEqual(changed.headers.get('etag'), tag)
  })

  it('sends an ETag only with a successful GET', async () => {
    assert.equal((await allot.request('GET', '/user')).headers.get('etag'), null)
    assert.equal((await allot.request('GET', '/users/nobody')).headers.get('etag'), null)
    assert.ok((await allot.request('HEAD', '/version')).headers.get('etag'))
    assert.equal(
      (await allot.request('POST', '/markdown', { body: { Text: 'x' } })).headers.get('etag'),
      null,
    )
  })
})
