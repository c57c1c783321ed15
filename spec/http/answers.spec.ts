import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { describe, it, mock } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import * as v from 'valibot'
import { AllotError, type ErrorCode } from '../../lib/errors.ts'
import { toFailure } from '../../lib/http/failure.ts'
import { Empty, Html, NotFound, SerializedJson } from '../../lib/http/index.ts'
import { madeBefore } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'
import { closing, plain, reply, route, serve } from './fixture.ts'

const codes: Record<ErrorCode, number> = {
  bad_request: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  too_large: 413,
  over_quota: 413,
  unsupported_media_type: 415,
  invalid: 422,
  too_many_requests: 429,
  unavailable: 503,
  storage_full: 507,
  misconfigured: 500,
}

const open = { ...plain, method: 'GET', auth: 'optional' } as const
const Id = v.object({ id: v.number() })

/** The answer of `/gate` waits until this is called; undefined while no request waits there. */
let gate: (() => void) | undefined

/** Resolves when a request waits at `/gate`. */
const reachesGate = () => waitFor(() => gate !== undefined)

const openGate = () => {
  gate?.()
  gate = undefined
}

const routes = [
  route({
    ...open,
    path: '/json',
    operationId: 'json',
    responses: { 200: Id },
    handle: async () => reply(200, { id: 1 }),
  }),
  route({
    ...open,
    path: '/ready',
    operationId: 'ready',
    responses: { 200: Id },
    handle: async () => reply(200, new SerializedJson({ id: 1 })),
  }),
  route({
    ...open,
    path: '/html',
    operationId: 'html',
    responses: { 200: Html },
    handle: async () => reply(200, '<p>ü</p>'),
  }),
  route({
    ...open,
    path: '/empty',
    operationId: 'empty',
    responses: { 204: Empty },
    handle: async () => reply(204),
  }),
  route({
    ...open,
    path: '/missing',
    operationId: 'missing',
    responses: { 404: NotFound },
    handle: async () => reply(404),
  }),
  route({
    ...open,
    path: '/fails/{how}',
    operationId: 'fails',
    responses: { 204: Empty },
    handle: async ({ params }) => {
      throw new AllotError(params.how as ErrorCode, 'as it was asked')
    },
  }),
  route({
    ...open,
    path: '/breaks',
    operationId: 'breaks',
    responses: { 204: Empty },
    handle: async () => {
      throw new Error('at line 7', { cause: new Error('of the inside') })
    },
  }),
  route({
    ...open,
    path: '/breaks/later',
    operationId: 'breaksLater',
    responses: { 204: Empty },
    failure: (message: string) => ({ ok: false, error: message }),
    handle: async () => Promise.reject('not even an error'),
  }),
  route({
    ...open,
    path: '/unsayable',
    operationId: 'unsayable',
    responses: { 200: v.any() },
    handle: async () => {
      const circular: { self?: unknown } = {}
      circular.self = circular
      return reply(200, circular)
    },
  }),
  route({
    ...open,
    path: '/gate',
    operationId: 'gate',
    responses: { 200: v.string() },
    handle: async () =>
      new Promise<void>((resolve) => {
        gate = resolve
      }).then(() => reply(200, 'through')),
  }),
]

const floor = madeBefore(() => serve(routes))

const get = async (path: string, method = 'GET', from = floor) => {
  const answer = await fetch(from.api + path, { method })
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}

describe('A response', () => {
  const cases: [path: string, status: number, type: string | null, length: string | null, text: string][] = [
    ['/json', 200, 'application/json;charset=utf-8', '8', '{"id":1}'],
    ['/ready', 200, 'application/json;charset=utf-8', '8', '{"id":1}'],
    ['/html', 200, 'text/html;charset=utf-8', '9', '<p>ü</p>'],
    ['/empty', 204, null, null, ''],
    ['/missing', 404, null, '0', ''],
    ['/nothing', 404, null, '0', ''],
  ]
  for (const [path, status, type, length, text] of cases)
    it(`to ${path} is ${status} ${type ?? 'without a body'}, also for HEAD`, async () => {
      for (const method of ['GET', 'HEAD']) {
        const { headers, ...answer } = await get(path, method)
        assert.deepEqual(answer, { status, text: method === 'GET' ? text : '' })
        assert.equal(headers.get('content-type'), type)
        assert.equal(headers.get('content-length'), length)
        assert.equal(headers.get('x-content-type-options'), 'nosniff')
        assert.equal(headers.get('cache-control'), 'max-age=0, private, must-revalidate')
      }
    })

  it('404 to unknown paths has a body when the API is configured to send one', async () => {
    const talkative = await serve(routes, { notFoundMessage: 'nothing is here' })
    for (const path of ['/missing', '/nothing', '/fails/not_found']) {
      const { status, text } = await get(path, 'GET', talkative)
      assert.deepEqual([status, Object.keys(JSON.parse(text))], [404, ['message', 'url']])
    }
  })

  it('that the host has sent meanwhile stays as it is, also with CORS', async () => {
    const late = await serve(routes, { corsOrigins: ['*'] }, (handler) => (req, res) => {
      res.end('the host is busy')
      handler(req, res)
    })
    const answer = await fetch(`${late.api}/json`, { headers: { origin: 'https://app.example.test' } })
    assert.deepEqual([answer.status, await answer.text()], [200, 'the host is busy'])
    await late.idle()
    assert.deepEqual(late.told, [])
  })

  it('is sent in the order of the requests, however long each takes', async () => {
    const both = floor.raw(`GET /api/v1/gate HTTP/1.1\r\nHost: x.test\r\n\r\n${closing('GET /api/v1/json')}`)
    await reachesGate()
    openGate()
    assert.match(await both, /"through"[\s\S]*\{"id":1\}$/)
  })
})

describe('An error', () => {
  it('has a status that docs/api.md explains', () => {
    const page = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8')
    const [, table = ''] = page.split('## Statuses of errors')
    for (const status of Object.values(codes))
      assert.match(table, new RegExp(`^\\| ${status} \\| .+ \\|$`, 'm'))
  })

  for (const [code, status] of Object.entries(codes))
    it(`with the code ${code} is ${status}`, async () => {
      const { status: answered, headers, text } = await get(`/fails/${code}`)
      assert.equal(answered, status)
      assert.equal(headers.get('retry-after'), status === 503 ? '1' : null)
      assert.equal(headers.get('www-authenticate'), null)
      const url = `http://127.0.0.1:${floor.port}/api/swagger`
      if (status === 404) assert.equal(text, '')
      else assert.deepEqual(JSON.parse(text), { message: 'as it was asked', url })
    })

  it('without a code answers with a request id under which the log has the cause', async () => {
    floor.told.length = 0
    const { status, text } = await get('/breaks')
    assert.equal(status, 500)
    assert.doesNotMatch(text, /line 7|inside/)
    assert.equal(floor.told.length, 1)
    const { err, requestId, method, path } = floor.told[0]!.fields
    assert.ok(requestId && text.includes(requestId))
    assert.deepEqual([method, path], ['GET', '/breaks'])
    assert.match(String(err?.cause), /of the inside/)
  })

  it('has the format that its route declares', async () => {
    const { status, text } = await get('/breaks/later')
    assert.equal(status, 500)
    assert.deepEqual(Object.keys(JSON.parse(text)), ['ok', 'error'])
  })

  it('in a response that cannot be serialized is a 500', async () => {
    assert.equal((await get('/unsayable')).status, 500)
  })

  it('thrown by the log does not leave a client waiting', async () => {
    const mute = await serve(routes, {
      log: {
        error: () => {
          throw new Error('the disk of the log is full')
        },
        info: () => undefined,
      },
    })
    await assert.rejects(get('/breaks', 'GET', mute))
    assert.equal((await get('/json', 'GET', mute)).status, 200)
  })
})

describe('A client that disconnects', () => {
  it('during a response is not logged as an error', async () => {
    floor.told.length = 0
    const socket = connect(floor.port, '127.0.0.1')
    socket.write('GET /api/v1/gate HTTP/1.1\r\nHost: x.test\r\n\r\n')
    await reachesGate()
    socket.destroy()
    await sleep(50)
    openGate()
    await floor.idle()
    assert.equal((await get('/json')).status, 200)
    assert.deepEqual(floor.told, [])
  })
})

describe('idle()', () => {
  it('waits for the requests in flight, and for nothing else', async () => {
    await floor.idle()
    const answer = get('/gate')
    await reachesGate()
    let isIdle = false
    const idle = floor.idle().then(() => {
      isIdle = true
    })
    await sleep(50)
    assert.equal(isIdle, false)
    openGate()
    assert.equal((await answer).text, '"through"')
    await idle
  })

  it('does not wait for requests that begin after the call', async () => {
    let isOver = false
    const flood = Promise.all(
      Array.from({ length: 8 }, async () => {
        while (!isOver) assert.equal((await get('/json')).status, 200)
      }),
    )
    await sleep(20)
    await floor.idle()
    isOver = true
    await flood
  })
})

describe('A path outside of the base path', () => {
  it('goes to the next listener, and is 404 without one', async () => {
    const sharing = await serve(routes, {}, (handler) => (req, res) => {
      handler(req, res, () => res.end('the next'))
    })
    const at = `http://127.0.0.1:${sharing.port}`
    for (const path of ['/', '/api', '/api/v1x/json', '/API/v1/json', '/x/api/v1/json'])
      assert.equal(await (await fetch(at + path)).text(), 'the next', path)
    assert.equal(await (await fetch(`${at}/api/v1/json`)).text(), '{"id":1}')
    assert.equal((await fetch(`http://127.0.0.1:${floor.port}/elsewhere`)).status, 404)
  })
})

describe('The log', () => {
  it('has one line a second for clients refused by a limit, with their number', async () => {
    let now = 1e6
    mock.method(performance, 'now', () => now)
    try {
      const told: { fields: object; message: string }[] = []
      const log = {
        error: (fields: object, message: string) => told.push({ fields, message }),
        info: () => undefined,
      }
      const refuse = (message: string) =>
        toFailure(new AllotError('unavailable', message, { retryAfter: 1 }), log, {
          method: 'GET',
          path: '/x',
        })
      for (let time = 0; time < 100; time++) assert.equal(refuse('too busy').status, 503)
      refuse('also busy')
      now += 1000
      refuse('too busy')
      const lines = [
        ['too busy', 1],
        ['also busy', 1],
        ['too busy', 100],
      ]
      assert.deepEqual(
        told.map(({ fields, message }) => [message, (fields as { refused: number }).refused]),
        lines,
      )
      for (let time = 0; time < 3; time++)
        toFailure(new AllotError('unavailable', 'the store is away'), log, { method: 'GET', path: '/x' })
      assert.equal(told.length, lines.length + 3)
    } finally {
      mock.restoreAll()
    }
  })
})
