import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import * as v from 'valibot'
import { deferred } from '../../lib/deferred.ts'
import { ClientDisconnected } from '../../lib/http/failure.ts'
import { BodyTurns } from '../../lib/http/index.ts'
import { madeBefore } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'
import { plain, reply, route, serve } from './fixture.ts'

const MIB = 1024 * 1024
const TURN_MS = 40

/** When each body was parsed. */
const turns: { by: string; begun: number; ended: number }[] = []

const busy = (): { begun: number; ended: number } => {
  const begun = performance.now()
  while (performance.now() - begun < TURN_MS);
  return { begun, ended: performance.now() }
}

/** Its check takes a while, as the check of a body with many values does. */
const slow = v.pipe(
  v.object({ by: v.string(), more: v.string() }),
  v.check(({ by }) => {
    turns.push({ by, ...busy() })
    return true
  }),
)

const declared = { ...plain, method: 'POST', auth: 'optional', responses: { 200: v.string() } } as const
const routes = [
  route({
    ...declared,
    path: '/slow',
    operationId: 'slow',
    body: slow,
    handle: async () => reply(200, 'parsed'),
  }),
  route({
    ...declared,
    path: '/made/{by}',
    operationId: 'made',
    handle: async ({ params: { by }, inTurn }) =>
      reply(
        200,
        await inTurn(MIB, async () => {
          turns.push({ by: by!, ...busy() })
          return 'made'
        }),
      ),
  }),
  route({
    ...declared,
    path: '/any',
    operationId: 'any',
    body: v.looseObject({}),
    handle: async () => reply(200, 'read'),
  }),
]

const served = madeBefore(() => serve(routes, { bodyLimit: 16 * MIB }))

const post = async (path: string, by: string, body: string) => {
  const headers = { authorization: by, 'content-type': 'application/json' }
  const answer = await fetch(served.api + path, { method: 'POST', headers, body })
  return { status: answer.status, text: await answer.text() }
}

describe('Large bodies of one client', () => {
  const large = (by: string) => post('/slow', by, JSON.stringify({ by, more: 'x'.repeat(20_000) }))
  const made = (by: string) => post(`/made/${by}`, by, '{}')

  for (const [how, send] of [
    ['parsed', large],
    ['made', made],
  ] as const)
    it(`are ${how} with pauses of three times as long, up to 300 ms, in which those of others are ${how}`, async () => {
      turns.length = 0
      const answers = await Promise.all([...Array.from({ length: 7 }, () => send('mallory')), send('ann')])
      assert.deepEqual(
        answers.map(({ status }) => status),
        Array(8).fill(200),
      )
      const own = turns.filter(({ by }) => by === 'mallory')
      for (const [index, { begun }] of own.slice(1).entries()) {
        const before = own[index]!
        const pause = Math.min(3 * (before.ended - before.begun), 300)
        // A timer may be a millisecond early.
        assert.ok(begun - before.ended >= pause - 2, `${begun - before.ended} ms instead of ${pause}`)
      }
      assert.notEqual(turns.at(-1)!.by, 'ann')
    })

  it('fill the memory up to its share: further ones are refused until one is complete, and those of others are not', async (test) => {
    const held = await Promise.all(Array.from({ length: 4 }, () => hold(test, 'mallory')))
    const body = `{"a":"${'x'.repeat(2 * MIB)}"}`
    // Until the server has begun to read all of them.
    let refused = { status: 0, text: '' }
    await waitFor(async () => {
      refused = await post('/any', 'mallory', body)
      return refused.status !== 200
    })
    assert.deepEqual([refused.status, /too many large request bodies/.test(refused.text)], [503, true])
    await Promise.all(
      ['eve', 'bob', 'tom', 'kim', 'joe'].flatMap((by) => [1, 2, 3, 4].map(() => hold(test, by))),
    )
    assert.equal((await post('/any', 'ann', body)).status, 200)
    assert.equal((await post('/any', 'mallory', '{}')).status, 200)
    const tooLarge = connect(served.port, '127.0.0.1')
    test.after(() => tooLarge.destroy())
    const head = ['POST /api/v1/any HTTP/1.1', 'Host: x.test', 'Authorization: mallory']
    tooLarge.write(`${[...head, `Content-Length: ${17 * MIB}`].join('\r\n')}\r\n\r\n`)
    assert.match(String(await once(tooLarge, 'data')), /^HTTP\/1.1 413 /)
    await held[0]!.complete()
    assert.equal((await post('/any', 'mallory', body)).status, 200)
  })

  it('wait for their turn only as long as the client stays', async () => {
    const turns = new BodyTurns()
    const complete: (() => void)[] = []
    const read = (signal: AbortSignal) =>
      turns.read(2 * MIB, { client: () => 'mallory', signal: () => signal }, () => {
        const { promise, resolve } = deferred<void>()
        complete.push(resolve)
        return promise
      })
    const reading = Array.from({ length: 4 }, () => read(new AbortController().signal))
    const leaving = new AbortController()
    const waiting = read(leaving.signal)
    leaving.abort()
    await assert.rejects(waiting, ClientDisconnected)
    assert.equal(complete.length, 4)
    for (const resolve of complete) resolve()
    await Promise.all(reading)
  })
})

/** A request whose body lacks its last byte. */
const hold = async (test: TestContext, by: string) => {
  const socket = connect(served.port, '127.0.0.1')
  test.after(() => socket.destroy())
  const body = `{"a":"${'x'.repeat(2 * MIB)}"}`
  const head = ['POST /api/v1/any HTTP/1.1', 'Host: x.test', `Authorization: ${by}`]
  socket.write(`${[...head, `Content-Length: ${body.length}`].join('\r\n')}\r\n\r\n${body.slice(0, -1)}`)
  return {
    async complete() {
      socket.write('}')
      const [answer] = (await once(socket, 'data')) as [Buffer]
      assert.match(answer.toString(), /^HTTP\/1.1 200 /)
    },
  }
}
