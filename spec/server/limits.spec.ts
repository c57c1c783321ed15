import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { createLimitedServer, type ServerLimits } from '../../lib/index.ts'
import { Authority } from '../support/certificates.ts'
import { times } from '../support/long.ts'
import { waitFor } from '../support/wait-for.ts'
import { type Client, GENEROUS, type Limited, limited } from './clients.ts'

const REQUEST = 'GET / HTTP/1.1\r\nHost: x.test\r\n'

type Limits = Parameters<typeof limited>[1]

/**
 * A server with these limits, and generous ones otherwise. Once the body of a request has arrived, it answers
 * with the method and the Authorization header.
 */
const serveWith = (limits: Limits): Promise<Limited> =>
  limited(
    (req, res) => {
      req.resume().on('end', () => res.end(`${req.method} ${req.headers.authorization}`))
    },
    { ...GENEROUS, ...limits },
  )

/** Writes at intervals until the connection is closed. */
const drip = ({ socket }: Client, bytes = 'y'): void => {
  const timer = setInterval(() => socket.write(bytes), 10)
  socket.once('close', () => clearInterval(timer))
}

const silentAt = (port: number) => connect(port, '127.0.0.1').on('error', () => undefined)

const CLOSING_POST = `${REQUEST.replace('GET', 'POST')}Connection: close\r\n`

/**
 * A server whose limits on bodies expire by the clock of the spec.
 * @param reads whether it reads bodies at once
 */
const serveByClock = async (t: TestContext, limits: Limits, reads = true) => {
  let passedMs = 0
  const { now } = performance
  t.mock.method(performance, 'now', () => now.call(performance) + passedMs)
  const timers = new Set<{ check: () => void }>()
  t.mock.method(globalThis, 'setTimeout', (check: () => void) => {
    const timer = { check }
    timers.add(timer)
    return timer
  })
  t.mock.method(globalThis, 'clearTimeout', (timer: { check: () => void }) => timers.delete(timer))
  const bodies = { requests: [] as IncomingMessage[], bytes: 0 }
  const { client } = await limited(
    (req, res) => {
      bodies.requests.push(req)
      req.on('end', () => res.end('done'))
      req.on('data', (chunk) => {
        bodies.bytes += chunk.length
      })
      if (!reads) req.pause()
    },
    { ...GENEROUS, ...limits },
  )
  /** Lets the server check all bodies after this time. */
  const pass = (ms: number) => {
    passedMs += ms
    for (const timer of [...timers]) {
      timers.delete(timer)
      timer.check()
    }
  }
  return { client, bodies, pass }
}

const authority = new Authority()
const { certificate, key } = authority.issue()
const https: Limits = {
  tls: { cert: readFileSync(certificate), key: readFileSync(key) },
  ca: authority.pem,
}

for (const [scheme, secure] of [
  ['http', {}],
  ['https', https],
] as const)
  describe(`A limited server of ${scheme}`, () => {
    const withLimits = async (limits: ServerLimits, work: (server: Limited) => Promise<void>) =>
      work(await serveWith({ ...limits, ...secure }))

    it('answers what the parser refuses with the body of an error, and 400, 408, 413 or 431', () =>
      withLimits({ headersTimeout: 200, maxHeaders: 5, maxHeaderSize: '2 KiB' }, async ({ client }) => {
        const chunked = `${REQUEST.replace('GET', 'POST')}Transfer-Encoding: chunked\r\n\r\n1;`
        for (const [status, bytes] of [
          [400, 'nonsense\r\n\r\n'],
          [400, `${REQUEST}Content-Length: x\r\n\r\n`],
          [408, REQUEST],
          [413, chunked + 'x'.repeat(17_000)],
          [431, `${REQUEST}X: ${'y'.repeat(2100)}\r\n\r\n`],
          [431, `${REQUEST}${'X: y\r\n'.repeat(6)}\r\n`],
        ] as const) {
          const answer = await client(bytes).ended
          const [head = '', body = ''] = answer.split('\r\n\r\n')
          assert.match(
            head,
            new RegExp(`^HTTP/1\\.1 ${status} [^]*Content-Type: application/json;charset=utf-8`),
          )
          assert.match(head, new RegExp(`^Content-Length: ${Buffer.byteLength(body)}$`, 'm'))
          const { message, ...rest } = JSON.parse(body)
          assert.deepEqual([typeof message, rest], ['string', { url: '/api/swagger' }])
        }
      }))

    it('answers 431 for more headers than its limit', () =>
      withLimits({ maxHeaders: 5 }, async ({ client }) => {
        const headers = (count: number) =>
          Array.from({ length: count - 3 }, (_, at) => `X${at}: y\r\n`).join('')
        const end = 'Authorization: last\r\nConnection: close\r\n\r\n'
        assert.match(await client(REQUEST + headers(5) + end).ended, /200 OK[\s\S]*GET last/)
        for (const count of [6, 7, 50])
          assert.match(await client(REQUEST + headers(count) + end).ended, /^HTTP\/1\.1 431 /)
      }))

    it('answers 400 for an ambiguous framing before its listener, and reads nothing that follows', () =>
      withLimits({}, async ({ client, requests }) => {
        const { ended } = client(`${REQUEST}Host: y.test\r\n\r\n${REQUEST}\r\n`)
        assert.match(await ended, /^HTTP\/1\.1 400 [\s\S]*connection: close\r\n/i)
        assert.equal(requests(), 0)
      }))

    it('answers 431 for more bytes of headers than its limit', () =>
      withLimits({ maxHeaderSize: '2 KiB' }, async ({ client }) => {
        const sized = (bytes: number) => `${REQUEST}X: ${'y'.repeat(bytes)}\r\nConnection: close\r\n\r\n`
        assert.match(await client(sized(1500)).ended, /^HTTP\/1\.1 200 /)
        assert.match(await client(sized(2100)).ended, /^HTTP\/1\.1 431 /)
      }))

    it('answers 408 when headers take too long, even while bytes keep arriving', () =>
      withLimits({ headersTimeout: 100 }, async ({ client }) => {
        const slow = client(`${REQUEST}X: `)
        drip(slow)
        const silent = client()
        assert.match(await slow.ended, /^HTTP\/1\.1 408 Request Timeout\r\nConnection: close/)
        assert.match(await silent.ended, /^$|^HTTP\/1\.1 408 /)
      }))

    it('answers 408 when a body takes too long, even while bytes keep arriving', () =>
      withLimits({ requestTimeout: 100 }, async ({ client }) => {
        const slow = client(`${REQUEST.replace('GET', 'POST')}Content-Length: 1000\r\n\r\n`)
        drip(slow)
        assert.match(await slow.ended, /^HTTP\/1\.1 408 Request Timeout\r\nConnection: close/)
      }))

    it('accepts a large body that arrives fast enough, however long it takes', async (t) => {
      const { client, bodies, pass } = await serveByClock(t, { bodyRate: 1, ...secure })
      const clients = Array.from({ length: 2 }, () => client(`${CLOSING_POST}Content-Length: 8000\r\n\r\n`))
      const [large, small] = clients as [Client, Client]
      await waitFor(() => bodies.requests.length === 2)
      large.socket.write('y'.repeat(4000))
      small.socket.write('yyyy')
      await waitFor(() => bodies.bytes === 4004)
      // 600 seconds and one for each byte.
      pass(3_000_000)
      assert.match(await small.ended, /^HTTP\/1\.1 408 Request Timeout\r\nConnection: close/)
      large.socket.write('y'.repeat(4000))
      assert.match(await large.ended, /^HTTP\/1\.1 200 /)
    })

    it('closes an idle connection', () =>
      withLimits({ keepAliveTimeout: 50 }, async ({ client }) => {
        assert.match(await client(`${REQUEST}\r\n`).ended, /^HTTP\/1\.1 200 /)
      }))

    it('answers 503 on connections above its limit, handles none of their requests, and serves the others', () =>
      withLimits({ maxConnections: 3, maxConnectionsPerAddress: 3 }, async ({ client, connections }) => {
        const kept = [client(), client(), client()]
        await waitFor(() => connections() === 3)
        const surplus = await Promise.all(Array.from({ length: 20 }, () => client(`${REQUEST}\r\n`).ended))
        for (const text of surplus) {
          assert.match(text, /^HTTP\/1\.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\n/)
          assert.doesNotMatch(text, /200 OK/)
        }
        for (const { socket, isOpen } of kept) {
          assert.ok(isOpen())
          socket.write(`${REQUEST}Connection: close\r\n\r\n`)
        }
        for (const { ended } of kept) assert.match(await ended, /^HTTP\/1\.1 200 /)
        assert.match(await client(`${REQUEST}Connection: close\r\n\r\n`).ended, /^HTTP\/1\.1 200 /)
      }))

    it('limits the connections of one address, and serves others meanwhile', () =>
      withLimits({ maxConnections: 8 }, async ({ client, clientFrom, connections }) => {
        const idle = 'POST / HTTP/1.1\r\nHost: x.test\r\nContent-Length: 9\r\n\r\n'
        const held = [client(idle), client(idle)]
        await waitFor(() => connections() === 2)
        assert.match(await client(`${REQUEST}\r\n`).ended, /^HTTP\/1\.1 503 /)
        const closing = `${REQUEST}Connection: close\r\n\r\n`
        assert.match(await clientFrom('127.0.0.2', closing).ended, /^HTTP\/1\.1 200 /)
        assert.ok(held.every(({ isOpen }) => isOpen()))
        held[0]!.socket.destroy()
        await waitFor(() => connections() === 1)
        assert.match(await client(closing).ended, /^HTTP\/1\.1 200 /)
      }))

    it('serves others while one address opens connections as fast as they are refused', () =>
      withLimits({ maxConnections: 4 }, async ({ client, clientFrom }) => {
        const flood = Array.from({ length: times(150, 400) }, () => client())
        await waitFor(() => flood.every(({ socket }) => socket.readyState !== 'opening'))
        for (let time = 0; time < 3; time++)
          assert.match(
            await clientFrom('127.0.0.2', `${REQUEST}Connection: close\r\n\r\n`).ended,
            /^HTTP\/1\.1 200 /,
          )
      }))

    it('limits the unanswered requests of one address behind a proxy', () =>
      withLimits({ maxConnections: 8, trustedProxies: 1 }, async ({ client, requests }) => {
        const from = (address: string, more: string) =>
          client(`${REQUEST.replace('GET', 'POST')}X-Forwarded-For: ${address}\r\n${more}`)
        const idle = [1, 2].map(() => from('192.0.2.1', 'Content-Length: 9\r\n\r\n'))
        await waitFor(() => requests() === 2)
        const answer = (address: string) => from(address, 'Connection: close\r\n\r\n').ended
        assert.match(await answer('192.0.2.1'), /^HTTP\/1\.1 503 [\s\S]*Retry-After: 1/)
        assert.match(await answer('192.0.2.2'), /^HTTP\/1\.1 200 /)
        for (const { socket } of idle) socket.write('123456789')
        await waitFor(() => idle.every(({ text }) => text().startsWith('HTTP/1.1 200 ')))
        assert.match(await answer('192.0.2.1'), /^HTTP\/1\.1 200 /)
      }))

    it('answers 408 when no byte of a body arrives for a while', async (t) => {
      const { client, bodies, pass } = await serveByClock(t, { requestTimeout: 3_600_000, ...secure })
      const head = `${REQUEST.replace('GET', 'POST')}Content-Length: 1000\r\n\r\n`
      const [idle, paused, slow] = [client(head), client(`${head}some`), client(head)]
      await waitFor(() => bodies.requests.length === 3 && bodies.bytes === 4)
      for (let bytes = 5; bytes <= 7; bytes++) {
        slow.socket.write('y')
        await waitFor(() => bodies.bytes === bytes)
        pass(250_000)
      }
      for (const { ended } of [idle, paused]) assert.match(await ended, /^HTTP\/1\.1 408 Request Timeout/)
      assert.ok(slow.isOpen())
    })

    it('keeps a client that waits until the server reads its body', async (t) => {
      const { client, bodies, pass } = await serveByClock(t, { requestTimeout: 3_600_000, ...secure }, false)
      const sent = client(`${CLOSING_POST}Content-Length: 200000\r\n\r\n${'y'.repeat(200_000)}`)
      const isFull = ({ readableLength, readableHighWaterMark }: IncomingMessage) =>
        readableLength >= readableHighWaterMark
      await waitFor(() => bodies.requests.some(isFull))
      for (let checks = 0; checks < 5; checks++) pass(250_000)
      bodies.requests[0]!.resume()
      assert.match(await sent.ended, /^HTTP\/1\.1 200 /)
    })
  })

describe('A limited server', () => {
  it('closes https connections without a handshake, and serves others while one address opens many', async () => {
    const { port, clientFrom } = await serveWith({ ...https, maxConnections: 4 })
    const silent = Array.from({ length: times(150, 400) }, () => silentAt(port))
    await waitFor(() => silent.every(({ connecting }) => !connecting))
    const answered = clientFrom('127.0.0.2', `${REQUEST}Connection: close\r\n\r\n`)
    assert.match(await answered.ended, /^HTTP\/1\.1 200 /)
    const impatient = await serveWith({ ...https, headersTimeout: 100 })
    const few = Array.from({ length: 10 }, () => silentAt(impatient.port))
    await waitFor(() => few.every(({ closed }) => closed))
    for (const socket of silent) socket.destroy()
  })

  it('names an option that is unknown or wrong', () => {
    const wrong = { maxHeaders: 0, headersTimeout: '1s', speed: 3 } as unknown as ServerLimits
    assert.throws(
      () => createLimitedServer(() => undefined, wrong),
      /maxHeaders: [\s\S]*headersTimeout: [\s\S]*speed: there is no such option/,
    )
  })
})

describe('A client that never reads its response', () => {
  it('is disconnected when it is idle, and until then the server holds one response for it', async () => {
    const BIG = Buffer.alloc(64 * 1024 * 1024)
    let [begun, ended] = [0, 0]
    const server = await limited(
      (_req, res) => {
        begun++
        res.on('close', () => ended++)
        res.end(BIG)
      },
      { ...GENEROUS, idleTimeout: 500 },
    )
    const deaf = server.client()
    deaf.socket.pause()
    deaf.socket.write(`${REQUEST}\r\n`)
    await waitFor(() => ended === 1)
    assert.equal(begun, 1)
  })
})
