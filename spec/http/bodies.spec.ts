import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import express from 'express'
import * as v from 'valibot'
import { stopTimers } from '../support/stopped-timers.ts'
import { madeBefore } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'
import { closing, plain, reply, route, serve } from './fixture.ts'

const Options = v.object({
  name: v.string(),
  limit: v.optional(v.pipe(v.number(), v.safeInteger())),
  on: v.optional(v.boolean()),
  kind: v.optional(v.picklist(['a', 'b'])),
  rules: v.optional(v.array(v.object({ limit: v.pipe(v.number(), v.integer(), v.minValue(0)) }))),
  title: v.optional(v.pipe(v.string(), v.maxLength(5))),
})

const routes = [
  route({
    ...plain,
    method: 'POST',
    path: '/json',
    operationId: 'json',
    auth: 'optional',
    body: Options,
    responses: { 200: Options },
    handle: async ({ body }) => reply(200, body),
  }),
  route({
    ...plain,
    method: 'POST',
    path: '/text',
    operationId: 'text',
    auth: 'optional',
    accepts: 'text/plain',
    bodyLimit: 4096,
    body: v.string(),
    responses: { 200: v.string() },
    handle: async ({ body }) => reply(200, body),
  }),
  route({
    ...plain,
    method: 'PUT',
    path: '/none',
    operationId: 'none',
    auth: 'optional',
    responses: { 200: v.string() },
    handle: async () => reply(200, 'done'),
  }),
]

/** A request that does not tell the length of its body beforehand. */
const chunked = (path: string, type: string, body: string): string =>
  `${closing(`POST /api/v1${path}`, 'Transfer-Encoding: chunked', `Content-Type: ${type}`)}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`

const floor = madeBefore(() => serve(routes))

const post = async (path: string, body: string | Uint8Array, type = 'application/json', to = floor) => {
  const sent = { method: 'POST', body: body as string, headers: { 'content-type': type } }
  const answer = await fetch(to.api + path, sent)
  const json = (await answer.json()) as { message?: string }
  return { status: answer.status, json, message: json.message ?? '' }
}

describe('A body member of the wrong type', () => {
  const cases: [body: string, message: RegExp][] = [
    ['', /^Name is required$/],
    ['{}', /^Name is required$/],
    ['{"name":null}', /^Name is required$/],
    ['{"Name":"x"}', /^Name is required$/],
    ['{"name":1}', /^name: expected a string, received the number 1$/],
    ['{"name":["x"]}', /^name: expected a string, received an array$/],
    ['{"name":{"x":1}}', /^name: expected a string, received an object$/],
    ['{"name":"x","limit":"1"}', /^limit: expected a number, received the string "1"$/],
    ['{"name":"x","limit":1.5}', /^limit: expected a whole number/],
    ['{"name":"x","limit":1e400}', /^limit: expected a whole number/],
    ['{"name":"x","limit":9007199254740993}', /^limit: expected a whole number/],
    ['{"name":"x","on":"true"}', /^on: expected a boolean/],
    ['{"name":"x","kind":"c"}', /^kind: expected one of "a", "b", received the string "c"$/],
    ['{"name":"x","title":"123456"}', /^title: must have at most 5 characters$/],
    ['{"name":"x","rules":{}}', /^rules: expected an array, received an object$/],
    ['{"name":"x","rules":[{"limit":1},{"limit":"2"}]}', /^rules\[1\]\.limit: expected a number/],
    ['{"name":"x","rules":[{"limit":-1}]}', /^rules\[0\]\.limit: must not be below 0$/],
    ['{"name":"x","rules":[null]}', /^rules\[0\]: expected a JSON object, received null$/],
    ['{"name":"x","rules":[{}]}', /^Rules\[0\]\.limit is required$/],
  ]
  for (const [body, message] of cases)
    it(`is refused with its name: ${body || 'an empty body'}: ${message.source}`, async () => {
      const answer = await post('/json', body)
      assert.equal(answer.status, 422)
      assert.match(answer.message, message)
    })
})

describe('A body that is not a JSON object', () => {
  for (const body of ['null', '[]', '"x"', '1', 'true', '{', '{}{}', '{"name":"x",}', "{'name':1}", 'NaN'])
    it(`is refused: ${body}`, async () => {
      const answer = await post('/json', body)
      assert.equal(answer.status, 422)
      assert.match(answer.message, /^the body /)
    })

  it('is refused when it is not UTF-8, also for routes that take text', async () => {
    const bytes = Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')])
    assert.match((await post('/json', bytes)).message, /UTF-8/)
    assert.equal((await post('/text', Buffer.from([0xff]), 'text/plain')).status, 422)
  })

  it('is refused as 415 when it is compressed, with the encoding that is taken', async () => {
    for (const [encoding, path, type] of [
      ['gzip', '/json', 'application/json'],
      ['br', '/text', 'text/plain'],
    ] as const) {
      const headers = { 'content-type': type, 'content-encoding': encoding }
      const answer = await fetch(floor.api + path, {
        method: 'POST',
        headers,
        body: gzipSync('{"name":"x"}'),
      })
      assert.equal(answer.status, 415)
      const { message } = (await answer.json()) as { message: string }
      assert.equal(message, `unsupported content encoding ${encoding}: only identity is taken here`)
    }
  })

  it('is accepted when its encoding is identity', async () => {
    const headers = { 'content-type': 'application/json', 'content-encoding': 'identity' }
    const answer = await fetch(`${floor.api}/json`, { method: 'POST', headers, body: '{"name":"x"}' })
    assert.deepEqual([answer.status, await answer.json()], [200, { name: 'x' }])
  })

  it('is refused when it is nested too deeply, whether the brackets are closed or not', async () => {
    for (const deep of ['['.repeat(900), `${'['.repeat(450)}${']'.repeat(450)}`]) {
      const { status } = await post('/json', `{"name":${deep}}`)
      assert.equal(status, 422)
    }
  })
})

describe('A body', () => {
  it('gives the handler the declared members and no others', async () => {
    const body = '{"name":"ü","x":1,"__proto__":{"limit":1},"constructor":2,"toString":3,"limit":null}'
    assert.deepEqual((await post('/json', body)).json, { name: 'ü' })
    assert.equal(Object.hasOwn(Object.prototype, 'limit'), false)
  })

  it('uses the last of two members with the same name', async () => {
    assert.deepEqual((await post('/json', '{"name":"a","name":"b"}')).json, { name: 'b' })
  })

  it('of plain text reaches the handler unchanged', async () => {
    const text = ' {"a":\r\n1} ü 😀\t'
    assert.equal((await post('/text', text, 'text/plain; charset=utf-8')).json, text)
    assert.equal((await post('/text', text, 'application/json')).status, 415)
  })

  it('is ignored, whatever its content type, when the route declares none', async () => {
    for (const type of ['application/json', 'image/png']) {
      const body = 'x'.repeat(100_000)
      const answer = await fetch(`${floor.api}/none`, {
        method: 'PUT',
        body,
        headers: { 'content-type': type },
      })
      assert.equal(answer.status, 200)
      await answer.text()
    }
  })

  it('may be as long as the limit of its route, and not a byte longer', async () => {
    for (const [path, type, limit] of [
      ['/json', 'application/json', 1024],
      ['/text', 'text/plain', 4096],
    ] as const) {
      const body = (length: number) => `{"name":"${'x'.repeat(length - 11)}"}`
      assert.equal((await post(path, body(limit), type)).status, 200)
      assert.equal((await post(path, body(limit + 1), type)).status, 413)
      assert.match(await floor.raw(chunked(path, type, body(limit))), /^HTTP\/1.1 200 /)
      assert.match(await floor.raw(chunked(path, type, body(limit + 1))), /^HTTP\/1.1 413 /)
    }
  })

  it('may have been read by a body parser of the host', async () => {
    const parsing = await serve(routes, {}, (handler) => {
      const app = express()
      app.use(express.json(), express.text())
      app.use((req, res, next) => handler(req, res, next))
      return app
    })
    assert.deepEqual((await post('/json', '{"name":"x"}', 'application/json', parsing)).json, { name: 'x' })
    assert.match((await post('/json', '{"name":1}', 'application/json', parsing)).message, /^name: /)
    assert.match((await post('/json', '[]', 'application/json', parsing)).message, /must be a JSON object/)
    assert.equal((await post('/text', 'as it is', 'text/plain', parsing)).json, 'as it is')
  })
})

describe('A body that ends early', () => {
  for (const length of ['Content-Length: 100', 'Transfer-Encoding: chunked'])
    it(`because the connection closed is not logged as an error: ${length}`, async () => {
      floor.told.length = 0
      const socket = connect(floor.port, '127.0.0.1')
      socket.write(`POST /api/v1/json HTTP/1.1\r\nHost: x.test\r\n${length}\r\n\r\n7\r\n{"name"`)
      await sleep(50)
      socket.destroy()
      await floor.idle()
      await sleep(20)
      assert.deepEqual(floor.told, [])
      assert.equal((await post('/json', '{"name":"x"}')).status, 200)
    })
})

describe('A body above the limit', () => {
  const huge = 8 * 1024 * 1024

  it('gets 413 also when the client reads only after it has sent everything', async () => {
    const bytes = `${closing('POST /api/v1/json', `Content-Length: ${huge}`)}${'x'.repeat(huge)}`
    assert.match(await floor.raw(bytes), /^HTTP\/1.1 413 [\s\S]*must not be larger than 1024 bytes/)
  })

  it('gets 413 also when something else is wrong with the request', async () => {
    const headers = ['Authorization: bad', `Content-Length: ${huge}`]
    assert.match(
      await floor.raw(closing('POST /api/v1/json', ...headers) + 'x'.repeat(huge)),
      /^HTTP\/1.1 401 /,
    )
  })

  it('gets 413 from its Content-Length, before any of it is sent', async () => {
    const status = await new Promise<string>((resolve, reject) => {
      const socket = connect(floor.port, '127.0.0.1')
      socket.once('data', (chunk) => {
        resolve(chunk.toString().slice(0, 12))
        socket.destroy()
      })
      socket.on('error', reject)
      socket.write(`POST /api/v1/json HTTP/1.1\r\nHost: x.test\r\nContent-Length: ${huge}\r\n\r\n`)
    })
    assert.equal(status, 'HTTP/1.1 413')
  })

  it('closes the connection, even when the client never stops sending', async (test) => {
    const tick = stopTimers(test, 'lib/http/')
    const chunk = `800\r\n${'x'.repeat(2048)}\r\n`
    const head = 'POST /api/v1/json HTTP/1.1\r\nHost: x.test\r\nTransfer-Encoding: chunked\r\n\r\n'
    let text = ''
    void floor.raw(head + chunk).then((all) => {
      text = all
    })
    await waitFor(() => {
      tick(3000)
      return text !== ''
    })
    assert.match(text, /^HTTP\/1.1 413 [\s\S]*\r\nConnection: close\r\n/)
  })
})
