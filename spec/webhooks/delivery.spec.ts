import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { before, describe, it, type TestContext } from 'node:test'
import { atEnd } from '../support/cleanup.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { stopClockOf, stopTimers } from '../support/stopped-timers.ts'
import { type Person, start, type TestServer } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'

let allot: TestServer
let receiver: Receiver
let alice: Person
/** Milliseconds within which a receiver must answer; as many as possible, so that no test waits for them. */
const TIMEOUT = 60_000
/** Statuses that the receiver answers at a path, before it answers 200. */
const failures = new Map<string, number[]>()
/** Responses that the receiver holds back, of paths that begin with `/slow`. */
const held: ServerResponse[] = []
before(async () => {
  // The longer a look for what is due takes, the later comes the next one: here none takes any time.
  stopClockOf('lib/webhooks/sender')
  receiver = await startReceiver(({ path }, res) => {
    if (path.startsWith('/slow')) return void held.push(res)
    const status = failures.get(path)?.shift() ?? 200
    res.writeHead(status, { location: `${receiver.url}/elsewhere` }).end(`x${'é'.repeat(5000)}`)
  })
  const webhooks = { allowedHosts: ['127.0.0.1'], timeout: TIMEOUT, maxConcurrent: 8, retryFor: 6000 }
  allot = await start({ repositories: false, webhooks })
  alice = await allot.person('alice')
  await allot.as(alice, 'POST', '/user/repos', { name: 'app' })
})

const SECRET = 'between us'

/**
 * Creates a webhook of the repository.
 * @returns its path in the API
 */
const hookTo = async (url: string, more: object = {}, who = alice): Promise<string> => {
  const config = { url, content_type: 'json', secret: SECRET }
  const body = { type: 'gitea', config, events: ['issues'], active: true, ...more }
  const answer = await allot.as(who, 'POST', `/repos/${who.name}/app/hooks`, body)
  assert.equal(answer.status, 201, answer.text)
  return `/repos/${who.name}/app/hooks/${answer.body.id}`
}

const openIssue = (title: string, who = alice) =>
  allot.as(who, 'POST', `/repos/${who.name}/app/issues`, { title })

const deliveryOf = async (hook: string, number = 1) =>
  (await allot.as(alice, 'GET', `${hook}/deliveries/${number}`)).body

/** Stops the clock, and with it the pauses before further attempts, until it is told to tick. */
const stopClock = (test: TestContext) => {
  test.mock.timers.enable({ apis: ['Date'], now: 1000 * Math.ceil(Date.now() / 1000) })
  const passTime = stopTimers(test, 'lib/webhooks/')
  return (milliseconds: number) => {
    test.mock.timers.tick(milliseconds)
    passTime(milliseconds)
  }
}

const attempted = (hook: string, attempts: number) =>
  waitFor(async () => (await deliveryOf(hook)).attempts === attempts)

/** A delivery once it is no longer waiting. */
const finished = async (hook: string, number = 1) => {
  await waitFor(async () => (await deliveryOf(hook, number)).status !== 'waiting')
  return deliveryOf(hook, number)
}

describe('A delivery', () => {
  it('names event and id under the headers of every peer, and is signed with HMAC-SHA256', async () => {
    const hook = await hookTo(`${receiver.url}/signed`, { authorization_header: 'Bearer t' })
    await openIssue('signed')
    const [{ headers, text, body }] = (await receiver.at('/signed', 1)) as [(typeof receiver.received)[0]]
    const signature = createHmac('sha256', SECRET).update(text).digest('hex')
    for (const brand of ['gitea', 'forgejo', 'gogs', 'github']) {
      assert.equal(headers[`x-${brand}-event`], 'issues')
      assert.equal(headers[`x-${brand}-delivery`], (await deliveryOf(hook)).guid)
    }
    for (const brand of ['gitea', 'forgejo', 'gogs']) assert.equal(headers[`x-${brand}-signature`], signature)
    assert.equal(headers['x-hub-signature-256'], `sha256=${signature}`)
    assert.equal(headers.authorization, 'Bearer t')
    assert.equal(body.issue.title, 'signed')
    await allot.as(alice, 'DELETE', hook)
  })

  it('is sent as a form with a payload when the webhook asks for one, signed as Gitea and as GitHub do', async () => {
    const config = { url: `${receiver.url}/form`, content_type: 'form', secret: SECRET }
    const hook = await hookTo('', { config })
    await openIssue('a form & more')
    const [{ headers, text }] = (await receiver.at('/form', 1)) as [(typeof receiver.received)[0]]
    const payload = new URLSearchParams(text).get('payload')!
    const sign = (signed: string) => createHmac('sha256', SECRET).update(signed).digest('hex')
    assert.equal(JSON.parse(payload).issue.title, 'a form & more')
    assert.equal(headers['x-gitea-signature'], sign(payload))
    assert.equal(headers['x-hub-signature-256'], `sha256=${sign(text)}`)
    await allot.as(alice, 'DELETE', hook)
  })

  it('is tried again after one second, then after two, when it fails, and later ones wait for it', async (test) => {
    const tick = stopClock(test)
    failures.set('/retry', [500, 429])
    const hook = await hookTo(`${receiver.url}/retry`)
    for (const title of ['first', 'second', 'third']) await openIssue(title)
    for (const [attempts, pause] of [
      [1, 1000],
      [2, 2000],
    ] as const) {
      await attempted(hook, attempts)
      tick(pause - 1)
      assert.equal((await deliveryOf(hook)).attempts, attempts)
      tick(1)
    }
    const got = await receiver.at('/retry', 5)
    const titles = got.map(({ body }) => body.issue.title)
    assert.deepEqual(titles, ['first', 'first', 'first', 'second', 'third'])
    assert.equal(new Set(got.slice(0, 3).map(({ headers }) => headers['x-gitea-delivery'])).size, 1)
    const { status, attempts, duration, response } = await finished(hook)
    // 4096 bytes, without the character that they would cut.
    assert.deepEqual([status, attempts, response.body], ['delivered', 3, `x${'é'.repeat(2047)}`])
    assert.ok(duration >= 0 && duration < TIMEOUT / 1000)
    await allot.as(alice, 'DELETE', hook)
  })

  it('that failed is tried again after its pause, although the clock is set back by an hour meanwhile', async (test) => {
    const tick = stopClock(test)
    failures.set('/clock', [500, 500])
    const hook = await hookTo(`${receiver.url}/clock`)
    await openIssue('later')
    await attempted(hook, 1)
    const { now } = Date
    test.mock.method(Date, 'now', () => now() - 3600_000)
    tick(1000)
    await attempted(hook, 2)
    tick(2000)
    const { status, attempts } = await finished(hook)
    assert.deepEqual([status, attempts], ['delivered', 3])
    await allot.as(alice, 'DELETE', hook)
  })

  it('fails after `retry_for` with the last error recorded, and the next one is sent', async (test) => {
    const tick = stopClock(test)
    failures.set('/refuses', [400, 302, 404])
    const hook = await hookTo(`${receiver.url}/refuses`)
    for (const title of ['one', 'two']) await openIssue(title)
    for (const [attempts, pause] of [
      [1, 1000],
      [2, 2000],
    ] as const) {
      await attempted(hook, attempts)
      tick(pause)
    }
    const first = await finished(hook)
    assert.deepEqual([first.status, first.attempts, first.error], ['failed', 3, 'the receiver answered 404'])
    assert.equal((await finished(hook, 2)).status, 'delivered')
    assert.deepEqual(await receiver.at('/elsewhere', 0), [])
    await allot.as(alice, 'DELETE', hook)
  })

  it('is sent at once when the webhook is changed or a delivery sent again, whatever the pause', async (test) => {
    stopClock(test)
    failures.set('/wrong', [500])
    const hook = await hookTo(`${receiver.url}/wrong`)
    await openIssue('moved')
    await attempted(hook, 1)
    await allot.as(alice, 'PATCH', hook, { config: { url: `${receiver.url}/right` } })
    const [{ body }] = (await receiver.at('/right', 1)) as [(typeof receiver.received)[0]]
    assert.equal(body.issue.title, 'moved')
    await allot.as(alice, 'DELETE', hook)
  })
})

describe('A receiver that does not answer', () => {
  it('holds up neither other receivers nor requests', async (test) => {
    const bob = await allot.person('bob')
    await allot.as(bob, 'POST', '/user/repos', { name: 'app' })
    const slow: string[] = []
    for (let index = 0; index < 8; index++) slow.push(await hookTo(`${receiver.url}/slow${index}`))
    const other = await startReceiver()
    const fast = await hookTo(`${other.url}/fast`, {}, bob)
    await openIssue('to the slow')
    await waitFor(() => held.length > 0)
    for (let index = 0; index < 5; index++) await openIssue(`fast ${index}`, bob)
    assert.equal((await other.at('/fast', 5)).length, 5)
    for (const hook of slow) assert.equal((await deliveryOf(hook)).attempts, 0)
    assert.ok(held.every(({ closed }) => !closed))
    const release = setInterval(() => held.splice(0).forEach((res) => void res.end()), 20)
    test.after(() => clearInterval(release))
    for (const hook of slow) assert.equal((await finished(hook)).status, 'delivered')
    for (const hook of slow) await allot.as(alice, 'DELETE', hook)
    await allot.as(bob, 'DELETE', fast)
  })
})

describe('A receiver that does not answer in time', () => {
  it('has failed an attempt', async () => {
    const webhooks = { allowedHosts: ['127.0.0.1'], timeout: 100 }
    const hasty = await start({ repositories: false, webhooks })
    const body = { type: 'gitea', config: { url: `${receiver.url}/slow` }, active: true }
    const { id } = (await hasty.as(hasty.root, 'POST', '/user/hooks', body)).body
    await hasty.as(hasty.root, 'POST', `/user/hooks/${id}/tests`)
    const { status_code, error } = await onceAttempted(hasty, `/user/hooks/${id}/deliveries/1`)
    assert.deepEqual([status_code, error], [0, 'the receiver has not answered within 100 ms'])
  })
})

describe('A receiver whose answer is not complete', () => {
  for (const [what, end] of [
    ['lasts longer than the timeout', () => undefined],
    ['breaks off', (res: ServerResponse) => void res.destroy()],
  ] as const)
    it(`has answered with its status when the answer ${what}`, async () => {
      const cut = await startReceiver((_, res) => {
        res.writeHead(202).write('begun', () => end(res))
      })
      const hasty = await start({
        repositories: false,
        webhooks: { allowedHosts: ['127.0.0.1'], timeout: 1000 },
      })
      const body = { type: 'gitea', config: { url: cut.url }, active: true }
      const { id } = (await hasty.as(hasty.root, 'POST', '/user/hooks', body)).body
      await hasty.as(hasty.root, 'POST', `/user/hooks/${id}/tests`)
      const path = `/user/hooks/${id}/deliveries/1`
      const delivery = async () => (await hasty.as(hasty.root, 'GET', path)).body
      // On a busy machine, the first attempt may end before it has a status.
      await waitFor(async () => (await delivery()).status === 'delivered')
      const { status, status_code, response } = await delivery()
      assert.deepEqual([status, status_code, response.body], ['delivered', 202, 'begun'])
    })
})

describe('A receiver that switches protocols', () => {
  it('has answered 101, which ends the attempt', async () => {
    const switching = createServer((socket) => {
      socket.on('error', () => undefined)
      const head = 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n'
      socket.once('data', () => socket.write(head))
    })
    await new Promise<void>((resolve) => switching.listen(0, '127.0.0.1', resolve))
    atEnd(() => switching.close())
    const hook = await hookTo(`http://127.0.0.1:${(switching.address() as AddressInfo).port}/`)
    await openIssue('switched')
    const { status_code, error } = await onceAttempted(allot, `${hook}/deliveries/1`)
    assert.deepEqual([status_code, error], [101, 'the receiver answered 101'])
    await allot.as(alice, 'DELETE', hook)
  })
})

/** A delivery of root's, or of alice's on the server of this spec, once it was attempted. */
const onceAttempted = async (server: TestServer, path: string) => {
  const who = server === allot ? alice : server.root
  const delivery = async () => (await server.as(who, 'GET', path)).body
  await waitFor(async () => (await delivery()).attempts > 0)
  return delivery()
}

describe('An address that is not public', () => {
  it('is not named to the owner of a webhook whose receiver takes no connection', async () => {
    const strict = await start({ repositories: false, webhooks: { allowedHosts: ['localhost'] } })
    const unused = createServer().listen(0)
    const { port } = unused.address() as AddressInfo
    await new Promise((resolve) => unused.close(resolve))
    const hook = { type: 'gitea', config: { url: `http://localhost:${port}/` }, active: true }
    const { body } = await strict.as(strict.root, 'POST', '/user/hooks', hook)
    await strict.as(strict.root, 'POST', `/user/hooks/${body.id}/tests`)
    const { error } = await onceAttempted(strict, `/user/hooks/${body.id}/deliveries/1`)
    assert.equal(error, `cannot connect to localhost:${port}: ECONNREFUSED`)
  })

  it('is refused when a name resolves to it, unless the option allows the name', async () => {
    for (const [allowedHosts, isAllowed] of [
      [[], false],
      [['LOCAL*'], true],
    ] as const) {
      const strict = await start({ repositories: false, webhooks: { allowedHosts: [...allowedHosts] } })
      const config = { url: `${receiver.url.replace('127.0.0.1', 'localhost')}/inside` }
      const { body } = await strict.as(strict.root, 'POST', '/user/hooks', {
        type: 'gitea',
        config,
        active: true,
      })
      await strict.as(strict.root, 'POST', `/user/hooks/${body.id}/tests`)
      const { attempts, status_code, error } = await onceAttempted(
        strict,
        `/user/hooks/${body.id}/deliveries/1`,
      )
      assert.deepEqual([attempts, status_code], [1, isAllowed ? 200 : 0])
      if (!isAllowed)
        assert.match(error, /^localhost does not exist, or its address is not allowed: an administrator can/)
    }
  })
})
