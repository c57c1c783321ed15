import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { before, describe, it } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import * as v from 'valibot'

import { connectSource } from '../../bin/migrate/connect.ts'
import { Source } from '../../bin/migrate/source.ts'
import { LIMITS, readPages } from '../../bin/migrate/source-requests.ts'
import { atEnd } from '../support/cleanup.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { startBefore } from '../support/test-server.ts'
import { command } from './command.ts'
import { type Replay, replay } from './replay.ts'
import { startTarget, type Target } from './two.ts'

let target: Target
const source = startBefore({ dialect: 'forgejo' })
before(async () => {
  await source.person('ann')
  target = await startTarget({ git: false })
})

/** Two servers, the port of the second of which begins with that of the first. */
const neighbours = async (listener: (port: number) => RequestListener) => {
  for (let port = 2000; ; port++) {
    const servers = [port, 10 * port].map((one) => createServer(listener(one)).listen(one, '127.0.0.1'))
    const begun = await Promise.allSettled(servers.map((server) => once(server, 'listening')))
    if (begun.every(({ status }) => status === 'fulfilled')) {
      for (const server of servers)
        atEnd(() => {
          server.closeAllConnections()
          server.close()
        })
      return port
    }
    for (const server of servers) server.close()
  }
}

it('Credentials are sent to no other server than the source, whatever path a response names', async () => {
  const asked: unknown[] = []
  const port = await neighbours((one) => (req, res) => {
    asked.push([one, req.url, req.headers.authorization])
    res.end('content')
  })
  const at = new Source(`http://127.0.0.1:${port}`, 'secret', LIMITS)
  for (const href of ['x:0/a', `x:@127.0.0.1:${10 * port}/a`, 'x:.example/a', 'x:a']) {
    await assert.rejects(at.download(new URL(href).pathname, buffer), /which does not begin with a slash$/)
    await assert.rejects(at.askLfs(new URL(href).pathname, {}), /which does not begin with a slash$/)
  }
  assert.equal(String(await at.download('/a', buffer)), 'content')
  assert.deepEqual(asked, [[port, '/a', at.authorization]])
})

const AnyItem = v.unknown()

type Answer = (req: IncomingMessage, res: ServerResponse) => void

/**
 * The source, with an answer of its own for one path; requests for the first item only are left to the
 * source.
 */
const withAnswer = (path: string, answer: Answer): Promise<Replay> =>
  replay({}, (req, res) => {
    const { pathname, searchParams } = new URL(req.url!, 'http://localhost')
    if (pathname !== path || searchParams.get('limit') === '1') return source.allot.handler(req, res)
    answer(req, res)
  })

const json = (res: ServerResponse, value: unknown, headers: Record<string, string> = {}) =>
  res.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value))

const pageIn = (req: IncomingMessage) =>
  Number(new URL(req.url!, 'http://localhost').searchParams.get('page'))

const USERS = '/api/v1/admin/users'

describe('A list of the source', () => {
  it('without an end fails the migration, and nothing is copied', async () => {
    const endless = await withAnswer(USERS, (req, res) =>
      json(res, [{ id: pageIn(req), login: `u${pageIn(req)}` }]),
    )
    const at = await connectSource(endless.base, source.root.token, { ...LIMITS, maxPages: 40 })
    await assert.rejects(
      at.list(AnyItem, '/admin/users'),
      /^Error: the list \/admin\/users of the source does not end: it has more than 40 pages$/,
    )
    endless.stop()
  })

  it('that begins again fails the migration at the first page that comes again', async () => {
    let asked = 0
    const circling = await withAnswer(USERS, (req, res) => {
      asked++
      json(res, [{ id: pageIn(req) % 2 }])
    })
    const at = await connectSource(circling.base, source.root.token)
    await assert.rejects(
      at.list(AnyItem, '/admin/users'),
      /^Error: the list \/admin\/users of the source does not end: its page 3 is page 1 again$/,
    )
    assert.equal(asked, 3)
    circling.stop()
  })

  it('has the items that follow pages without any, as where items are hidden', async () => {
    const pages: unknown[][] = [[1, 2], [], [], [3, 4]]
    const hidden = await withAnswer(USERS, (req, res) =>
      json(res, pages[pageIn(req) - 1] ?? [], { 'x-total-count': '200' }),
    )
    const at = await connectSource(hidden.base, source.root.token)
    assert.deepEqual(await at.list(AnyItem, '/admin/users'), [1, 2, 3, 4])
    hidden.stop()
  })

  it('is read to its end, whatever pages and totals the server sends', async () => {
    const total = fc.option(fc.constantFrom('0', '7', '1e15', '-1', 'many', '9'.repeat(30)), {
      nil: undefined,
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.nat(5), { maxLength: 3 }), { minLength: 1, maxLength: 6 }),
        total,
        async (pages, total) => {
          let asked = 0
          const items: number[] = []
          const headers = new Headers(total === undefined ? {} : { 'x-total-count': total })
          const ask = async () => ({
            ...{ status: 200, headers },
            text: JSON.stringify(pages[asked++ % pages.length]),
          })
          try {
            for await (const item of readPages<number>('/x', ask, JSON.parse, { maxPages: 50 }))
              items.push(item)
            const sent = Array.from({ length: asked }, (_, index) => pages[index % pages.length]!)
            const last = sent.at(-1)!
            const isRepeated = last.length > 0 && isDeepStrictEqual(last, sent.at(-2))
            assert.deepEqual(items, (isRepeated ? sent.slice(0, -1) : sent).flat())
            // It ends with what a list without pages repeats, with the total, or with an empty page.
            const hasAll = items.length >= Number(total ?? Number.NaN)
            const isPast = last.length === 0 && !(asked * 50 < Number(total ?? Number.NaN))
            assert.ok(isRepeated || hasAll || isPast)
          } catch (error) {
            assert.match((error as Error).message, /does not end/)
          }
          assert.ok(asked <= 50)
        },
      ),
    )
  })
})

describe('A response of the source', () => {
  it('that is larger than the limit fails the migration, compressed or not', async () => {
    const bytes = Buffer.alloc(4 * 1024 * 1024, '[')
    const bodies: Answer[] = [
      (_, res) => res.end(bytes),
      (_, res) => res.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(bytes)),
    ]
    for (const answer of bodies) {
      const large = await withAnswer(USERS, answer)
      const at = await connectSource(large.base, source.root.token, { ...LIMITS, maxBytes: 1024 * 1024 })
      await assert.rejects(
        at.get(AnyItem, '/admin/users'),
        /\/admin\/users answered more than 1048576 bytes$/,
      )
      large.stop()
    }
  })

  it('that is too slow fails the migration, even while bytes keep arriving', async () => {
    const slow = await withAnswer(USERS, (_, res) => {
      const timer = setInterval(() => res.write(' '), 10)
      res.once('close', () => clearInterval(timer))
    })
    const at = new Source(slow.base, source.root.token, { ...LIMITS, timeoutMs: 200 })
    await assert.rejects(at.get(AnyItem, '/admin/users'), /\/admin\/users did not answer within 0\.2 s$/)
    slow.stop()
  })

  it('that redirects to another address is not followed, and the token does not reach that address', async () => {
    const seen: (string | undefined)[] = []
    const elsewhere = await replay({}, (req, res) => {
      seen.push(req.headers.authorization)
      json(res, [])
    })
    const redirecting = await withAnswer(USERS, (req, res) =>
      res.writeHead(302, { location: elsewhere.base + req.url! }).end(),
    )
    await assert.rejects(
      target.from({ base: redirecting.base, root: source.root }),
      /\/admin\/users answered 302$/,
    )
    assert.deepEqual(seen, [])
    redirecting.stop()
    elsewhere.stop()
  })
})

describe('Text from the source', () => {
  it('is printed without control characters', async () => {
    const controls = '\u001b]0;title\u0007\u001b[31mred\u009b2J\u202e\r'
    const printed: string[] = []
    const answers: Record<string, Answer> = {
      [USERS]: (_, res) => res.writeHead(500).end(JSON.stringify({ message: `broken ${controls}` })),
      '/api/v1/users/ann/repos': (_, res) => {
        const name = `one${controls}`
        const record = { id: 1, name, full_name: `ann/${name}`, owner: { login: 'ann' }, private: true }
        json(res, [record], { 'x-total-count': '1' })
      },
      '/api/v1/users/ann/keys': (_, res) =>
        json(res, [{ key: 'ssh-rsa AAAA', title: controls }], { 'x-total-count': '1' }),
    }
    for (const [path, answer] of Object.entries(answers)) {
      const odd = await withAnswer(path, answer)
      const words = ['migrate', '--from', odd.base, '--data', temporaryDirectory()]
      const { out, err } = await command(words, { env: { ALLOT_FROM_TOKEN: source.root.token } })
      printed.push(out, err)
      odd.stop()
    }
    const text = printed.join('')
    assert.match(text, /red/)
    assert.doesNotMatch(text, /[^\n\P{Cc}]|\p{Cf}/u)
  })
})
