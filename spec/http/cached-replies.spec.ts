import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { after, before, describe, it } from 'node:test'
import * as v from 'valibot'
import { memory } from '../../drivers/memory/index.ts'
import type { Caller } from '../../lib/http/index.ts'
import { Store } from '../../lib/records/store.ts'
import { bytes, text } from '../driver-spec/fixture.ts'
import { type HttpFixture, plain, reply, route, senderOf, serve } from './fixture.ts'

const Said = v.object({ said: v.string(), by: v.string(), base: v.string() })
const NAME = bytes('name')
const SENDERS = bytes('senders')

const driver = memory()
const store = new Store(driver)
let calls = 0

const routes = [
  route({
    ...plain,
    method: 'GET',
    path: '/things/{name}',
    operationId: 'thing',
    auth: 'optional',
    responses: { 200: Said, 404: v.undefined() },
    handle: ({ user, params, baseUrl, cached }) =>
      cached(async (tx) => {
        calls++
        const said = text(await tx.get(bytes(params.name!)))
        return said === undefined ? reply(404) : reply(200, { said, by: user?.username ?? '', base: baseUrl })
      }),
  }),
]

const keyOf = ({ headers }: IncomingMessage) => `sender ${headers.authorization}`

/** The store keeps all senders but `nobody`, until a record changes. */
const options = {
  store,
  authenticate: async (req: IncomingMessage) => {
    const { authorization } = req.headers
    if (authorization === undefined || authorization === 'nobody') return senderOf(req)
    return store.cached(keyOf(req), async (tx) => {
      await tx.get(SENDERS)
      return senderOf(req)
    })
  },
  keptSender: (req: IncomingMessage) => {
    if (req.headers.authorization === undefined) return { user: null }
    const [key, value] = [keyOf(req), store.known<Caller>(keyOf(req))]
    return value && { madeOf: { key, value }, user: value }
  },
}

let server: HttpFixture
before(async () => {
  await driver.open()
  await save('5')
  server = await serve(routes, options)
})
after(() => server.stop())

const save = (value: string) => store.write(async (tx) => tx.put(NAME, bytes(value)))

/** @returns the response, and how often a handler was called for it */
const get = async (path: string, headers: Record<string, string> = {}, method = 'GET') => {
  const callsBefore = calls
  const response = await fetch(server.api + path, { method, headers })
  return { response, body: await response.text(), called: calls - callsBefore }
}

describe('A reply that was cached', () => {
  it('is sent again, to HEAD and with If-None-Match, too, until a record changes', async () => {
    const first = await get('/things/name')
    const again = await get('/things/name')
    assert.deepEqual([first.called, again.called, again.body], [1, 0, first.body])
    const sent = ({ headers }: Response) => [...headers].filter(([name]) => name !== 'date')
    assert.deepEqual(sent(again.response), sent(first.response))
    const head = await get('/things/name', {}, 'HEAD')
    assert.deepEqual([head.called, head.body, head.response.status], [0, '', 200])
    assert.equal(head.response.headers.get('content-length'), first.response.headers.get('content-length'))
    const tag = first.response.headers.get('etag')!
    const known = await get('/things/name', { 'if-none-match': tag })
    assert.deepEqual([known.called, known.body, known.response.status], [0, '', 304])
    await save('6')
    const changed = await get('/things/name', { 'if-none-match': tag })
    assert.deepEqual([changed.called, changed.response.status], [1, 200])
    assert.match(changed.body, /"said":"6"/)
  })

  it('is read again when its sender changes, and each time for a sender whom the store does not keep', async () => {
    const ask = async (authorization: string) => (await get('/things/name', { authorization })).called
    assert.deepEqual([await ask('carol'), await ask('carol')], [1, 0])
    await store.write(async (tx) => tx.put(SENDERS, bytes('changed')))
    assert.deepEqual([await ask('carol'), await ask('carol')], [1, 0])
    assert.deepEqual([await ask('nobody'), await ask('nobody')], [1, 1])
  })

  it('is not a 404', async () => {
    for (let times = 0; times < 2; times++) {
      const { response, called } = await get('/things/none')
      assert.deepEqual([response.status, called], [404, 1])
    }
  })
})
