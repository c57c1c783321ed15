import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { register } from 'prom-client'
import { measureListener } from '../../bin/metrics/index.ts'
import { withRequestLog } from '../../bin/server/listeners.ts'
import { memory } from '../../drivers/memory/index.ts'
import { type OpenAllot, openAllot } from '../../lib/allot.ts'
import { streamRoutesFor } from '../../lib/api/index.ts'
import type { Log } from '../../lib/http/index.ts'
import { type StorageDriver, StorageError } from '../../lib/storage/index.ts'
import { loginRoutes, pageRoutes } from '../../lib/web/page-routes.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { listen } from '../support/listen.ts'
import { createSender } from '../support/request.ts'
import { waitFor } from '../support/wait-for.ts'
import { allot as commandLine, served } from './in-process.ts'
import { type Served, served as servedApart } from './program.ts'

const operations = fileURLToPath(new URL('../../docs/operations.md', import.meta.url))
const dashboard = fileURLToPath(new URL('../../examples/grafana-dashboard.json', import.meta.url))

/** The value of a sample, by its name and labels as they are written. */
const sample = (text: string, name: string): number | undefined => {
  const line = text.split('\n').find((one) => one.startsWith(`${name} `))
  return line === undefined ? undefined : Number(line.slice(name.length + 1))
}

const silent: Log = { error: () => undefined, info: () => undefined }

const listening = async (allot: OpenAllot, log = silent) => {
  const options = { readers: 'loopback', log } as const
  const { origin, ...server } = await listen(
    await measureListener(allot, allot.listener({ pages: '/' }), options),
  )
  const stop = async () => {
    await server.stop()
    await allot.close()
  }
  return { origin, stop }
}

describe('/-/metrics', () => {
  let allot: OpenAllot
  let origin: string
  let stop: () => Promise<void>
  let token: string
  const secrets: Record<string, string> = {}
  const read = async (headers: Record<string, string> = {}, path = '/-/metrics') => {
    const answer = await fetch(origin + path, { headers })
    return { status: answer.status, headers: answer.headers, text: await answer.text() }
  }
  const asAdmin = () => read({ authorization: `Bearer ${token}` })

  before(async () => {
    register.clear()
    allot = await openAllot({ driver: memory(), data: temporaryDirectory() })
    ;({ origin, stop } = await listening(allot))
    const { accounts, tokens } = allot.hosting
    const root = await accounts.createUser({ name: 'root', admin: true, password: 'very secret words' })
    const bob = await accounts.createUser({ name: 'bob' })
    token = (await tokens.create(root.id, 'all', ['all'])).secret
    secrets['a user who is not an administrator'] = (await tokens.create(bob.id, 'all', ['all'])).secret
    secrets['a token without the scope'] = (await tokens.create(root.id, 'narrow', ['read:user'])).secret
  })
  after(() => stop())

  it('answers administrators, and with `loopback` also requests from this machine', async () => {
    assert.equal((await read()).status, 200)
    const forwarded = await read({ 'x-forwarded-for': '192.0.2.1' })
    assert.deepEqual(
      [forwarded.status, forwarded.headers.get('www-authenticate')],
      [401, 'Bearer realm="metrics"'],
    )
    for (const header of ['x-forwarded-proto', 'x-forwarded-host', 'via'])
      assert.equal((await read({ [header]: 'https' })).status, 401, header)
    assert.equal((await read({ authorization: 'Bearer wrong' })).status, 401)
    for (const [what, secret] of Object.entries(secrets))
      assert.equal((await read({ authorization: `token ${secret}` })).status, 403, what)
    const { status, headers } = await asAdmin()
    assert.deepEqual([status, headers.get('content-type')], [200, 'text/plain; version=0.0.4; charset=utf-8'])
    assert.equal((await fetch(`${origin}/-/metrics`, { method: 'POST' })).status, 405)
  })

  it('counts requests by route and status, with one label for each route', async () => {
    const ask = createSender(`${origin}/api/v1`)
    for (let times = 0; times < 3; times++) await ask('GET', '/user/quota', { token })
    await ask('GET', '/users/nobody', { token })
    await ask('GET', '/users/somebody', { token })
    for (const path of ['/api/v1/none', '/wp-login.php', '/-/other']) await fetch(origin + path)
    await fetch(`${origin}/root/demo.git/info/refs?service=git-upload-pack`)
    const { text } = await asAdmin()
    const counted = (method: string, route: string, status: number) =>
      sample(
        text,
        `allot_http_request_duration_seconds_count{method="${method}",route="${route}",status="${status}"}`,
      )
    assert.equal(counted('GET', '/user/quota', 200), 3)
    assert.equal(counted('GET', '/users/{username}', 404), 2)
    assert.equal(counted('GET', 'none', 404), 1)
    assert.equal(counted('GET', 'pages', 404), 2, 'the page of an account, and that of a repository')
    assert.equal(counted('GET', '/{owner}/{repo}/info/refs', 401), 1)
    assert.equal(sample(text, 'allot_http_requests_in_flight'), 1, 'the one that asks')
    assert.ok(!/nobody|wp-login|demo/.test(text))
  })

  it('counts requests for streams by their declared paths', async () => {
    const served = { git: true, contents: true, lfs: true, packages: true, issues: true }
    const streams = streamRoutesFor(served)
    assert.ok(streams.length > 10)
    const counts = async () => {
      const { text } = await asAdmin()
      const found = text.matchAll(
        /duration_seconds_count\{method="(\w+)",route="(.+?)",status="\d+"\} (\d+)/g,
      )
      const sums = new Map<string, number>()
      for (const [, method, route, count] of found)
        sums.set(`${method} ${route}`, (sums.get(`${method} ${route}`) ?? 0) + Number(count))
      return sums
    }
    const before = await counts()
    for (const { method, path } of streams) {
      const url = path.replace('{uuid}', randomUUID()).replaceAll(/\{(\w+)\}/g, '$1')
      await (await fetch(origin + url, { method })).text()
    }
    const after = await counts()
    for (const { method, path } of streams) {
      const label = `${method} ${path}`
      assert.equal(after.get(label), (before.get(label) ?? 0) + 1, label)
    }
  })

  it('counts every page under the label of pages', async () => {
    const count = async () => {
      const { text } = await asAdmin()
      const counts = [
        ...text.matchAll(/duration_seconds_count\{method="\w+",route="(\w+)",status="\d+"\} (\d+)/g),
      ]
      const of = (route: string) =>
        counts.filter(([, one]) => one === route).reduce((sum, [, , number]) => sum + Number(number), 0)
      return [of('pages'), of('none')] as const
    }
    const [pages, none] = await count()
    const paths = [...pageRoutes, ...loginRoutes].map(({ path }) => path.replaceAll(/\{(\w+)\}/g, '$1'))
    for (const path of paths) await (await fetch(origin + path, { redirect: 'manual' })).text()
    assert.deepEqual(await count(), [pages + paths.length, none])
  })

  it('counts unknown methods under one label', async () => {
    const { port } = new URL(origin)
    const socket = connect(Number(port), '127.0.0.1')
    socket.end('PROPFIND /api/v1/user HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n').resume()
    await new Promise((resolve) => socket.once('close', resolve))
    assert.match((await asAdmin()).text, /method="other",route="none"/)
  })

  it('measures the store, the caches, the accounts and quota events', async () => {
    const ask = createSender(`${origin}/api/v1`)
    await ask('GET', '/user/quota', { token })
    await allot.quota.info('root')
    const first = (await asAdmin()).text
    const readsKept = 'allot_cache_requests_total{cache="reads",outcome="hit"}'
    await ask('GET', '/user/quota', { token })
    await allot.quota.info('root')
    await allot.quota.rules.create({ name: 'small', limit: 10, subjects: ['size:all'] })
    await allot.quota.groups.create({ name: 'small', rules: [{ name: 'small' }] })
    await allot.quota.groups.assign('root', 'small')
    const crossed = new Promise((resolve) => allot.on('quota', resolve))
    await allot.ledger.put({
      kind: 'packages',
      key: 'p',
      owner: 'root',
      name: 'p',
      type: 'npm',
      version: '1',
      size: 20,
    })
    await crossed
    const { text } = await asAdmin()
    assert.equal(sample(text, 'allot_quota_events_total{at="limit",direction="up"}'), 1)
    assert.ok(sample(text, readsKept)! > sample(first, readsKept)!)
    assert.ok(sample(text, 'allot_cache_entries{cache="reads"}')! > 0)
    assert.equal(sample(text, 'allot_accounts{kind="user"}'), 2)
    assert.equal(sample(text, 'allot_store_operations_in_flight{operation="write"}'), 0)
    assert.ok(sample(text, 'allot_store_operation_duration_seconds_count{operation="write"}')! > 3)
    assert.match(text, /^process_resident_memory_bytes \d+/m)
    assert.ok(!text.includes(token))
  })
})

describe('/-/metrics during an outage of the database', () => {
  const outages = {
    'rejects reads': () => Promise.reject(new StorageError('away', 'the database cannot be reached')),
    'does not reply': () => new Promise<never>(() => undefined),
  }
  let outage: (() => Promise<never>) | undefined
  const logged: string[] = []
  const log: Log = { ...silent, error: (_fields, message) => void logged.push(message) }
  let origin: string
  let stop: () => Promise<void>
  let secret: string
  const read = async (headers: Record<string, string> = {}) => {
    const answer = await fetch(`${origin}/-/metrics`, { headers })
    return { status: answer.status, text: await answer.text() }
  }

  before(async () => {
    register.clear()
    const store = memory()
    const driver: StorageDriver = {
      ...store,
      read: (body) => outage?.() ?? store.read(body),
    }
    const allot = await openAllot({ driver, repositories: false, log })
    ;({ origin, stop } = await listening(allot, log))
    const { id } = await allot.hosting.accounts.createUser({ name: 'root', admin: true })
    secret = (await allot.hosting.tokens.create(id, 'all', ['all'])).secret
  })
  after(() => stop())

  for (const [what, fail] of Object.entries(outages))
    it(`answers without the number of accounts when the database ${what}`, async () => {
      outage = fail
      for (let times = 0; times < 2; times++) {
        const { status, text } = await read()
        assert.deepEqual([status, /^allot_(?:accounts|bytes|owners)\{/m.test(text)], [200, false])
        assert.match(text, /^allot_build_info\{/m)
      }
      outage = undefined
      assert.equal(sample((await read()).text, 'allot_accounts{kind="user"}'), 1)
    })

  it('counts the failures and logs the first one', async () => {
    assert.ok(sample((await read()).text, 'allot_store_failures_total{operation="read",reason="away"}')! > 0)
    assert.deepEqual(logged, ['the accounts could not be counted for the metrics'])
  })

  it('answers 503 when a token cannot be checked, and logs why', async () => {
    const asAdmin = () => read({ authorization: `Bearer ${secret}` })
    outage = outages['rejects reads']
    assert.deepEqual(await asAdmin(), { status: 503, text: 'the store does not answer\n' })
    outage = () => Promise.reject(new Error('inside'))
    const { status, text } = await asAdmin()
    assert.deepEqual([status, text], [503, 'the server could not read the metrics: its log has the reason\n'])
    outage = undefined
    assert.deepEqual(logged.slice(1), Array(2).fill('the metrics could not be read'))
  })
})

describe('The dashboard', () => {
  it('names only metrics that exist', async () => {
    register.clear()
    const allot = await openAllot({ driver: memory(), repositories: false })
    const { origin, stop } = await listening(allot)
    try {
      const text = await (await fetch(`${origin}/-/metrics`)).text()
      const known = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].flatMap(([, name, type]) =>
        type === 'histogram' ? ['bucket', 'sum', 'count'].map((part) => `${name}_${part}`) : [name!],
      )
      const { panels } = JSON.parse(readFileSync(dashboard, 'utf8')) as {
        panels: { targets: { expr: string }[] }[]
      }
      const asked = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))
      const names = asked.flatMap((expr) => expr.match(/\b(?:allot|process|nodejs)_\w+/g) ?? [])
      assert.ok(names.length >= panels.length)
      for (const name of names) assert.ok(known.includes(name), `there is no metric ${name}`)
      const own = known.filter((name) => name.startsWith('allot_') && !name.endsWith('_sum'))
      for (const name of own) assert.ok(names.includes(name), `${name} is shown nowhere`)
    } finally {
      await stop()
    }
  })
})

describe('The documentation', () => {
  it('describes every metric by its help text', async () => {
    register.clear()
    const allot = await openAllot({ driver: memory(), data: temporaryDirectory(), ssh: { port: 2222 } })
    await measureListener(allot, allot.handler, { readers: 'loopback', log: silent })
    const rows = readFileSync(operations, 'utf8').match(/^\| `allot_.*/gm)!
    const expected = (await register.getMetricsAsJSON())
      .filter(({ name }) => name.startsWith('allot_'))
      .map(({ name, help }) => `| \`${name}\` | ${help} |`)
    for (const row of expected)
      assert.ok(
        rows.some((line) => line.startsWith(row)),
        row,
      )
    assert.equal(rows.length, expected.length)
    await allot.close()
  })
})

describe('The log of the server', () => {
  let server: Served
  let token: string
  const data = temporaryDirectory()
  const lines = () =>
    server
      .printed()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Record<string, unknown>)

  before(async () => {
    const words = ['user', 'add', 'ci', '--admin', '--password', 'open sesame 1', '--token', '--data', data]
    token = (await commandLine(words)).out.trim()
    const file = join(temporaryDirectory(), 'allot.toml')
    writeFileSync(file, '[server]\nmetrics = "token"\nlog = "requests"\n[api]\ntrusted_proxies = 1\n')
    server = await servedApart(['--data', data, '--config', file])
  })

  it('has a line for each request with its id, which the client may choose and the response repeats', async () => {
    const asked = async (id?: string) => {
      // The first address could be made up by the client, and the trusted proxy has added the last one.
      const forwarded = { 'x-forwarded-for': '192.0.2.1, 198.51.100.7' }
      const headers: Record<string, string> =
        id === undefined ? forwarded : { ...forwarded, 'x-request-id': id }
      const answer = await fetch(`${server.api}/users/ci?page=1`, { headers })
      return answer.headers.get('x-request-id')!
    }
    assert.equal(await asked('trace-1:2.3'), 'trace-1:2.3')
    const made = await Promise.all([asked(), asked('a b'), asked('x'.repeat(129)), asked('"}{')])
    for (const id of made) assert.match(id, /^[\da-f]{8}-[\da-f-]{27}$/)
    await waitFor(() => lines().length >= 5)
    const line = lines().find(({ requestId }) => requestId === 'trace-1:2.3')!
    const { method, path, status, from, msg, ms } = line
    assert.deepEqual(
      [method, path, status, from, msg],
      ['GET', '/api/v1/users/ci', 200, '198.51.100.7', 'request'],
    )
    assert.ok(typeof ms === 'number' && ms > 0)
  })

  it('names the user of a request of the API and of git, and nobody without one', async () => {
    const origin = new URL(server.api).origin
    const basic = `Basic ${Buffer.from(`ci:${token}`).toString('base64')}`
    const asked: [url: string, authorization: string | undefined, user: string | undefined][] = [
      [`${server.api}/user`, `token ${token}`, 'ci'],
      [`${server.api}/admin/users`, basic, 'ci'],
      [`${server.api}/users/ci`, undefined, undefined],
      [`${server.api}/user`, 'token wrong', undefined],
      [`${origin}/ci/none.git/info/refs?service=git-upload-pack`, basic, 'ci'],
    ]
    for (const [at, [url, authorization]] of asked.entries())
      await fetch(url, { headers: { 'x-request-id': `by-${at}`, ...(authorization && { authorization }) } })
    for (const [at, [url, , user]] of asked.entries()) {
      const line = () => lines().find(({ requestId }) => requestId === `by-${at}`)
      await waitFor(() => line() !== undefined)
      assert.equal(line()!.user, user, url)
    }
  })

  it('logs a failure with the id of its request', async () => {
    const told: Record<string, unknown>[] = []
    const log = {
      error: (fields: object) => void told.push({ ...fields }),
      info: (fields: object) => void told.push({ ...fields }),
    }
    const store = memory()
    let isBroken = false
    const read: typeof store.read = (work) =>
      isBroken ? Promise.reject(new Error('inside')) : store.read(work)
    const allot = await openAllot({ driver: { ...store, read }, repositories: false, log })
    const { origin, stop } = await listen(withRequestLog(log, 0, allot.handler))
    try {
      isBroken = true
      const answer = await fetch(`${origin}/api/v1/users/ci`, { headers: { 'x-request-id': 'of-the-proxy' } })
      assert.deepEqual([answer.status, answer.headers.get('x-request-id')], [500, 'of-the-proxy'])
      assert.match(((await answer.json()) as { message: string }).message, /has it as of-the-proxy$/)
      await waitFor(() => told.length === 2)
      assert.deepEqual(
        told.map(({ requestId }) => requestId),
        ['of-the-proxy', 'of-the-proxy'],
      )
    } finally {
      await stop()
      await allot.close()
    }
  })

  it('contains no token, password, query string or body', async () => {
    const ask = createSender(server.api)
    const password = 'very hidden words'
    await ask('POST', '/admin/users', { token, body: { username: 'eve', password } })
    const { body } = await ask('POST', '/users/eve/tokens', { token, body: { name: 'x', scopes: ['all'] } })
    const basic = (name: string, word: string) => ({
      authorization: `Basic ${Buffer.from(`${name}:${word}`).toString('base64')}`,
    })
    const answers = [
      await ask('GET', '/user', { headers: basic('eve', password) }),
      await ask('GET', '/user', { headers: basic('eve', 'a wrong password') }),
      await ask('GET', '/user', { token: 'f'.repeat(40) }),
      await ask('GET', `/users/eve?token=${body.sha1}`, { token }),
      await ask('POST', '/admin/users', { token, body: { username: 'a b', password: 'another hidden' } }),
    ]
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 401, 401, 200, 422],
    )
    const origin = new URL(server.api).origin
    const git = `/eve/none.git/info/refs?service=git-upload-pack&password=hidden`
    await fetch(origin + git, { headers: basic('eve', password) })
    await waitFor(() => lines().some(({ path }) => path === '/eve/none.git/info/refs'))
    const printed = server.printed()
    for (const secret of [
      token,
      body.sha1,
      password,
      'hidden',
      'wrong password',
      'f'.repeat(40),
      basic('eve', password).authorization.slice(6),
      'authorization',
    ])
      assert.ok(!printed.includes(secret), `${secret} in the log`)
  })

  it('can be combined with metrics that require a token', async () => {
    const url = `${new URL(server.api).origin}/-/metrics`
    assert.equal((await fetch(url)).status, 401)
    const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
    assert.match(await answer.text(), /allot_http_request_duration_seconds_count\{/)
  })

  it('has the paths of requests in absolute form, which the health checks and the metrics answer', async () => {
    const { hostname, port } = new URL(server.api)
    const statusOf = (path: string) =>
      new Promise((resolve) => {
        const headers = {
          authorization: `Bearer ${token}`,
          'x-request-id': `absolute${path.replaceAll('/', '.')}`,
        }
        const target = `http://git.example.org${path}`
        request({ hostname, port, path: target, headers }, ({ statusCode }) => resolve(statusCode)).end()
      })
    const paths = ['/-/healthz', '/-/readyz', '/-/metrics', '/api/v1/version']
    assert.deepEqual(await Promise.all(paths.map(statusOf)), [200, 200, 200, 200])
    const logged = () =>
      lines().flatMap(({ requestId, path }) => (String(requestId).startsWith('absolute.') ? [path] : []))
    await waitFor(() => logged().length === paths.length)
    assert.deepEqual(logged().sort(), [...paths].sort())
  })

  it('is off by default, and so are the metrics', async () => {
    const plain = await served(['--data', temporaryDirectory()])
    const answer = await fetch(`${new URL(plain.api).origin}/-/metrics`)
    assert.deepEqual([answer.status, answer.headers.get('x-request-id')], [404, null])
  })
})
