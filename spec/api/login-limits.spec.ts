import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { assertError } from '../support/expectations.ts'
import { hashSlowly } from '../support/hashing.ts'
import { times } from '../support/long.ts'
import { basic, madeBefore, type Person, start } from '../support/test-server.ts'

const PASSWORD = 'open: sesame'
/** So long that no count drains while a busy machine checks the passwords of a test. */
const window = 3_600_000
const login = { failures: 3, failuresFromAddress: 6, failuresForName: 1000, wrongTokens: 6, window }

const allot = madeBefore(() => start({ repositories: false, login, trustedProxies: 1 }))
before(async () => {
  await allot.person('alice', { password: PASSWORD, email: 'alice@example.test' })
  await allot.person('bob', { password: PASSWORD })
})

let addresses = 0
const anAddress = () => `192.0.2.${++addresses}`

const ask = (address: string, headers: Record<string, string>, path = '/user') =>
  allot.request('GET', path, { headers: { ...headers, 'x-forwarded-for': address } })
const signIn = (address: string, name: string, password: string) => ask(address, basic(name, password))
const failing = async (address: string, name: string, times: number) => {
  for (let time = 0; time < times; time++) assertError(await signIn(address, name, `wrong ${time}`), 401)
}

describe('Failed logins', () => {
  it('are answered 429 with Retry-After once there are too many, on every path, even with the right password', async () => {
    const address = anAddress()
    await failing(address, 'alice', 3)
    for (const path of ['/user', '/version', '/no/such/path'])
      for (const password of ['wrong', PASSWORD]) {
        const answer = await ask(address, basic('alice', password), path)
        assertError(answer, 429, /too many failed logins: try again in \d+ seconds/)
        const seconds = Number(answer.headers.get('retry-after'))
        assert.ok(seconds > 0 && seconds <= window / 1000 / login.failures, String(seconds))
      }
  })

  it('get the same answers for an unknown name as for a known one', async () => {
    for (const name of ['alice', 'nobody']) {
      const address = anAddress()
      await failing(address, name, 3)
      assertError(await signIn(address, name, 'wrong'), 429)
    }
  })

  it('sent at once allow no more attempts than sent one after another', async () => {
    const address = anAddress()
    const answers = await Promise.all([...'12345678'].map((one) => signIn(address, 'alice', `wrong ${one}`)))
    const attempts = answers.map(({ status }) => status).filter((status) => status !== 429)
    assert.equal(attempts.length, 3)
    // 503 on a machine that is too busy to check the password of each.
    assert.ok(attempts.every((status) => status === 401 || status === 503))
  })

  it('with tokens are answered 429 too, while a valid token is still accepted', async () => {
    const address = anAddress()
    const { token } = await allot.person()
    const withToken = (text: string) => ask(address, { authorization: `token ${text}` })
    for (const text of ['0'.repeat(40), 'malformed', '1'.repeat(40), '2', '3', '4'])
      assertError(await withToken(text), 401)
    assertError(await withToken('f'.repeat(40)), 429)
    assert.equal((await withToken(token)).status, 200)
    assert.equal((await ask(address, basic('x', token))).status, 200)
    assert.equal((await signIn(address, 'alice', PASSWORD)).status, 200)
  })

  it('are declared as the 429 of every route', async () => {
    const { body } = await allot.request('GET', '/openapi.json')
    for (const path of Object.values(body.paths) as Record<string, { responses: object }>[])
      for (const { responses } of Object.values(path)) assert.ok('429' in responses)
  })
})

describe('Failed logins of git over HTTP', () => {
  it('are counted together with those of the API', async () => {
    const served = await start({ login })
    const url = `${served.base}/root/demo/info/refs?service=git-upload-pack`
    const wrong = async () => fetch(url, { headers: basic('root', 'x') })
    for (let time = 0; time < 2; time++) assert.equal((await wrong()).status, 401)
    assertError(await served.request('GET', '/version', { headers: basic('root', 'y') }), 401)
    const refused = await wrong()
    assert.equal(refused.status, 429)
    assert.ok(Number(refused.headers.get('retry-after')) > 0)
    assert.match(await refused.text(), /too many failed logins/)
  })
})

describe('The address that logins are counted by', () => {
  it('is not taken from X-Forwarded-For unless proxies are trusted', async () => {
    const bare = await start({ repositories: false, login })
    const wrong = (address: string) =>
      bare.request('GET', '/user', { headers: { ...basic('root', 'x'), 'x-forwarded-for': address } })
    for (let time = 0; time < 3; time++) assertError(await wrong(anAddress()), 401)
    assertError(await wrong(anAddress()), 429)
  })

  it('is the one that the host passes with a Request', async () => {
    const bare = await start({ repositories: false, login })
    const request = () => new Request(new URL('/api/v1/user', bare.base), { headers: basic('root', 'x') })
    const ask = async (remoteAddress?: string) =>
      (await bare.allot.fetch(request(), { remoteAddress })).status
    for (let time = 0; time < 3; time++) assert.equal(await ask('192.0.2.1'), 401)
    assert.equal(await ask('192.0.2.1'), 429)
    assert.equal(await ask('192.0.2.2'), 401)
    assert.equal(await ask(), 401)
  })

  it('is none when counting is turned off, or the host authenticates itself', async () => {
    for (const options of [{ login: false as const }, { login, authenticate: () => null }]) {
      const bare = await start({ repositories: false, ...options })
      for (let time = 0; time < 5; time++)
        assertError(await bare.request('GET', '/user', { headers: basic('root', 'x') }), 401)
    }
  })
})

/** Sends requests at once, and counts those without a response. */
const atOnce = <T>(count: number, send: (index: number) => Promise<T>) => {
  let pending = count
  const answers = Array.from({ length: count }, (_, index) => send(index).finally(() => pending--))
  return { answers: Promise.all(answers), pending: () => pending }
}

describe('Passwords', () => {
  // They are asked for in the time that one takes.
  before(hashSlowly)

  const create = (who: Person, username: string) =>
    allot.as(who, 'POST', '/admin/users', { username, password: PASSWORD })

  it('of many accounts that one administrator creates at once wait, and leave a slot to other clients', async () => {
    const other = await allot.person('other-admin', { admin: true })
    const mine = atOnce(20, (index) => create(allot.root, `many${index}`))
    assert.equal((await create(other, 'between')).status, 201)
    assert.ok(mine.pending() > 0)
    assert.equal((await signIn(anAddress(), 'alice', PASSWORD)).status, 200)
    for (const { status } of await mine.answers) assert.equal(status, 201)
  })

  it('of an account whose name is taken are refused without waiting for a slot', async () => {
    const mine = atOnce(times(4, 60), (index) => create(allot.root, `waiting${index}`))
    assertError(await create(allot.root, 'alice'), 422, /alice is already taken/)
    assert.ok(mine.pending() > 0)
    await mine.answers
  })

  it('of concurrent requests for one name create one account', async () => {
    const statuses = (await atOnce(60, () => create(allot.root, 'once')).answers).map(({ status }) => status)
    assert.equal(statuses.filter((status) => status === 201).length, 1)
    assert.ok(statuses.every((status) => [201, 422, 503].includes(status)))
  })

  it('are checked without blocking the event loop', async () => {
    let pending = 0
    const logins = Array.from({ length: 8 }, async (_, at) => {
      pending++
      const answer = await signIn(anAddress(), `name${at}`, 'x')
      pending--
      return answer
    })
    assert.equal((await allot.request('GET', '/version')).status, 200)
    assert.ok(pending > 0, 'the event loop waited for the passwords')
    // A slow machine cannot check all of them before the longest wait of a request.
    const answers = await Promise.all(logins)
    for (const answer of answers) if (answer.status !== 503) assertError(answer, 401)
    assert.ok(answers.some(({ status }) => status === 401))
  })
})
