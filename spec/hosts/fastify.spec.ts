import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import fastify, { type FastifyInstance } from 'fastify'
import { memory } from '../../drivers/memory/index.ts'
import { type AllotFastifyOptions, allotFastify } from '../../lib/fastify.ts'
import { type Allot, createAllot } from '../../lib/index.ts'
import { aCheckout, git, urlFor } from '../git/client.ts'
import { startGit } from '../git/served.ts'
import { stopTimers } from '../support/stopped-timers.ts'
import { start } from '../support/test-server.ts'
import { listenerOf } from './mounts.ts'

const quiet = { error: () => undefined, info: () => undefined }

const openAllot = () => createAllot({ driver: memory(), repositories: false, log: quiet })

/** Mounts Allot in a Fastify application whose body limit is smaller than the bodies of the specs. */
const inFastify =
  (
    options: Omit<AllotFastifyOptions, 'allot'>,
    extend: (app: FastifyInstance) => unknown = () => undefined,
  ) =>
  async (allot: Allot) => {
    const app = fastify({ bodyLimit: 100, handlerTimeout: 60_000 })
    await extend(app)
    await app.register(allotFastify, { allot, ...options })
    await app.ready()
    return { listener: listenerOf(app.server), prefix: options.prefix ?? '', pages: '' }
  }

describe('The Fastify plugin', () => {
  it('streams pushes, clones and packages that are larger than the body limit of Fastify', async () => {
    const allot = await startGit({}, { host: inFastify({ prefix: '/code' }) })
    const alice = await allot.person('alice')
    const path = await allot.repository(alice, 'demo')
    const checkout = await aCheckout({ large: randomBytes(3_000_000) })
    await git(checkout, 'push', '--quiet', urlFor(allot, path, alice), 'main')
    const clone = await aCheckout()
    await git(clone, 'fetch', '--quiet', urlFor(allot, path, alice), 'main')
    assert.equal(await git(clone, 'rev-parse', 'FETCH_HEAD'), await git(checkout, 'rev-parse', 'HEAD'))
    const url = `${allot.base}/api/packages/alice/generic/tool/1.0/tool.json`
    const content = JSON.stringify({ bytes: 'x'.repeat(2_000_000) })
    const headers = { authorization: `token ${alice.token}`, 'content-type': 'application/json' }
    assert.equal((await fetch(url, { method: 'PUT', headers, body: content })).status, 201)
    assert.equal(await (await fetch(url, { headers })).text(), content)
    await allot.assertCounted('alice')
  })

  it('ends an injected request, whose body it does not read, like any other', async (t) => {
    const pass = stopTimers(t, 'lib/http/drain')
    const app = fastify()
    await app.register(allotFastify, { allot: { driver: memory(), repositories: false } })
    const refused = await app.inject({ method: 'POST', url: '/api/v1/orgs', payload: { username: 'acme' } })
    assert.equal(refused.statusCode, 401)
    // After which a client that still sends is disconnected.
    pass(3000)
    await app.close()
  })

  it('leaves the routes, the body parser and the not-found handler of the application as they are', async () => {
    const host = inFastify({ pages: '/storage' }, (app) => {
      app.get('/', async () => 'the application')
      app.post('/echo', async ({ body }) => body)
      app.setNotFoundHandler((_request, reply) => reply.code(404).send('the page of the application'))
    })
    const allot = await start({ repositories: false }, { host })
    const textOf = async (path: string, init?: RequestInit) => (await fetch(allot.base + path, init)).text()
    assert.equal(await textOf('/'), 'the application')
    const json = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"a":1}' }
    assert.equal(await textOf('/echo', json), '{"a":1}')
    assert.equal(await textOf('/nothing'), 'the page of the application')
    // Whether there is an account of this name is known only after reads.
    for (const path of ['/storage/nothing', '/storage/-/nothing', '/storage/nobody/nothing/issues'])
      for (const method of ['GET', 'HEAD']) {
        const missing = await fetch(allot.base + path, { method })
        const page = method === 'GET' ? 'the page of the application' : ''
        assert.deepEqual([missing.status, await missing.text()], [404, page], path)
      }
    const tooLarge = await fetch(`${allot.base}/echo`, { ...json, body: `{"a":"${'x'.repeat(200)}"}` })
    assert.equal(tooLarge.status, 413)
  })

  it('runs the hooks of the application before and after, and sends the headers that they set', async () => {
    const finished: (string | number)[][] = []
    const host = inFastify({ prefix: '/code' }, (app) => {
      app.addHook('onRequest', async ({ headers }, reply) => {
        reply.header('x-host', 'yes')
        if (headers['x-blocked'] !== undefined) return reply.code(429).send('blocked')
        return undefined
      })
      app.addHook('onResponse', async ({ url }, { statusCode }) => void finished.push([url, statusCode]))
    })
    const allot = await start({ repositories: false }, { host })
    const version = `${allot.api}/version`
    const answer = await fetch(version)
    assert.deepEqual([answer.status, answer.headers.get('x-host')], [200, 'yes'])
    const blocked = await fetch(version, { headers: { 'x-blocked': 'yes' } })
    assert.deepEqual([blocked.status, await blocked.text()], [429, 'blocked'])
    assert.deepEqual(finished, [
      ['/code/api/v1/version', 200],
      ['/code/api/v1/version', 429],
    ])
  })

  it('adds the prefix of the context that it is registered in to links and cookies', async () => {
    const allot = await openAllot()
    const app = fastify()
    await app.register(
      async (child) => child.register(allotFastify, { allot, prefix: '/code', pages: '/' }),
      { prefix: '/v2' },
    )
    for (const [url, location] of [
      ['/v2/code', '/v2/code/-/sign-in'],
      ['/v2/code/', '/v2/code/-/sign-in'],
    ] as const)
      assert.equal((await app.inject(url)).headers.location, location)
    await allot.accounts.createUser({ name: 'ann' })
    const { html_url } = (await app.inject('/v2/code/api/v1/users/ann')).json()
    assert.equal(html_url, 'http://localhost:80/v2/code/ann')
    const signIn = await app.inject('/v2/code/-/sign-in')
    assert.match(String(signIn.headers['set-cookie']), /; Path=\/v2\/code; HttpOnly/)
    await app.close()
    await allot.close()
  })

  it('closes Allot with the application only when it has opened it, and keeps it in app.allot', async () => {
    const opening = fastify()
    await opening.register(allotFastify, {
      allot: { driver: memory(), repositories: false, log: quiet },
    })
    await opening.allot.accounts.createUser({ name: 'ann' })
    assert.equal((await opening.inject('/api/v1/users/ann')).statusCode, 200)
    const opened = opening.allot
    await opening.close()
    await assert.rejects(opened.accounts.createUser({ name: 'bob' }), /the store is not open/)

    const allot = await openAllot()
    const given = fastify()
    await given.register(allotFastify, { allot })
    assert.equal(given.allot, allot)
    await given.close()
    await allot.accounts.createUser({ name: 'bob' })
    await allot.close()
  })

  it('rejects wrong options with a sentence that names them', async () => {
    const allot = await openAllot()
    const closed = { driver: memory(), repositories: false, log: quiet } as const
    const wrong: [options: unknown, message: RegExp][] = [
      [undefined, /^allot: pass an Allot, or the options to open one/],
      [{ allot: 'no' }, /^allot: pass an Allot, or the options to open one/],
      [{ allot: { ...closed, nope: 1 } }, /^nope: there is no such option; expected one of: driver, /],
      [{ allot, pages: 'storage' }, /^pages: expected a path such as "\/storage", .*, got "storage"$/],
      [{ allot, pages: '' }, /^pages: .*, got ""$/],
      [{ allot, pages: true }, /^pages: .*, got true$/],
      [{ allot, pages: '/a?b' }, /^pages: .*, got "\/a\?b"$/],
      [{ allot, pages: '/../a' }, /^pages: .*, got "\/\.\.\/a"$/],
      [{ allot, prefix: '/:tenant' }, /^prefix: .*, got "\/:tenant"$/],
    ]
    for (const [options, message] of wrong) {
      const app = fastify()
      await assert.rejects(
        async () => {
          await app.register(allotFastify, options as AllotFastifyOptions)
          await app.ready()
        },
        { message },
      )
      await app.close().catch(() => undefined)
    }
    await allot.close()
  })
})
