import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { after, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { AllotError } from '../../lib/errors.ts'
import { Dispatcher, StreamEndpoints, streamsFor } from '../../lib/http/index.ts'
import { listen } from '../support/listen.ts'
import { madeBefore } from '../support/test-server.ts'

const stream = streamsFor<{ username: string; admin: boolean; scopes: ReadonlySet<string> }, null>()

const reply = (stream: Readable) => ({
  status: 200,
  headers: { 'Content-Type': 'text/x-echo' },
  body: async () => ({ stream }),
})

const logged: string[] = []
const endpoints = new StreamEndpoints({
  auth: 'optional',
  realm: 'Allot',
  signInMessage: 'sign in first',
  routes: [
    stream({ method: 'PUT', path: '/echo/{name}', bodyLimit: 1000, handle: async ({ body }) => reply(body) }),
    stream({ method: 'PUT', path: '/free/{name}', handle: async ({ body }) => reply(body) }),
    stream({
      method: 'GET',
      path: '/fails/{how}',
      async handle({ params }) {
        if (params.how === 'at once') throw new AllotError('forbidden', 'not you')
        if (params.how === 'badly') throw new Error('the inside')
        const failing = async function* () {
          if (params.how === 'later') yield Buffer.alloc(100_000)
          throw new AllotError('unavailable', 'no more')
        }
        return reply(Readable.from(failing()))
      },
    }),
  ],
  services: null,
})

const dispatcher = new Dispatcher({
  endpoints: [endpoints],
  authenticate: async () => null,
  userNow: async (user) => user,
  clientOf: () => 'address',
  baseUrl: undefined,
  trustedProxies: 0,
  unmatched: (_req, res) => res.end('the host'),
  log: { error: (_fields, message) => void logged.push(message), info: () => undefined },
})

const server = madeBefore(() => listen((req, res) => dispatcher.handler(req, res)))
after(async () => {
  await server.stop()
  await dispatcher.idle()
})

const put = async (path: string, body: Uint8Array | string, headers: Record<string, string> = {}) => {
  const answer = await fetch(server.origin + path, { method: 'PUT', body: body as string, headers })
  return { status: answer.status, text: await answer.text() }
}

describe('A streamed route', () => {
  it('receives a compressed body decompressed', async () => {
    const text = 'x'.repeat(999)
    assert.deepEqual(await put('/echo/a', text), { status: 200, text })
    const packed = await put('/echo/a', gzipSync(text), { 'content-encoding': 'gzip' })
    assert.deepEqual(packed, { status: 200, text })
    const large = 'y'.repeat(3_000_000)
    assert.deepEqual(await put('/free/a', large), { status: 200, text: large })
  })

  it('refuses a body above its limit, whether the length is declared or found while decompressing', async () => {
    assert.equal((await put('/echo/a', 'x'.repeat(1001))).status, 413)
    const packed = await put('/echo/a', gzipSync('x'.repeat(1001)), { 'content-encoding': 'gzip' })
    assert.deepEqual(packed, { status: 413, text: 'the body must not be larger than 1000 bytes\n' })
  })

  it('answers with the error before the first byte, and cuts the response off after it', async () => {
    const failed = async (how: string) => {
      const answer = await fetch(`${server.origin}/fails/${how}`)
      return { status: answer.status, text: await answer.text() }
    }
    assert.deepEqual(await failed('at once'), { status: 403, text: 'not you\n' })
    assert.deepEqual(await failed('soon'), { status: 503, text: 'no more\n' })
    const { status, text } = await failed('badly')
    assert.equal(status, 500)
    assert.doesNotMatch(text, /inside/)
    await assert.rejects(failed('later'), /terminated/)
  })

  it('passes every other path to the host', async () => {
    for (const path of ['/', '/echo', '/echo/a/b', '/echo//', '/%zz'])
      assert.equal(await (await fetch(server.origin + path)).text(), 'the host', path)
  })
})
