import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { describe, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { createAllot } from '../../lib/index.ts'
import { atEnd } from '../support/cleanup.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { createSender } from '../support/request.ts'
import { waitFor } from '../support/wait-for.ts'
import { GENEROUS, limited } from './clients.ts'

const SLOW = 200
const HEAD = 'POST /api/v1/markdown HTTP/1.1\r\nHost: x.test\r\n'

describe('200 connections that send a byte at a time', () => {
  it('cost no timer for a byte, and the requests of others are answered beside them', async (t) => {
    const allot = await createAllot({
      ...{ driver: memory(), repositories: { directory: temporaryDirectory() } },
    })
    atEnd(() => allot.close())
    const sockets = new Set<Socket>()
    let received = 0
    const server = await limited((req, res) => {
      if (!sockets.has(req.socket)) req.socket.on('data', () => received++)
      sockets.add(req.socket)
      allot.handler(req, res)
    }, GENEROUS)
    // Half of them are slow with their headers and half with their bodies.
    const slow = Array.from({ length: SLOW }, (_, at) =>
      server.client(at % 2 === 0 ? `${HEAD}X: ` : `${HEAD}Content-Length: 1000\r\n\r\n`),
    )
    await waitFor(() => server.connections() === SLOW && server.requests() === SLOW / 2)
    const ask = createSender(`http://127.0.0.1:${server.port}/api/v1`)
    const timers = t.mock.method(globalThis, 'setTimeout')
    for (let round = 1; round <= 5; round++) {
      for (const { socket } of slow) socket.write('y')
      await waitFor(() => received >= (round * SLOW) / 2)
    }
    assert.equal(timers.mock.callCount(), 0)
    timers.mock.restore()
    for (let time = 0; time < 50; time++) assert.equal((await ask('GET', '/version')).status, 200)
    assert.ok(slow.every(({ isOpen }) => isOpen()))
  })
})
