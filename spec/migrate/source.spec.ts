import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { before, describe, it } from 'node:test'
import { connectSource } from '../../bin/migrate/connect.ts'
import { LIMITS } from '../../bin/migrate/source-requests.ts'
import { startBefore } from '../support/test-server.ts'
import { replay } from './replay.ts'

const source = startBefore({ dialect: 'forgejo' })
before(() => source.person('ann'))

type Answer = (req: IncomingMessage, res: ServerResponse) => void

/** The source, some of whose requests are answered in another way. */
const failing = (fails: (req: IncomingMessage) => boolean, answer: Answer) =>
  replay({}, (req, res) => (fails(req) ? answer(req, res) : source.allot.handler(req, res)))

const status =
  (code: number): Answer =>
  (_, res) =>
    res.writeHead(code).end('{}')

/** Requests are repeated without a pause. */
const limits = { ...LIMITS, pause: async () => undefined }

describe('A source that answers a request without a token', () => {
  const isAnonymous = ({ url, headers }: IncomingMessage) =>
    url === '/api/v1/version' && headers.authorization === undefined
  const connected = async (answer: Answer, times = Number.POSITIVE_INFINITY) => {
    const { base, stop } = await failing((req) => isAnonymous(req) && times-- > 0, answer)
    return connectSource(base, source.root.token, limits).finally(stop)
  }

  it('with an error is open when it only was busy, or closed the connection', async () => {
    for (const answer of [status(429), status(503), (req: IncomingMessage) => req.socket.destroy()])
      assert.equal((await connected(answer as Answer, 1)).isOpen, true)
  })

  it('with 401, 403 or a redirect is one where everyone must sign in', async () => {
    for (const code of [401, 403, 302]) assert.equal((await connected(status(code))).isOpen, false, `${code}`)
  })

  it('with any other error is not migrated, since that does not say what everyone sees', async () => {
    for (const code of [429, 500, 503])
      await assert.rejects(connected(status(code)), new RegExp(`/api/v1/version answered ${code}$`))
  })
})
