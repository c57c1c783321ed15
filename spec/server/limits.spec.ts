import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { describe, it } from 'node:test'
import { createLimitedServer, type ServerLimits } from '../../lib/index.ts'
import { Authority } from '../support/certificates.ts'
import { waitFor } from '../support/wait-for.ts'
import { type Client, type Limited, limited } from './clients.ts'

const REQUEST = 'GET / HTTP/1.1\r\nHost: x.test\r\n'

type Limits = Parameters<typeof limited>[1]

/**
 * A server with these limits. Once the body of a request has arrived, it answers with the method and the
 * Authorization header.
 */
const serveWith = async (limits: Limits, work: (server: Limited) => Promise<void>) => {
  const server = await limited((req, res) => {
    req.resume().on('end', () => res.end(`${req.method} ${req.headers.authorization}`))
  }, limits)
  try {
    await work(server)
  } finally {
    await server.stop()
  }
}

/** Writes at intervals until the connection is closed. */
const drip = ({ socket }: Client, bytes = 'y'): void => {
  const timer = setInterval(() => socket.write(bytes), 50)
  socket.once('close', () => clearInterval(timer))
}

const authority = new Authority()
const { certificate, key } = authority.issue()
const https: Limits = {
  tls: { cert: readFileSync(certificate), key: readFileSync(key) },
  ca: authority.pem,
}

// Handshakes of many clients in this process would delay the timers of the others.
for (const [scheme, secure] of [
  ['http', {}],
  ['https', https],
] as const)
  describe(`A limited server of ${scheme}`, { concurrency: scheme === 'http' }, () => {
    const withLimits = (limits: ServerLimits, work: (server: Limited) => Promise<void>) =>
      serveWith({ ...limits, ...secure }, work)

    it('answers 431 for more headers than its limit', () =>
      withLimits({ maxHeaders: 5 }, async ({ client }) => {
        const headers = (count: number) =>
          Array.from({ length: count - 3 }, (_, at) => `X${at}: y\r\n`).join('')
        const end = 'Authorization: last\r\nConnection: close\r\n\r\n'
        assert.match(await client(REQUEST + headers(5) + end).ended, /200 OK[\s\S]*GET last/)
        for (const count of [6, 7, 50])
          assert.match(await client(REQUEST + headers(count) + end).ended, /^HTTP\/1\.1 431 /)
      }))

    it('answers 431 for more bytes of headers than its limit', () =>
      withLimits({ maxHeaderSize: '2 KiB' }, async ({ client }) => {
        const sized = (bytes: number) => `${REQUEST}X: ${'y'.repeat(bytes)}\r\nConnection: close\r\n\r\n`
        assert.match(await client(sized(1500)).ended, /^HTTP\/1\.1 200 /)
        assert.match(await client(sized(2100)).ended, /^HTTP\/1\.1 431 /)
      }))

    it('answers 408 when headers take too long, even while bytes keep arriving', () =>
      withLimits({ headersTimeout: 400 }, async ({ client }) => {
        const slow = client(`${REQUEST}X: `)
        drip(slow)
        const silent = client()
        assert.match(await slow.ended, /^HTTP\/1\.1 408 Request Timeout\r\nConnection: close/)
        assert.match(await silent.ended, /^$|^HTTP\/1\.1 408 /)
      }))

    it('answers 408 when a body takes too long, even while bytes keep arriving', () =>
      withLimits({ requestTimeout: 600 }, async ({ client }) => {
        const slow = client(`${REQUEST.replace('GET', 'POST')}Content-Length: 1000\r\n\r\n`)
        drip(slow)
        assert.match(await slow.ended, /^HTTP\/1\.1 408 Request Timeout\r\nConnection: close/)
      }))

    it('accepts a large body that arrives fast enough, however long it takes', () =>
      withLimits({ requestTimeout: 1000, bodyRate: '20 KiB' }, async ({ client }) => {
        const head = `${REQUEST.replace('GET', 'POST')}Connection: close\r\n`
        const slow = client(`${head}Content-Length: 120000\r\n\r\n`)
        drip(slow, 'y'.repeat(4000))
        assert.match(await slow.ended, /^HTTP\/1\.1 200 /)
      }))

    it('closes an idle connection', () =>
      withLimits({ keepAliveTimeout: 200 }, async ({ client }) => {
        assert.match(await client(`${REQUEST}\r\n`).ended, /^HTTP\/1\.1 200 /)
      }))

    it('answers 503 on connections above its limit, handles none of their requests, and serves the others', () =>
      withLimits(
        { maxConnections: 3, maxConnectionsPerAddress: 3, headersTimeout: 20_000 },
        async ({ client, connections }) => {
          const kept = [client(), client(), client()]
          await waitFor(() => connections() === 3)
          const surplus = await Promise.all(Array.from({ length: 20 }, () => client(`${REQUEST}\r\n`).ended))
          for (const text of surplus) {
            assert.match(
              text,
              /^HTTP\/1\.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\n/,
            )
            assert.doesNotMatch(text, /200 OK/)
          }
          for (const { socket, isOpen } of kept) {
            assert.ok(isOpen())
            socket.write(`${REQUEST}Connection: close\r\n\r\n`)
          }
          for (const { ended } of kept) assert.match(await ended, /^HTTP\/1\.1 200 /)
          assert.match(await client(`${REQUEST}Connection: close\r\n\r\n`).ended, /^HTTP\/1\.1 200 /)
        },
      ))

    it('limits the connections of one address, and serves others meanwhile', () =>
      withLimits(
        { maxConnections: 8, headersTimeout: 20_000 },
        async ({ client, clientFrom, connections }) => {
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
        },
      ))

    it('serves others while one address opens connections as fast as they are refused', () =>
      withLimits({ maxConnections: 4, headersTimeout: 20_000 }, async ({ client, clientFrom }) => {
        const flood = Array.from({ length: 400 }, () => client())
        await waitFor(() => flood.filter(({ socket }) => socket.readyState !== 'opening').length === 400)
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

    it('answers 408 when no byte of a body arrives for a while', () =>
      withLimits({ bodyIdleTimeout: 1500 }, async ({ client }) => {
        const head = `${REQUEST.replace('GET', 'POST')}Content-Length: 1000\r\n\r\n`
        const [idle, paused, slow] = [client(head), client(`${head}some`), client(head)]
        drip(slow)
        for (const { ended } of [idle, paused]) assert.match(await ended, /^HTTP\/1\.1 408 Request Timeout/)
        assert.ok(slow.isOpen())
      }))

    it('keeps a client that waits until the server reads its body', async () => {
      const server = await limited(
        (req, res) => void setTimeout(() => req.resume().on('end', () => res.end('done')), 2000),
        { bodyIdleTimeout: 600, ...secure },
      )
      try {
        const head = `${REQUEST.replace('GET', 'POST')}Connection: close\r\nContent-Length: 200000\r\n\r\n`
        assert.match(await server.client(head + 'y'.repeat(200_000)).ended, /^HTTP\/1\.1 200 /)
      } finally {
        await server.stop()
      }
    })
  })

describe('A limited server', () => {
  it('closes https connections without a handshake, and serves others while one address opens many', () =>
    serveWith({ ...https, maxConnections: 4, headersTimeout: 1500 }, async ({ port, clientFrom }) => {
      const silent = Array.from({ length: 400 }, () =>
        connect(port, '127.0.0.1').on('error', () => undefined),
      )
      await waitFor(() => silent.every(({ connecting }) => !connecting))
      assert.match(
        await clientFrom('127.0.0.2', `${REQUEST}Connection: close\r\n\r\n`).ended,
        /^HTTP\/1\.1 200 /,
      )
      await waitFor(() => silent.every(({ closed }) => closed))
      assert.ok(silent.every(({ closed }) => closed))
    }))

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
    let pending = 0
    const server = await limited(
      (_req, res) => {
        pending++
        res.on('close', () => pending--)
        res.end(BIG)
      },
      { idleTimeout: 500 },
    )
    try {
      const deaf = server.client()
      deaf.socket.pause()
      deaf.socket.write(`${REQUEST}\r\n`)
      await waitFor(() => pending === 1)
      assert.equal(pending, 1)
      await waitFor(() => pending === 0)
      assert.equal(pending, 0)
    } finally {
      await server.stop()
    }
  })
})
