import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import * as v from 'valibot'
import { times } from '../support/long.ts'
import { madeBefore } from '../support/test-server.ts'
import { closing, plain, reply, route, serve } from './fixture.ts'

const Said = v.object({ said: v.array(v.string()) })

const literal = route({
  ...plain,
  method: 'GET',
  path: '/of/:one/literal',
  operationId: 'literal',
  auth: 'optional',
  responses: { 200: Said },
  handle: async ({ baseUrl, apiUrl }) => reply(200, { said: [baseUrl, apiUrl] }),
})

const floor = madeBefore(() =>
  serve([
    route({
      ...plain,
      method: 'GET',
      path: '/of/{one}/and/{other}',
      operationId: 'pair',
      auth: 'optional',
      responses: { 200: Said },
      handle: async ({ params }) => reply(200, { said: [params.one, params.other] }),
    }),
    literal,
    route({
      ...plain,
      method: 'DELETE',
      path: '/numbers/{id}',
      operationId: 'number',
      auth: 'optional',
      params: v.object({ id: v.pipe(v.number(), v.integer()) }),
      responses: { 200: Said },
      handle: async ({ params }) => reply(200, { said: [typeof params.id, String(params.id)] }),
    }),
  ]),
)

const said = async (path: string, method = 'GET'): Promise<unknown> =>
  ((await (await fetch(floor.api + path, { method })).json()) as { said?: unknown }).said

describe('A path parameter', () => {
  it('is percent-decoded, whatever characters it has', async () => {
    const value = fc
      .string({ minLength: 1, maxLength: 40, unit: 'binary' })
      .filter((one) => one.isWellFormed())
    const pairs = fc.asyncProperty(value, value, async (one, other) => {
      const encoded = [one, other].map((each) => encodeURIComponent(each).replace(/^\.+$/, encodeDots))
      const path = `/api/v1/of/${encoded[0]}/and/${encoded[1]}`
      const answer = await floor.raw(closing(`GET ${path}`))
      const body = Buffer.from(answer.slice(answer.indexOf('\r\n\r\n') + 4), 'latin1').toString()
      assert.deepEqual(JSON.parse(body), { said: [one, other] })
    })
    await fc.assert(pairs, { numRuns: times(40, 150) })
  })

  const encodeDots = (dots: string) => dots.replaceAll('.', '%2e')

  it('is decoded once, and an encoded slash does not end the segment', async () => {
    assert.deepEqual(await said('/of/a%2Fb/and/%252F'), ['a/b', '%2F'])
    assert.deepEqual(await said('/of/%2525/and/a+b'), ['%25', 'a+b'])
    assert.deepEqual(await said('/of/%3F%23/and/:x'), ['?#', ':x'])
  })

  it('may be "." or ".."', async () => {
    assert.match(await floor.raw(closing('GET /api/v1/of/../and/.')), /\{"said":\["\.\.","\."\]\}$/)
  })

  it('answers 404 when it should be a number and is not', async () => {
    for (const id of ['x', '1.5', '1e3', '0x10', '%20', '+1', '99999999999999999999'])
      assert.equal((await fetch(`${floor.api}/numbers/${id}`, { method: 'DELETE' })).status, 404, id)
    assert.deepEqual(await said('/numbers/-7', 'DELETE'), ['number', '-7'])
    assert.deepEqual(await said('/numbers/007', 'DELETE'), ['number', '7'])
  })
})

describe('A path', () => {
  it('may have a literal colon', async () => {
    assert.equal((await fetch(`${floor.api}/of/:one/literal`)).status, 200)
    assert.equal((await fetch(`${floor.api}/of/one/literal`)).status, 404)
  })

  it('answers 400 for every method when it cannot be decoded', async () => {
    for (const method of ['GET', 'HEAD', 'DELETE', 'OPTIONS', 'PUT'])
      assert.equal((await fetch(`${floor.api}/of/%ff/and/x`, { method })).status, 400, method)
  })

  it('answers 400 when it has bytes outside of ASCII', async () => {
    assert.match(await floor.raw(Buffer.from(closing('GET /api/v1/of/ß/and/x'))), /^HTTP\/1.1 400 /)
  })

  it('may be an absolute URL, as proxies send it', async () => {
    const whole = await floor.raw(closing('GET http://x.test/api/v1/of/a/and/b?c=http://d'))
    assert.match(whole, /\{"said":\["a","b"\]\}$/)
    assert.match(await floor.raw(closing('GET http://x.test/api/v2')), /^HTTP\/1.1 404 /)
  })
})

describe('The links of a response', () => {
  it('use the Host header', async () => {
    const answer = await floor.raw(closing('GET /api/v1/of/:one/literal'))
    assert.match(answer, /\["http:\/\/x\.test","http:\/\/x\.test\/api\/v1"\]/)
  })

  it('use the address of the connection for an HTTP/1.0 client without a Host header', async () => {
    const answer = await floor.raw('GET /api/v1/of/:one/literal HTTP/1.0\r\n\r\n')
    assert.ok(answer.includes(`["http://127.0.0.1:${floor.port}","${floor.api}"]`), answer)
  })

  for (const host of ['a b', 'a/b', 'a@b', 'a?b', '"a"', 'a:b', 'a:1:2', '[::1', 'ä'])
    it(`never use the invalid Host ${host}`, async () => {
      const bytes = `GET /api/v1/of/:one/literal HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`
      assert.match(await floor.raw(bytes), /^HTTP\/1.1 400 /)
    })

  const FORWARDED: [what: string, proxies: number, headers: string[], base: string][] = [
    [
      'the Host header, whatever proxies are said to say',
      0,
      ['Proto: https', 'Host: y.test'],
      'http://x.test',
    ],
    ['what the one proxy says', 1, ['Proto: https', 'Host: y.test:8443'], 'https://y.test:8443'],
    [
      'not what a client has put before it',
      1,
      ['Proto: http, https', 'Host: no.test, y.test'],
      'https://y.test',
    ],
    [
      'what the outer of two proxies says',
      2,
      ['Proto: https, http', 'Host: y.test, z.test'],
      'https://y.test',
    ],
    ['the scheme alone, beside the Host header', 1, ['Proto: HTTPS'], 'https://x.test'],
    ['the host alone, beside the scheme of the connection', 1, ['Host: y.test'], 'http://y.test'],
    ['the scheme of the connection, where the proxy names another', 1, ['Proto: ws'], 'http://x.test'],
  ]
  for (const [what, trustedProxies, headers, base] of FORWARDED)
    it(`use ${what}, of ${trustedProxies} trusted proxies`, async () => {
      const behind = await serve([literal], { trustedProxies })
      const lines = headers.map((line) => `X-Forwarded-${line}`)
      const answer = await behind.raw(closing('GET /api/v1/of/:one/literal', ...lines))
      assert.ok(answer.includes(`["${base}","${base}/api/v1"]`), answer)
    })

  it('never use an invalid X-Forwarded-Host, nor one with a path', async () => {
    const behind = await serve([literal], { trustedProxies: 1 })
    for (const host of ['a b', 'a/b', 'a@b', 'http://a', 'a:1:2']) {
      const answer = await behind.raw(closing('GET /api/v1/of/:one/literal', `X-Forwarded-Host: ${host}`))
      assert.match(answer, /^HTTP\/1.1 400 [\s\S]*the X-Forwarded-Host header is malformed/, host)
    }
    await behind.stop()
  })
})
