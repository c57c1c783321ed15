import assert from 'node:assert/strict'
import { get, type IncomingMessage } from 'node:http'
import { PassThrough, Readable } from 'node:stream'
import { before, beforeEach, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import {
  type Caller,
  Download,
  Ndjson,
  type Produce,
  StreamEndpoints,
  type StreamReply,
} from '../../lib/http/index.ts'
import { waitFor } from '../support/wait-for.ts'
import { closing, type HttpFixture, plain, reply, route, serve } from './fixture.ts'

const LINE = Buffer.from(`${JSON.stringify({ line: 'x'.repeat(65_000) })}\n`)

/** The handler of the next request. */
let produce: Produce
let floor: HttpFixture
/** The same where a connection may be idle for a moment only. */
let impatient: HttpFixture
const IDLE = 300
before(async () => {
  const routes = [
    route({
      ...plain,
      method: 'GET',
      path: '/lines',
      operationId: 'lines',
      auth: 'optional',
      responses: { 200: Ndjson },
      handle: async () => reply(200, produce),
    }),
  ]
  floor = await serve(routes)
  impatient = await serve(routes, {}, (handler) => (req, res) => {
    req.socket.setTimeout(IDLE)
    handler(req, res)
  })
})
beforeEach(() => {
  floor.told.length = 0
})

const times =
  (many: number): Produce =>
  async (write) => {
    for (let n = 0; n < many; n++) await write(LINE)
  }

const asked = ({ api } = floor): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => get(`${api}/lines`, resolve).on('error', reject))

const until = async (holds: () => boolean): Promise<void> => {
  await waitFor(holds)
  assert.ok(holds(), 'it never came to that')
}

describe('A streamed response', () => {
  it('is complete, as lines of JSON that are not cached', async () => {
    produce = times(100)
    const answer = await fetch(`${floor.api}/lines`)
    assert.equal(answer.status, 200)
    assert.equal(answer.headers.get('content-type'), 'application/x-ndjson')
    assert.equal(answer.headers.get('cache-control'), 'no-store')
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff')
    assert.equal((await answer.arrayBuffer()).byteLength, 100 * LINE.length)
  })

  it('may be empty', async () => {
    produce = times(0)
    const answer = await fetch(`${floor.api}/lines`)
    assert.deepEqual([answer.status, await answer.text()], [200, ''])
  })

  it('is not generated for HEAD', async () => {
    produce = () => Promise.reject(new Error('it was made'))
    const text = await floor.raw(closing('HEAD /api/v1/lines'))
    assert.match(text, /^HTTP\/1\.1 200 OK\r\n/)
    assert.match(text, /\r\n\r\n$/)
    assert.deepEqual(floor.told, [])
  })

  it('is generated no faster than the client reads', async () => {
    let made = 0
    produce = async (write) => {
      for (; made < 2000; made++) await write(LINE)
    }
    const answer = await asked()
    await waitFor(() => made > 0)
    let ahead = 0
    while (ahead !== made) {
      ahead = made
      await setTimeout(300)
    }
    assert.ok(ahead < 400, `${ahead} lines of 65 kB were made for a client that does not read`)
    let read = 0
    for await (const chunk of answer) read += (chunk as Buffer).length
    assert.equal(read, 2000 * LINE.length)
  })

  it('stops when the client disconnects', async () => {
    let outcome = ''
    produce = async (write) => {
      try {
        for (;;) await write(LINE)
      } catch (error) {
        outcome = String(error)
        throw error
      }
    }
    const answer = await asked()
    answer.destroy()
    await until(() => outcome !== '')
    assert.match(outcome, /client disconnected/)
    await floor.idle()
    assert.deepEqual(floor.told, [])
  })

  it('may take longer than the idle timeout of a connection', async () => {
    produce = async (write) => {
      for (let n = 0; n < 3; n++) {
        await setTimeout(2 * IDLE)
        await write(LINE)
      }
      await setTimeout(2 * IDLE)
    }
    const answer = await fetch(`${impatient.api}/lines`)
    assert.equal((await answer.arrayBuffer()).byteLength, 3 * LINE.length)
  })

  it('stops when the client does not read for the idle timeout', async () => {
    let outcome = ''
    produce = async (write) => {
      try {
        for (;;) await write(LINE)
      } catch (error) {
        outcome = String(error)
        throw error
      }
    }
    const answer = await asked(impatient)
    answer.on('error', () => undefined)
    await until(() => outcome !== '')
    assert.match(outcome, /client disconnected/)
    await impatient.idle()
  })

  it('answers 500 when it fails before its first byte', async () => {
    produce = () => Promise.reject(new Error('sector 7'))
    const answer = await fetch(`${floor.api}/lines`)
    assert.equal(answer.status, 500)
    assert.doesNotMatch(await answer.text(), /sector/)
    assert.equal(floor.told.length, 1)
  })

  it('is cut off when it fails later, and the log has the reason', async () => {
    produce = async (write) => {
      await write(LINE)
      throw new Error('sector 7')
    }
    // Where the end arrives with the head, newer versions of Node reject the fetch itself.
    await assert.rejects(fetch(`${floor.api}/lines`).then((answer) => answer.text()))
    assert.match(floor.told[0]?.fields.err?.message ?? '', /sector 7/)
  })
})

describe('A download', () => {
  /** The next body, and the length that its header declares. */
  let body: Readable
  let length: number
  const download = async (): Promise<StreamReply> => ({
    status: 200,
    headers: { 'Content-Length': String(length) },
    body: async () => ({ stream: body }),
  })
  let ofApi: HttpFixture
  let atRoot: HttpFixture
  before(async () => {
    const handle = async () => reply(200, download)
    const declared = {
      ...plain,
      operationId: 'file',
      auth: 'optional',
      responses: { 200: Download },
    } as const
    ofApi = await serve([route({ ...declared, method: 'GET', path: '/file', handle })])
    const routes = [{ method: 'GET', path: '/api/v1/file', handle: download }] as const
    const streams = new StreamEndpoints<Caller, object>({
      routes,
      auth: 'optional',
      services: {},
      realm: 'Allot',
      signInMessage: 'sign in first',
    })
    atRoot = await serve([], { endpoints: [streams] })
  })

  async function* failing() {
    yield LINE
    throw new Error('sector 7')
  }
  const FAILURES: [what: string, make: () => Readable, reason: RegExp][] = [
    ['fails midway', () => Readable.from(failing()), /sector 7/],
    ['has fewer bytes than announced', () => Readable.from([LINE]), /content-length/],
  ]
  for (const [what, make, reason] of FAILURES)
    it(`that ${what} is cut off, and the log has the reason`, async () => {
      for (const server of [ofApi, atRoot]) {
        body = make()
        length = 2 * LINE.length
        const answer = await fetch(`${server.api}/file`)
        assert.equal(answer.status, 200)
        await assert.rejects(answer.arrayBuffer())
        await waitFor(() => server.told.length > 0)
        const [logged] = server.told.splice(0)
        assert.match(logged?.fields.err?.message ?? '', reason)
        assert.match(logged?.fields.path ?? '', /\/file$/)
      }
    })

  it('may have a body that ended, without a byte, before the response begins', async () => {
    for (const server of [ofApi, atRoot]) {
      length = 0
      body = new PassThrough().end()
      await setTimeout(20)
      const answer = await fetch(`${server.api}/file`, { signal: AbortSignal.timeout(60_000) })
      assert.deepEqual([answer.status, await answer.text()], [200, ''])
      assert.deepEqual(server.told, [])
    }
  })

  it('whose body is destroyed before its first byte is answered 500, also when it is destroyed without an error', async () => {
    const moments = [
      () => new Readable({ read: () => undefined }).destroy(),
      () =>
        new Readable({
          read() {
            this.destroy()
          },
        }),
      () =>
        new Readable({
          read() {
            this.destroy(new Error('sector 7'))
          },
        }),
    ]
    for (const server of [ofApi, atRoot])
      for (const make of moments) {
        length = 2 * LINE.length
        body = make()
        const answer = await fetch(`${server.api}/file`, { signal: AbortSignal.timeout(60_000) })
        assert.equal(answer.status, 500)
        const [logged] = server.told.splice(0)
        assert.match(logged?.fields.err?.message ?? '', /sector 7|destroyed before its first byte/)
      }
  })

  it('is stopped, and not logged, when the client disconnects', async () => {
    for (const server of [ofApi, atRoot]) {
      length = 1e9
      body = Readable.from(Array.from({ length: 10_000 }, () => LINE))
      const answer = await new Promise<IncomingMessage>((resolve) => get(`${server.api}/file`, resolve))
      answer.on('error', () => undefined).destroy()
      await until(() => body.destroyed)
      await server.idle()
      assert.deepEqual(server.told, [])
    }
  })
})
