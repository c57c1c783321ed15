import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe, it } from 'node:test'
import { routes } from '../../lib/api/index.ts'
import { membersOf } from '../../lib/http/validate.ts'
import { assertError, assertNotFound } from '../support/expectations.ts'
import { start, startBefore } from '../support/test-server.ts'

const allot = startBefore({ repositories: false })

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

/** Path of an operation as a request line has it, below the prefix of the host. */
const target = (path: string) => new URL(allot.api).pathname + path

describe('Paths', () => {
  it('may have double slashes and a slash at the end', async () => {
    for (const path of ['/version/', '//version', '/users//search/'])
      assert.equal((await allot.request('GET', path)).status, 200, path)
  })

  it('that are unknown are answered 404 with an empty body', async () => {
    for (const path of ['', '/', '/nothing', '/Version', '/version/more', '/user/keys/1/2', '/users'])
      assertNotFound(await allot.request('GET', path))
  })
})

describe('Methods', () => {
  it('answer to OPTIONS with those that the path accepts', async () => {
    const answer = await allot.request('OPTIONS', '/user/keys')
    assert.deepEqual([answer.status, answer.headers.get('allow')], [204, 'GET, POST, HEAD, OPTIONS'])
    assertNotFound(await allot.request('OPTIONS', '/nothing'))
  })
})

describe('Integers in a query', () => {
  const kinds: Record<string, string> = { kind: 'lfs', basehead: 'a...b' }
  const asked = routes.flatMap(({ method, path, query, paging }) => {
    const numbers = (query === undefined ? [] : membersOf(query)).filter(({ kind }) => kind === 'number')
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
  const post = (body: string | Uint8Array, headers: Record<string, string> = {}) =>
    allot.request('POST', '/markdown', { body, headers: { 'content-type': 'application/json', ...headers } })

  it('with another content type are answered 415, and without one accepted', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'json', 'application/'])
      assertError(await post('{"Text":"x"}', { 'content-type': type }), 415)
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

  it('cannot set members that every object inherits', async () => {
    assert.equal((await post('{"__proto__":{"Text":"**x**"},"constructor":1}')).text, '')
    assert.equal(Object.hasOwn(Object.prototype, 'Text'), false)
  })
})

describe('Every response', () => {
  it('takes its links from the option baseUrl when it is set', async () => {
    const own = await start({ repositories: false, baseUrl: 'https://code.example.test/git' })
    const { body } = await own.request('GET', '/users/root')
    assert.equal(body.html_url, 'https://code.example.test/git/root')
    assert.equal(body.email, 'root@noreply.code.example.test')
  })
})
