import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { gracefulShutdown } from '../../bin/server/shutdown.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { waitFor } from '../support/wait-for.ts'
import { served } from './program.ts'

describe('The shutdown of a server whose store cannot be closed', () => {
  it('closes the connections and the port all the same, and reports the error', async () => {
    const server = createServer((_req, res) => void res.end())
    const stop = gracefulShutdown(server, () => Promise.reject(new Error('the disk is gone')))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const socket = connect(port, '127.0.0.1').on('error', () => undefined)
    // Half a request keeps the connection open.
    const isOpen = once(server, 'connection')
    socket.write('GET / HTTP/1.1\r\nHost: half')
    await isOpen
    await assert.rejects(stop(), /the disk is gone/)
    assert.equal(await promisify(server.getConnections.bind(server))(), 0)
    assert.equal(server.listening, false)
  })
})

describe('A server that gets SIGINT', () => {
  it('says how many requests it waits for, and ends at once when it gets another', async () => {
    const server = await served(['--data', temporaryDirectory()])
    const { hostname, port } = new URL(server.api)
    const socket = connect(Number(port), hostname).on('error', () => undefined)
    socket.write(
      'POST /api/v1/markdown/raw HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n',
    )
    // The response to Expect: the request has arrived.
    await once(socket, 'data')
    server.child.kill('SIGINT')
    await waitFor(() => server.printed().includes('stopping: '))
    assert.match(server.printed(), /^stopping: waiting up to 8 s for 1 request; Ctrl-C again stops at once$/m)
    await server.stop('SIGINT')
    assert.equal(server.child.signalCode, 'SIGINT')
    socket.destroy()
  })
})
