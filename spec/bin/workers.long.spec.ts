import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { Agent, get } from 'node:http'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { emptyStore } from '../postgres/empty-store.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { lacks } from '../support/requirements.mjs'
import { createSender } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'
import { begin, type Served, served } from './program.ts'
import { stopAmidRequests } from './stopping.ts'

const COUNT = 3

const serving = async (t: TestContext, ...more: string[]): Promise<Served> => {
  const { url, drop } = await emptyStore()
  const server = await served([
    '--workers',
    String(COUNT),
    '--storage',
    url,
    '--data',
    temporaryDirectory(),
    ...more,
  ])
  t.after(async () => {
    await server.stop('SIGTERM')
    await drop()
  })
  return server
}

/** The processes that a process has started. */
const childrenOf = async (pid: number): Promise<number[]> => {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return text.trim().split(' ').filter(Boolean).map(Number)
}

/**
 * What comes of one request on a connection of its own: its status, "reset", or "no response" after a minute.
 */
const outcomeOf = async (url: string): Promise<string> => {
  const asked = get(url, { agent: false, signal: AbortSignal.timeout(60_000) })
  try {
    const [res] = await once(asked, 'response')
    res.resume()
    await once(res, 'end')
    return String(res.statusCode)
  } catch (error) {
    return (error as Error).name === 'AbortError' ? 'no response' : 'reset'
  }
}

const isLinux = process.platform === 'linux'

describe('allot serve --workers', { skip: lacks('PostgreSQL') }, () => {
  it('serves one port with several processes, and creates one administrator', async (t) => {
    const server = await serving(t)
    assert.match(server.printed(), new RegExp(`, by ${COUNT} workers$`, 'm'))
    const tokens = [...server.printed().matchAll(/^ {2}([0-9a-f]{40})$/gm)].map(([, one]) => one!)
    assert.equal(tokens.length, 1)
    const ask = createSender(server.api)
    const [token] = tokens
    assert.equal((await ask('POST', '/user/repos', { token: token!, body: { name: 'demo' } })).status, 201)
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => ask('GET', '/repos/root/demo', { token: token! })),
    )
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
    assert.equal(await server.stop(), 0)
    assert.equal((await ask('GET', '/version').catch(() => 'refused')) as string, 'refused')
  })

  it('lets all of them serve the free port that --port 0 picks', async (t) => {
    const file = join(temporaryDirectory(), 'allot.toml')
    writeFileSync(file, '[server]\nlog = "requests"\n')
    const server = await serving(t, '--config', file)
    const ask = createSender(server.api)
    const workers = () =>
      new Set([...server.printed().matchAll(/"worker":(\d),"requestId"/g)].map(([, n]) => n))
    await waitFor(async () => {
      await ask('GET', '/version', { headers: { connection: 'close' } })
      return workers().size === COUNT
    })
    assert.doesNotMatch(server.printed(), /is restarted/)
  })

  it('answers with the metrics of all workers, whichever worker is asked', async (t) => {
    const file = join(temporaryDirectory(), 'allot.toml')
    writeFileSync(file, '[server]\nmetrics = "token"\n')
    const server = await serving(t, '--config', file)
    const [, token] = /^ {2}([0-9a-f]{40})$/m.exec(server.printed())!
    const { origin } = new URL(server.api)
    const read = (path: string) =>
      fetch(origin + path, { headers: { authorization: `token ${token}`, connection: 'close' } })
    await waitFor(async () => (await childrenOf(server.child.pid!)).length >= COUNT)
    for (let times = 0; times < 12; times++) assert.equal((await read('/api/v1/user/quota')).status, 200)
    for (let times = 0; times < 4; times++) {
      const text = await (await read('/-/metrics')).text()
      assert.match(text, /allot_http_request_duration_seconds_count\{[^}]*route="\/user\/quota"[^}]*\} 12$/m)
      assert.match(text, /^allot_accounts\{kind="user"\} 1$/m)
    }
  })

  it('counts a worker that does not answer with its last metrics, so that no sum falls', {
    skip: !isLinux,
  }, async (t) => {
    const file = join(temporaryDirectory(), 'allot.toml')
    writeFileSync(file, '[server]\nmetrics = "loopback"\n')
    const server = await serving(t, '--config', file)
    const { origin } = new URL(server.api)
    await waitFor(async () => (await childrenOf(server.child.pid!)).length >= COUNT)
    const read = async (path: string) => {
      const signal = AbortSignal.timeout(10_000)
      return (await fetch(origin + path, { headers: { connection: 'close' }, signal })).text()
    }
    for (let times = 0; times < 12; times++) await read('/api/v1/users/root')
    const isComplete = async () => {
      const text = await read('/-/metrics').catch(() => '')
      return /duration_seconds_count\{[^}]*route="\/users\/\{username\}"[^}]*\} 12$/m.test(text)
    }
    await waitFor(isComplete)
    const [victim] = await childrenOf(server.child.pid!)
    process.kill(victim!, 'SIGSTOP')
    const outcomes: boolean[] = []
    try {
      // The first request may be given to the worker that is stopped.
      for (let times = 0; times < 3; times++) outcomes.push(await isComplete())
    } finally {
      process.kill(victim!, 'SIGCONT')
    }
    assert.ok(outcomes.filter(Boolean).length >= 2, String(outcomes))
  })

  it('replaces a worker that is killed, logs which, and continues to answer', {
    skip: !isLinux,
  }, async (t) => {
    const server = await serving(t)
    await waitFor(async () => (await childrenOf(server.child.pid!)).length >= COUNT)
    const [victim] = await childrenOf(server.child.pid!)
    process.kill(victim!, 'SIGKILL')
    await waitFor(() => /worker \d ended with SIGKILL; it is restarted in 200 ms/.test(server.printed()))
    await waitFor(async () => {
      const now = await childrenOf(server.child.pid!)
      return now.length >= COUNT && !now.includes(victim!)
    })
    const answers = async () => (await createSender(server.api)('GET', '/version')).status === 200
    await waitFor(() => answers().catch(() => false))
  })

  it('leaves no connection open without a response when workers are killed', {
    skip: !isLinux,
  }, async (t) => {
    const server = await serving(t)
    await waitFor(async () => (await childrenOf(server.child.pid!)).length >= COUNT)
    const outcomes: string[] = []
    let isOver = false
    const client = async () => {
      while (!isOver) outcomes.push(await outcomeOf(`${server.api}/version`))
    }
    t.after(() => {
      isOver = true
    })
    const clients = Array.from({ length: 30 }, client)
    for (let kills = 0; kills < 4; kills++) {
      const [victim] = await childrenOf(server.child.pid!)
      await waitFor(() => outcomes.includes('200'))
      process.kill(victim!, 'SIGKILL')
      await waitFor(async () => !(await childrenOf(server.child.pid!)).includes(victim!))
    }
    isOver = true
    await Promise.all(clients)
    assert.ok(!outcomes.includes('no response'))
  })

  it('answers requests in flight when it is stopped, and exits with 0', async (t) => {
    const server = await serving(t)
    const agent = new Agent({ keepAlive: true })
    t.after(() => agent.destroy())
    const { port } = new URL(server.api)
    await stopAmidRequests(server, 12, async () => {
      const [res] = await once(
        get({ host: '127.0.0.1', port, path: '/api/v1/users/root', agent }),
        'response',
      )
      res.resume()
      await once(res, 'end')
      return { status: res.statusCode, headers: res.headers }
    })
  })

  it('ends the workers when the supervisor is killed', { skip: !isLinux }, async (t) => {
    const { url, drop } = await emptyStore()
    const child = begin([
      'serve',
      '--port',
      '0',
      '--workers',
      '2',
      '--storage',
      url,
      '--data',
      temporaryDirectory(),
    ])
    const ended = once(child, 'exit')
    t.after(drop)
    let printed = ''
    child.stdout!.on('data', (chunk) => {
      printed += chunk
    })
    await waitFor(() => /by 2 workers/.test(printed))
    const workers = await childrenOf(child.pid!)
    child.kill('SIGKILL')
    await ended
    await waitFor(() => workers.every((pid) => !isThere(pid)))
  })
})

const isThere = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
