import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { before, describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { connectSource } from '../../bin/migrate/connect.ts'
import type { MigrationOptions } from '../../bin/migrate/migration.ts'
import { Source } from '../../bin/migrate/source.ts'
import { LIMITS } from '../../bin/migrate/source-requests.ts'
import { listen } from '../support/listen.ts'
import { startBefore } from '../support/test-server.ts'
import { startTarget, type Target } from './two.ts'

type Answer = (req: IncomingMessage, res: ServerResponse) => unknown

const status =
  (code: number): Answer =>
  (_, res) =>
    res.writeHead(code).end('{}')

const close: Answer = (req) => req.socket.destroy()
const content: Answer = (_, res) => res.end('content')

let target: Target
let base: string
/** Answers a request of the migration in the place of the source; undefined: the source does. */
let failing: (req: IncomingMessage) => Answer | undefined = () => undefined

const source = startBefore({ dialect: 'forgejo' })
before(async () => {
  const ann = await source.person('ann')
  await source.person('gone')
  for (const name of ['app', 'gone']) await source.as(ann, 'POST', '/user/repos', { name })
  await source.as(ann, 'POST', '/repos/ann/app/issues', { title: 'gone' })
  await source.as(ann, 'POST', '/orgs', { username: 'acme' })
  await source.as(ann, 'PUT', '/orgs/acme/public_members/ann')
  const gitea = await listen((req, res) => {
    const answer = failing(req)
    if (answer !== undefined) answer(req, res)
    else if (req.url === '/api/v1/version') res.end('{"version":"1.24.0"}')
    else source.allot.handler(req, res)
  })
  base = gitea.origin
  target = await startTarget({ git: false })
})

/** Migrates while some paths of the source fail. */
const migrated = (paths: RegExp, code = 500, options: Partial<MigrationOptions> = {}) => {
  failing = ({ url }) => (paths.test(url!) ? status(code) : undefined)
  return target.from({ base, root: source.root }, [], options)
}

describe('A source that answers a request without a token', () => {
  const connected = (answer: Answer, times = Number.POSITIVE_INFINITY) => {
    let left = times
    failing = ({ url, headers: { authorization } }) =>
      url === '/api/v1/version' && authorization === undefined && left-- > 0 ? answer : undefined
    return connectSource(base, source.root.token, { ...LIMITS, pause: async () => undefined })
  }

  it('with an error is open when it only was busy, or closed the connection', async () => {
    for (const answer of [status(429), status(503), close])
      assert.equal((await connected(answer, 1)).isOpen, true)
  })

  it('with 401, 403 or a redirect is one where everyone must sign in', async () => {
    for (const code of [401, 403, 302]) assert.equal((await connected(status(code))).isOpen, false, `${code}`)
  })

  it('with any other error is not migrated, since that does not say what everyone sees', async () => {
    for (const code of [429, 500, 503])
      await assert.rejects(connected(status(code)), new RegExp(`/api/v1/version answered ${code}$`))
  })
})

describe('A file or a page of the source', () => {
  const at = () => new Source(base, source.root.token, { ...LIMITS, pause: async () => undefined })

  it('is asked for again when the source is busy, or closes the connection', async () => {
    const reads = [() => at().download('/file', buffer).then(String), () => at().page('/file')]
    for (const read of reads) {
      const answers = [status(429), status(503), close, content]
      failing = () => answers.shift()
      assert.equal(await read(), 'content')
    }
  })

  it('fails when the source stays busy', async () => {
    failing = () => status(429)
    await assert.rejects(at().download('/file', buffer), /\/file answered 429$/)
    await assert.rejects(at().page('/file'), /\/file answered 429$/)
  })

  it('is a page that the source does not show when it answers 404', async () => {
    failing = () => status(404)
    assert.equal(await at().page('/file'), undefined)
  })
})

describe('A download', () => {
  it('ends with its reader, and with an error status, although the source sends nothing more', async () => {
    const at = new Source(base, source.root.token, { ...LIMITS, timeoutMs: 2 ** 31 - 1 })
    for (const size of [1, 1024 * 1024]) {
      const read = async (content: Readable) => {
        for await (const _ of content.iterator({ destroyOnReturn: false })) {
          while (size > 1 && content.readableLength < content.readableHighWaterMark) await setImmediate()
          throw new Error('too large')
        }
      }
      for (const [code, message] of [
        [200, /^Error: too large$/],
        [404, /\/file answered 404$/],
      ] as const) {
        let closed: Promise<unknown> | undefined
        failing = () => (_, res) => {
          closed = once(res, 'close')
          res.writeHead(code).write(Buffer.alloc(size))
        }
        await assert.rejects(at.download('/file', read), message)
        await closed
      }
    }
  })
})

describe('An error of the source', () => {
  it('about the token or a name ends the migration before it copies anything', async () => {
    const renames = new Map([['ann/app', 'renamed']])
    for (const path of [/search\?limit=1$/, /\/users\/root\/tokens/, /\/repos\/ann\/app$/])
      await assert.rejects(migrated(path, 500, { renames }), /answered 500$/, `${path}`)
    assert.equal(await target.allot.hosting.accounts.byName('ann'), undefined)
  })

  it('for the number of pull requests is reported: other issues could get their numbers', async () => {
    const { text } = await migrated(/type=pulls/)
    assert.match(text, /^failed:\n {2}the issues of ann\/app: \S+ answered 500$/m)
  })

  it('for a list that is never copied is listed with it, and the run is complete', async () => {
    const report = await migrated(/app\/milestones/)
    assert.ok(report.isComplete(), report.text)
    assert.match(report.text, /^ {2}milestones: ann\/app \(\S+\/milestones\?state=all\S* answered 500\)$/m)
  })

  it('that is 403 or 404 for such a list says that there is none', async () => {
    for (const code of [403, 404])
      assert.doesNotMatch((await migrated(/milestones/, code)).text, /milestones/)
  })

  it('or a redirect from an id does not say that something was withdrawn or deleted, and is reported', async () => {
    await source.as(source.root, 'DELETE', '/admin/users/gone')
    for (const path of ['/repos/ann/gone', '/repos/ann/app/issues/1'])
      await source.as(source.root, 'DELETE', path)
    const lost = ['the organization acme', 'the repository ann/gone', 'the issues of ann/app']
    for (const [code, more, failed] of [
      [500, '|users/gone', [...lost, 'the account gone']],
      [302, '', lost],
    ] as const) {
      const paths = new RegExp(`/(public_members/ann|repositories/\\d+|issues/1${more})$`)
      const { text } = await migrated(paths, code)
      for (const what of failed)
        assert.match(text, new RegExp(`^failed:\n(?: {2}.*\n)* {2}${what}: \\S+ answered ${code}$`, 'm'))
      assert.doesNotMatch(text, /^removed.*:\n(?: {2}.*\n)* {2}(public memberships|issues):/m)
    }
  })
})
