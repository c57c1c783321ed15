import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { describe, it } from 'node:test'
import * as v from 'valibot'
import { madeBefore } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'
import { closing, plain, reply, route, serve } from './fixture.ts'

const BIG = 'x'.repeat(24 * 1024 * 1024)
let changes = 0
const answers = { ...plain, auth: 'optional', responses: { 200: v.string() } } as const
const routes = [
  route({ ...answers, method: 'GET', path: '/big', operationId: 'big', handle: async () => reply(200, BIG) }),
  route({
    ...answers,
    method: 'GET',
    path: '/small',
    operationId: 'get',
    handle: async () => reply(200, ''),
  }),
  route({
    ...answers,
    method: 'POST',
    path: '/small',
    operationId: 'post',
    handle: async () => {
      changes++
      return reply(200, '')
    },
  }),
]

const floor = madeBefore(() => serve(routes))

/** A connection of a client that reads no more than the beginning of a response. */
const slowReader = async (): Promise<{ socket: Socket; status: string }> => {
  const socket = connect(floor.port, '127.0.0.1').on('error', () => undefined)
  socket.write('GET /api/v1/big HTTP/1.1\r\nHost: x.test\r\n\r\n')
  const status = await new Promise<string>((resolve) =>
    socket.once('data', (chunk) => {
      socket.pause()
      resolve(chunk.toString('latin1').slice(9, 12))
    }),
  )
  return { socket, status }
}

describe('A client that does not read large responses', () => {
  it('is refused more of them, on whatever connection, until it has read or left', async () => {
    const readers: { socket: Socket; status: string }[] = []
    for (let count = 0; count < 8; count++) readers.push(await slowReader())
    const statuses = readers.map(({ status }) => status)
    assert.deepEqual(statuses, [...Array(3).fill('200'), ...Array(5).fill('503')])
    for (const method of ['GET', 'POST']) {
      const text = await floor.raw(closing(`${method} /api/v1/small`))
      assert.match(text, /^HTTP\/1\.1 503 /)
      assert.match(text, /^Retry-After: 1\r$/im)
    }
    assert.equal(changes, 0)
    for (const { socket } of readers) socket.destroy()
    await waitFor(async () => (await floor.raw(closing('POST /api/v1/small'))).includes('200 OK'))
    assert.equal(changes, 1)
  })

  it('keeps no other client from being served', async () => {
    const readers = [await slowReader(), await slowReader(), await slowReader()]
    const headers = 'Authorization: other'
    assert.match(await floor.raw(closing('GET /api/v1/small', headers)), /200 OK/)
    for (const { socket } of readers) socket.destroy()
  })
})
