import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { before, describe, it } from 'node:test'
import { connectSource } from '../../bin/migrate/connect.ts'
import { LIMITS } from '../../bin/migrate/source-requests.ts'
import { startBefore } from '../support/test-server.ts'
import { type Reply, replay } from './replay.ts'
import { startTarget, type Target } from './two.ts'

let target: Target
const source = startBefore({ dialect: 'forgejo' })
before(async () => {
  const ann = await source.person('ann')
  await source.as(ann, 'POST', '/user/repos', { name: 'app' })
  target = await startTarget({ git: false })
})

type Answer = (req: IncomingMessage, res: ServerResponse) => void

/** The source, some of whose requests are answered in another way. */
const failing = (
  fails: (req: IncomingMessage) => boolean,
  answer: Answer,
  table: Readonly<Record<string, Reply>> = {},
) => replay(table, (req, res) => (fails(req) ? answer(req, res) : source.allot.handler(req, res)))

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

const GITEA = { '/version': { body: { version: '1.24.0' } } }

/** Migrates from a Gitea while one path fails. */
const migrated = async (path: string, code = 500) => {
  const { base, stop } = await failing(({ url }) => url!.includes(path), status(code), GITEA)
  return target.from({ base, root: source.root }).finally(stop)
}

describe('An error of the source', () => {
  it('for the number of pull requests is reported: other issues could get their numbers', async () => {
    const { text } = await migrated('type=pulls')
    assert.match(text, /^failed:\n {2}the issues of ann\/app: \S+ answered 500$/m)
  })

  it('for a list that is never copied is listed with it, and the run is complete', async () => {
    const report = await migrated('/milestones')
    assert.ok(report.isComplete(), report.text)
    assert.match(report.text, /^ {2}milestones: ann\/app \(\S+\/milestones\?state=all\S* answered 500\)$/m)
  })

  it('that is 403 or 404 for such a list says that there is none', async () => {
    for (const code of [403, 404])
      assert.doesNotMatch((await migrated('/milestones', code)).text, /milestones/)
  })
})
