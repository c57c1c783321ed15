import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import type { HostIdentity } from '../../lib/index.ts'
import { assertError, assertList, assertSearchError } from '../support/expectations.ts'
import { times } from '../support/long.ts'
import { basic, type Person, start, type TestServer } from '../support/test-server.ts'

let allot: TestServer
let alice: Person
before(async () => {
  allot = await start()
  alice = await allot.person('alice', { password: 'open: sesame', email: 'alice@example.test' })
})
after(() => allot.stop())

const whoami = (authorization: string) => allot.request('GET', '/user', { headers: { authorization } })

describe('Credentials', () => {
  const GOOD: [what: string, header: () => string][] = [
    ['token T', () => `token ${alice.token}`],
    ['Bearer T', () => `Bearer ${alice.token}`],
    ['a scheme in other letters', () => `TOKEN   ${alice.token}`],
    ['Basic with the password', () => basic('alice', 'open: sesame').authorization!],
    ['Basic with the name in other letters', () => basic('ALICE', 'open: sesame').authorization!],
    ['Basic with the email', () => basic('alice@example.test', 'open: sesame').authorization!],
    ['Basic with a token as the password', () => basic('alice', alice.token).authorization!],
    ['Basic with a token as the name', () => basic(alice.token, '').authorization!],
    [
      'Basic with a token as the name and x-oauth-basic',
      () => basic(alice.token, 'x-oauth-basic').authorization!,
    ],
  ]
  for (const [what, header] of GOOD)
    it(`are accepted as ${what}`, async () => {
      assert.equal((await whoami(header())).body?.login, 'alice')
    })

  const BAD: [what: string, header: string][] = [
    ['a token that does not exist', `token ${'0'.repeat(40)}`],
    ['a token in capitals', `token ${'A'.repeat(40)}`],
    ['a token that is too short', 'token abc'],
    ['a wrong password', basic('alice', 'wrong').authorization!],
    ['an empty password', basic('alice', '').authorization!],
    ['an unknown user', basic('nobody', 'open: sesame').authorization!],
    ['a user without a password', basic('root', '').authorization!],
    ['Basic without a colon', `Basic ${Buffer.from('alice').toString('base64')}`],
    ['Basic that is not base64', 'Basic ****'],
    ['__proto__', basic('__proto__', 'x').authorization!],
  ]
  for (const [what, authorization] of BAD)
    it(`are answered 401 on every path when they are wrong: ${what}`, async () => {
      for (const path of ['/user', '/version', '/no/such/path'])
        assertError(await allot.request('GET', path, { headers: { authorization } }), 401)
      assertSearchError(await allot.request('GET', '/repos/search', { headers: { authorization } }), 401)
      assertError(await allot.request('PATCH', '/version', { headers: { authorization } }), 401)
    })

  it('say that the access token does not exist, also when Basic has it as the password', async () => {
    const wrong = '0'.repeat(40)
    for (const authorization of [`token ${wrong}`, basic('alice', wrong).authorization!])
      assertError(await whoami(authorization), 401, /^the access token does not exist$/)
  })

  it('with an unknown scheme, or without exactly one value, are answered 401 on every path, also outside the API', async () => {
    const name = fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,20}$/)
    const scheme = name.filter((one) => !/^(?:token|bearer|basic)$/i.test(one))
    const known = fc.constantFrom('token', 'Bearer', 'Basic')
    const header = fc.oneof(
      fc.tuple(scheme, fc.stringMatching(/^[\x21-\x7e]{0,40}$/)).map(([one, value]) => `${one} ${value}`),
      known,
      known.map((one) => `${one} ${alice.token} more`),
      fc.constant(alice.token),
    )
    const paths = ['/version', '/user', '/no/such/path', '../../alice/demo/info/refs?service=git-upload-pack']
    await fc.assert(
      fc.asyncProperty(header, fc.constantFrom(...paths), async (authorization, path) => {
        const answer = await fetch(`${allot.api}/${path}`, { headers: { authorization } })
        assert.equal(answer.status, 401, authorization)
        await answer.text()
      }),
      { numRuns: times(40, 100) },
    )
  })

  it('say how to send a token that is sent alone, and do not repeat it', async () => {
    for (const token of [alice.token, '0'.repeat(40), `  ${alice.token}`])
      for (const path of ['/user', '/version', '/no/such/path']) {
        const answer = await allot.request('GET', path, { headers: { authorization: token } })
        assertError(answer, 401, /a token without its scheme: send `Authorization: token …`/)
        assert.ok(!answer.text.includes(token.trim()))
      }
    assertError(await whoami('token'), 401, /a scheme and one value, as in `Authorization: token …`/)
  })

  it('are absent when the header is empty', async () => {
    assertError(await whoami(''), 401, /token is required/)
    assert.equal((await allot.request('GET', '/version', { headers: { authorization: '' } })).status, 200)
  })

  it('in the query are ignored', async () => {
    assertError(await allot.request('GET', `/user?token=${alice.token}&access_token=${alice.token}`), 401)
  })

  it('are not repeated in the response', async () => {
    const { text } = await whoami(basic('alice', 'a wrong secret').authorization!)
    assert.ok(!text.includes('secret'))
  })

  it('with the scope write:x include read:x', async () => {
    const token = await allot.scoped(alice, 'write:user')
    assert.equal((await allot.request('GET', '/user', { token })).status, 200)
  })
})

describe('A host that brings its own identity', () => {
  it('is asked for every request, and a new user is created by the first one', async () => {
    const host = await start({
      repositories: false,
      authenticate: (req) => {
        const username = req.headers['x-user']
        if (typeof username !== 'string') return null
        return {
          username,
          admin: username === 'boss',
          ...(username === 'reader' ? { scopes: ['read:user'] } : {}),
        }
      },
    })
    try {
      const as = (user: string, method = 'GET', path = '/user') =>
        host.request(method, path, { headers: { 'x-user': user } })
      assert.equal((await as('newcomer')).body.login, 'newcomer')
      assert.equal((await as('NEWCOMER')).body.login, 'newcomer')
      assertList(await as('boss', 'GET', '/admin/users'), 'login', ['boss', 'newcomer'])
      assertError(await as('newcomer', 'GET', '/admin/users'), 403)
      assertError(await as('reader', 'PUT', '/user/following/boss'), 403, /write:user/)
      assertError(await as('not a name'), 401)
      assertError(await host.request('GET', '/user'), 401)
      assert.equal((await host.request('GET', '/version')).status, 200)
      assertError(await host.request('GET', '/user', { token: alice.token }), 401)
    } finally {
      await host.stop()
    }
  })

  it('gives the rights of an administrator to a request, and not to the account', async () => {
    const host = await start({
      repositories: false,
      authenticate: ({ headers }) => ({
        username: String(headers['x-user']),
        admin: headers['x-admin'] === undefined ? undefined : headers['x-admin'] === 'yes',
      }),
    })
    try {
      await host.allot.accounts.createUser({ name: 'chief', admin: true })
      const statusOf = async (headers: Record<string, string>) => {
        const { status } = await host.request('GET', '/admin/users', { headers })
        const { body } = await host.request('GET', '/user', { headers })
        return [status, body.is_admin]
      }
      for (const [headers, expected] of [
        [{ 'x-user': 'boss', 'x-admin': 'yes' }, [200, true]],
        [{ 'x-user': 'boss', 'x-admin': 'no' }, [403, false]],
        [{ 'x-user': 'boss' }, [403, false]],
        [{ 'x-user': 'chief' }, [200, true]],
        [{ 'x-user': 'chief', 'x-admin': 'no' }, [403, false]],
      ] as const)
        assert.deepEqual(await statusOf(headers), expected, JSON.stringify(headers))
    } finally {
      await host.stop()
    }
  })

  it('answers 401 to a user name that is not a text', async () => {
    for (const value of [undefined, 10n, {}, ['ann'], Object.create(null), Symbol('ann')]) {
      const wrong = { username: value as string }
      const host = await start({ repositories: false, authenticate: () => wrong })
      const answer = await host.request('GET', '/user')
      assertError(answer, 401, /authenticate function returned .*, which is not a valid user name/)
      await host.stop()
    }
  })

  for (const [member, value] of [
    ['admin', 'false'],
    ['admin', 1],
    ['admin', null],
    ['scopes', 'all'],
    ['scopes', {}],
    ['scopes', null],
    ['a scope', [5]],
  ] as const)
    it(`answers 401 when the host returns ${JSON.stringify(value)} as ${member}`, async (test) => {
      const name = member === 'a scope' ? 'scopes' : member
      const wrong = { username: 'ann', [name]: value } as unknown as HostIdentity
      const host = await start({ repositories: false, authenticate: () => wrong })
      test.after(host.stop)
      const answer = await host.request('GET', '/user')
      assertError(answer, 401, new RegExp(`authenticate function returned .* as ${member}; expected `))
      assert.equal(await host.allot.hosting.accounts.byName('ann'), undefined)
    })

  it('creates a new user once when several first requests are concurrent', async () => {
    const host = await start({ repositories: false, authenticate: () => ({ username: 'sudden' }) })
    try {
      const answers = await Promise.all(Array.from({ length: 8 }, () => host.request('GET', '/user')))
      assert.deepEqual(new Set(answers.map(({ status, body }) => `${status} ${body.id}`)).size, 1)
      assert.equal(answers[0]?.status, 200)
    } finally {
      await host.stop()
    }
  })

  it('is answered 500 without details when it fails', async () => {
    const told: object[] = []
    const host = await start({
      repositories: false,
      log: { error: (fields) => told.push(fields), info: () => undefined },
      authenticate: () => {
        throw new Error('the password of the database is hunter2')
      },
    })
    try {
      const answer = await host.request('GET', '/user')
      assertError(answer, 500)
      assert.ok(!answer.text.includes('hunter2'))
      const [{ err, requestId }] = told as [{ err: Error; requestId: string }]
      assert.match(err.message, /hunter2/)
      assert.ok(answer.body.message.includes(requestId))
    } finally {
      await host.stop()
    }
  })
})
