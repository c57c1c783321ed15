import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { beforeEach, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import * as v from 'valibot'
import { deferred } from '../../lib/deferred.ts'
import { madeBefore } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'
import { closing, plain, reply, route, serve } from './fixture.ts'

/** Requests after the first `free` ones wait for it. */
let gate = deferred<void>()
let free = Number.POSITIVE_INFINITY
/** The connection of the last request, on the side of the server. */
let connection: Socket
let [running, most, handled] = [0, 0, 0]
const answers = { ...plain, method: 'GET', auth: 'optional', responses: { 200: v.string() } } as const
const BIG = 'x'.repeat(256 * 1024)

const routes = [
  route({
    ...answers,
    path: '/slow',
    operationId: 'slow',
    handle: async () => {
      most = Math.max(most, ++running)
      if (handled < free) await sleep(5)
      else await gate.promise
      running--
      return reply(200, `number ${++handled}`)
    },
  }),
  route({
    ...answers,
    path: '/big',
    operationId: 'big',
    handle: async () => {
      handled++
      return reply(200, BIG)
    },
  }),
]

const floor = madeBefore(() =>
  serve(routes, {}, (handler) => (req, res) => {
    connection = req.socket
    handler(req, res)
  }),
)
beforeEach(() => {
  ;[running, most, handled] = [0, 0, 0]
  gate = deferred<void>()
  free = Number.POSITIVE_INFINITY
})

const get = (path: string) => `GET /api/v1${path} HTTP/1.1\r\nHost: x.test\r\n\r\n`

const connected = (): Socket => connect(floor.port, '127.0.0.1').on('error', () => undefined)

describe('Pipelined requests', () => {
  it('are handled one after another, and answered in order', async () => {
    const text = await floor.raw(get('/slow').repeat(99) + closing('GET /api/v1/slow'))
    const numbers = [...text.matchAll(/"number (\d+)"/g)].map(([, number]) => Number(number))
    assert.deepEqual(
      numbers,
      Array.from({ length: 100 }, (_, at) => at + 1),
    )
    assert.equal(most, 1)
  })

  it('do not delay the requests of other connections', async () => {
    free = 0
    const all = Array.from({ length: 8 }, () => floor.raw(closing('GET /api/v1/slow')))
    await waitFor(() => running === 8)
    gate.resolve()
    assert.ok((await Promise.all(all)).every((text) => text.includes('200 OK')))
  })

  it('of a client that does not read are not handled ahead of it', async () => {
    const socket = connected().pause()
    socket.write(get('/big').repeat(250))
    await waitFor(() => handled > 0)
    await sleep(500)
    // The requests whose answers fit into the buffers of the operating system are handled, and one more: 250
    // answers would be 64 MiB.
    assert.ok(handled < 100, `${handled} were handled`)
    socket.destroy()
  })

  it('beyond the limit close the connection', async () => {
    free = 2
    const socket = connected()
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.resume()
    socket.write(get('/slow').repeat(5000))
    await closed
    gate.resolve()
    await floor.idle()
    assert.ok(handled <= 3, `${handled} were handled`)
  })

  it('leave no listener at their connection after one that the host answers', async () => {
    const host = await serve(routes, {}, (handler) => (req, res) => {
      connection = req.socket
      if (req.url === '/host') setImmediate(() => res.end('host'))
      else handler(req, res)
    })
    const socket = connect(host.port, '127.0.0.1')
    let text = ''
    socket.on('data', (bytes) => (text += bytes))
    const exchange = async (times: number) => {
      socket.write(`GET /host HTTP/1.1\r\nHost: x.test\r\n\r\n${get('/slow')}`)
      await waitFor(() => text.split('number').length > times && text.split('host').length > times)
    }
    await exchange(1)
    const before = connection.listenerCount('close')
    for (let times = 2; times < 6; times++) await exchange(times)
    await waitFor(() => connection.listenerCount('close') <= before)
    socket.destroy()
    await host.stop()
  })

  it('are not started after the client has disconnected', async () => {
    free = 3
    const socket = connected()
    socket.write(get('/slow').repeat(50))
    await waitFor(() => handled === 3 && running === 1)
    socket.destroy()
    await waitFor(() => connection.closed)
    gate.resolve()
    await floor.idle()
    assert.equal(handled, 4)
  })
})
