import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe, it } from 'node:test'
import * as v from 'valibot'
import { stopTimers } from '../support/stopped-timers.ts'
import { madeBefore } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'
import { plain, reply, route, serve } from './fixture.ts'

const routes = [
  route({
    ...plain,
    method: 'POST',
    path: '/text',
    operationId: 'text',
    auth: 'required',
    accepts: 'text/plain',
    body: v.string(),
    responses: { 200: v.string() },
    handle: async ({ body }) => reply(200, body),
  }),
]

const floor = madeBefore(() => serve(routes))

/** Milliseconds that a client has for the rest of its body. */
const DRAIN_MS = 3000

const HEAD = 'POST /api/v1/text HTTP/1.1\r\nHost: x.test\r\n'

/** A connection that sends these bytes; what came back, and whether it is open still. */
const talk = (bytes: string) => {
  const socket = connect(floor.port, '127.0.0.1')
  const state = { text: '', isOpen: true }
  socket.on('data', (chunk) => {
    state.text += chunk.toString('latin1')
  })
  socket.on('error', () => undefined)
  socket.on('close', () => {
    state.isOpen = false
  })
  socket.write(bytes)
  return { socket, state }
}

describe('A response sent before the request body was read', () => {
  it('keeps the connection when the rest of the body arrives soon', async (test) => {
    const tick = stopTimers(test, 'lib/http/')
    const { socket, state } = talk(`${HEAD}Content-Length: 10\r\n\r\nhello`)
    await waitFor(() => state.text !== '')
    assert.match(state.text, /^HTTP\/1\.1 401 /)
    socket.write(`world${HEAD}Authorization: me\r\nContent-Length: 5\r\n\r\nagain`)
    await waitFor(() => state.text.endsWith('"again"'))
    assert.match(state.text, /HTTP\/1\.1 200 OK[\s\S]*"again"$/)
    // The time that the first one had is over, and was not the second one's.
    tick(DRAIN_MS)
    socket.write(`${HEAD}Authorization: me\r\nContent-Length: 4\r\n\r\nopen`)
    await waitFor(() => state.text.endsWith('"open"'))
    socket.destroy()
  })

  for (const [what, more] of [
    ['is unauthenticated', 'Content-Length: 1000\r\n\r\n'],
    ['is too large', 'Authorization: me\r\nContent-Length: 1000000000\r\n\r\n'],
    ['is unauthenticated and chunked', 'Transfer-Encoding: chunked\r\n\r\n400\r\n'],
  ] as const)
    it(`closes the connection after a short wait for the rest: ${what}`, async (test) => {
      const tick = stopTimers(test, 'lib/http/')
      const { socket, state } = talk(HEAD + more)
      const drip = setInterval(() => state.isOpen && socket.write('x'), 50)
      await waitFor(() => state.text !== '')
      assert.match(state.text, /^HTTP\/1\.1 4\d\d /)
      tick(DRAIN_MS - 1)
      assert.equal(state.isOpen, true)
      tick(1)
      await waitFor(() => !state.isOpen)
      clearInterval(drip)
    })
})
