import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import express from 'express'
import { routes } from '../../lib/api/index.ts'
import { coercionOf } from '../../lib/http/validate.ts'
import { assertError, assertNotFound, assertUndecodable } from '../support/expectations.ts'
import { start, type TestServer } from '../support/test-server.ts'

let allot: TestServer
before(async () => {
  allot = await start({ repositories: false })
})
after(() => allot.stop())

/** Fastify refuses content types that it cannot parse before a route runs, with a body of its own. */
const isFastify = process.env.ALLOT_SPEC_HOST === 'Fastify'

/** Sends bytes over a new socket, and reads until the socket ends. */
const raw = (bytes: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(allot.base).port), '127.0.0.1')
    let text = ''
    socket.setTimeout(60_000, () => socket.destroy(new Error('no answer')))
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
    })
    socket.on('end', () => resolve(text))
    socket.on('close', () => resolve(text))
    socket.on('error', reject)
    socket.write(bytes)
  })

const closing = (line: string, ...headers: string[]) =>
  raw([`${line} HTTP/1.1`, 'Host: x.test', 'Connection: close', ...headers, '', ''].join('\r\n'))

/** Path of an operation as a request line has it, below the prefix of the host. */
const target = (path: string) => new URL(allot.api).pathname + path

/** Skipped below a host's own server, which answers these itself. */
const ofPlainServer = { skip: process.env.ALLOT_SPEC_HOST ? 'the host has a server of its own' : false }

describe('Paths', () => {
  it('may have double slashes and a slash at the end', async () => {
    for (const path of ['/version/', '//version', '/users//search/'])
      assert.equal((await allot.request('GET', path)).status, 200, path)
  })

  it('that are unknown are answered 404 with an empty body', async () => {
    for (const path of ['', '/', '/nothing', '/Version', '/version/more', '/user/keys/1/2', '/users'])
      assertNotFound(await allot.request('GET', path))
  })

  it('outside the base path are not answered as the API', ofPlainServer, async () => {
    assertNotFound(await allot.request('GET', '/../../elsewhere'))
    assert.equal((await fetch(`${allot.base}/api/v1beta/version`)).status, 404)
  })

  it('with a broken percent-encoding are answered 400', async () => {
    for (const path of ['/users/%', '/users/%zz', '/users/%ff', '/users/%c3%28']) {
      assertUndecodable(await allot.request('GET', path))
    }
  })

  it('may be sent as a complete URL in the request line', ofPlainServer, async () => {
    assert.match(await closing('GET http://x.test/api/v1/version'), /^HTTP\/1.1 200 /)
  })

  it('may have dots as values of parameters', ofPlainServer, async () => {
    assert.match(await closing('GET /api/v1/users/..'), /^HTTP\/1.1 404 /)
    assert.match(await closing('GET /api/v1/users/./repos'), /^HTTP\/1.1 404 /)
  })
})

describe('Methods', () => {
  it(
    'that a path does not take are 405 with Allow, without credentials being needed',
    ofPlainServer,
    async () => {
      for (const [method, path, allow] of [
        ['POST', '/version', 'GET, HEAD, OPTIONS'],
        ['PUT', '/admin/quota/rules', 'GET, POST, HEAD, OPTIONS'],
        ['GET', '/markdown', 'POST, OPTIONS'],
        ['PATCH', '/user/following/x', 'GET, PUT, DELETE, HEAD, OPTIONS'],
      ] as const) {
        const answer = await allot.request(method, path)
        assertError(answer, 405, new RegExp(`takes ${allow}, not ${method}$`))
        assert.equal(answer.headers.get('allow'), allow)
      }
      assert.match(await closing('PROPFIND /api/v1/version'), /^HTTP\/1.1 405 /)
    },
  )

  it('answer to HEAD as to GET, without the body', async () => {
    const [got, head] = [await allot.request('GET', '/version'), await allot.request('HEAD', '/version')]
    assert.equal(head.status, 200)
    assert.equal(head.text, '')
    assert.equal(head.headers.get('content-length'), got.headers.get('content-length'))
    assertNotFound(await allot.request('HEAD', '/users/nobody'))
  })

  it('answer to OPTIONS with those that the path accepts', async () => {
    const answer = await allot.request('OPTIONS', '/user/keys')
    assert.deepEqual([answer.status, answer.headers.get('allow')], [204, 'GET, POST, HEAD, OPTIONS'])
    assertNotFound(await allot.request('OPTIONS', '/nothing'))
  })
})

describe('Integers in a query', () => {
  const kinds: Record<string, string> = { kind: 'lfs', basehead: 'a...b' }
  const asked = routes.flatMap(({ method, path, query, paging }) => {
    const numbers = (query === undefined ? [] : coercionOf(query).members).filter(
      ({ kind }) => kind === 'number',
    )
    const names = [...numbers.map(({ name }) => name), ...(paging === undefined ? [] : ['page', 'limit'])]
    const concrete = path.replace(/\{(\w+)\}/g, (_whole, name: string) => kinds[name] ?? '1')
    return names.map((name) => ({ method, path: concrete, name }))
  })

  it('that are none, and pages and limits below 0, are answered 422 with their name, by every route', async () => {
    const { root, as } = await start({ webhooks: true })
    assert.ok(asked.length > 100, `${asked.length} parameters`)
    const bodyOf = (method: string) => (method === 'GET' || method === 'DELETE' ? undefined : {})
    for (const { method, path, name } of asked)
      for (const value of ['abc', '1.5', '1e3', ...(['page', 'limit'].includes(name) ? ['-1'] : [])]) {
        const url = `${path}?${name}=${value}`
        const { status, body } = await as(root, method, url, bodyOf(method))
        assert.equal(status, 422, `${method} ${url}`)
        assert.match(body.message, new RegExp(`^${name}: `), `${method} ${url}`)
      }
  })

  it('of pages and limits may be 0, which is the default, in every route', async () => {
    const { root, as } = await start({ webhooks: true })
    for (const { method, path, name } of asked)
      if (method === 'GET' && ['page', 'limit'].includes(name)) {
        const [with0, without] = [await as(root, method, `${path}?${name}=0`), await as(root, method, path)]
        assert.equal(with0.status, without.status, `${path}?${name}=0`)
      }
  })
})

describe('Bodies', () => {
  const { stringify } = JSON
  const post = (body: string | Uint8Array, headers: Record<string, string> = {}) =>
    allot.request('POST', '/markdown', { body, headers: { 'content-type': 'application/json', ...headers } })

  it('with another content type are answered 415, and without one accepted', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])
      assertError(await post('{"Text":"x"}', { 'content-type': type }), 415)
    for (const type of ['json', 'application/']) {
      const answer = await post('{"Text":"x"}', { 'content-type': type })
      if (isFastify) assert.equal(answer.status, 415)
      else assertError(answer, 415)
    }
    for (const type of [
      'application/json',
      'application/json; charset=utf-8',
      'APPLICATION/JSON',
      'text/json',
      'application/vnd.api+json',
    ])
      assert.equal((await post('{"Text":"x"}', { 'content-type': type })).status, 200, type)
    const bare = await raw(
      `POST ${target('/markdown')} HTTP/1.1\r\nHost: x.test\r\nConnection: close\r\nContent-Length: 12\r\n\r\n{"Text":"x"}`,
    )
    assert.match(bare, /^HTTP\/1.1 200 [\s\S]*<p dir="auto">x<\/p>/)
  })

  it('over 1 MiB are answered 413, with and without a Content-Length', async () => {
    const tooLong = stringify({ Text: 'x'.repeat(1024 * 1024) })
    assertError(await post(tooLong), 413)
    const chunked = await new Promise<number>((resolve, reject) => {
      const req = httpRequest(`${allot.api}/markdown`, { method: 'POST' }, (res) => {
        res.resume()
        resolve(res.statusCode ?? 0)
      })
      req.on('error', reject)
      for (let at = 0; at < 40; at++) req.write('x'.repeat(32 * 1024))
      req.end()
    })
    assert.equal(chunked, 413)
  })

  it('that end too early do no harm', async () => {
    const socket = connect(Number(new URL(allot.base).port), '127.0.0.1')
    socket.write(`POST ${target('/markdown')} HTTP/1.1\r\nHost: x.test\r\nContent-Length: 100\r\n\r\n{"Text"`)
    await new Promise((resolve) => setTimeout(resolve, 50))
    socket.destroy()
    assert.equal((await allot.request('GET', '/version')).status, 200)
  })

  it('that are nested very deeply are refused', async () => {
    const status = (await post(`{"Text":${'['.repeat(40_000)}`)).status
    assert.equal(status, 422)
    const deep = `${'['.repeat(49_000)}${']'.repeat(49_000)}`
    assertError(await post(`{"Text":${deep}}`), 422, /^Text: /)
    assertError(await post(`{"Text":"\\ud83d\\ude00","Mode":${deep}}`), 422, /^Mode: /)
  })

  it('cannot set members that every object inherits', async () => {
    assert.equal((await post('{"__proto__":{"Text":"**x**"},"constructor":1}')).text, '')
    assert.equal(Object.hasOwn(Object.prototype, 'Text'), false)
  })

  it('may be pipelined', async () => {
    const one = `GET ${target('/version')} HTTP/1.1\r\nHost: x.test\r\n\r\n`
    const last = one.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')
    const text = await raw(one + one + last)
    assert.equal(text.match(/"Version"/g)?.length, 3)
  })
})

describe('Every response', () => {
  it('has a Content-Length and X-Content-Type-Options, with every status', async () => {
    for (const [method, path] of [
      ['GET', '/version'],
      ['GET', '/nothing'],
      ['GET', '/user'],
      ['POST', '/version'],
      ['GET', '/repos/search'],
    ] as const) {
      const { headers } = await allot.request(method, path)
      assert.ok(headers.has('content-length'), `${method} ${path}`)
      assert.equal(headers.get('x-content-type-options'), 'nosniff')
    }
  })

  it('takes its links from the Host header, of which there must be one', async () => {
    const text = await closing(`GET ${target('/users/root')}`)
    assert.ok(
      text.includes(`"html_url":"http://x.test${new URL(allot.base).pathname.replace(/\/$/, '')}/root"`),
    )
    for (const host of ['a b', '999.999.999.999', 'a:99999', 'x.test/evil', '"><script>', 'a@b', ''])
      assert.match(
        await raw(`GET ${target('/version')} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`),
        // Hono fails to make a Request of such a URL, before any handler runs.
        process.env.ALLOT_SPEC_HOST === 'Hono' ? /^HTTP\/1.1 [45]00 / : /^HTTP\/1.1 400 /,
        host,
      )
  })

  it('takes its links from the option baseUrl when it is set', async () => {
    const own = await start({ repositories: false, baseUrl: 'https://code.example.test/git' })
    try {
      const { body } = await own.request('GET', '/users/root')
      assert.equal(body.html_url, 'https://code.example.test/git/root')
      assert.equal(body.email, 'root@noreply.code.example.test')
    } finally {
      await own.stop()
    }
  })
})

describe('Mounted in Express after a body parser', () => {
  it('uses the body that the parser has read', async () => {
    const own = await start(
      { repositories: false },
      {
        mount: (handler) => {
          const app = express()
          app.use(express.json(), handler)
          return app
        },
      },
    )
    try {
      const { token } = own.root
      assert.equal((await own.request('POST', '/user/repos', { token, body: { name: 'x' } })).status, 201)
      assertError(await own.request('POST', '/user/repos', { token, body: {} }), 422, /Name is required/)
      assertError(await own.request('POST', '/user/repos', { token, body: [] }), 422, /JSON object/)
    } finally {
      await own.stop()
    }
  })
})

describe('Mounted in Express under a prefix', () => {
  it('answers below the prefix with links that work, and leaves the rest to the host', async () => {
    const own = await start(
      { repositories: false },
      {
        prefix: '/git',
        mount: (handler) => {
          const app = express()
          app.use('/git', handler)
          app.use((_req, res) => {
            res.status(418).send('the host')
          })
          return app
        },
      },
    )
    try {
      for (const name of ['a', 'b'])
        await own.request('POST', '/user/repos', { token: own.root.token, body: { name } })
      const { headers, body } = await own.request('GET', '/users/root/repos?limit=1')
      assert.equal(body[0].html_url, `${own.base}/root/a`)
      assert.match(
        headers.get('link') ?? '',
        new RegExp(`^<${own.base}/api/v1/users/root/repos\\?limit=1&page=2>; rel="next"`),
      )
      assert.equal((await fetch(`${own.base}/elsewhere`)).status, 418)
      assert.equal((await fetch(new URL('/', own.base))).status, 418)
    } finally {
      await own.stop()
    }
  })
})
