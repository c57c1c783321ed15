import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { describe, it, type TestContext } from 'node:test'
import { AllotError, type AllotOptions, type HostAuthenticate, type HostIdentity } from '../../lib/index.ts'
import { assertError } from '../support/expectations.ts'
import { basic, start } from '../support/test-server.ts'

/** Answers what the header `x-identity` has, as JSON; undefined without it. */
const fromHeader = ({ headers }: IncomingMessage): HostIdentity | null | undefined =>
  headers['x-identity'] === undefined ? undefined : JSON.parse(decodeURI(String(headers['x-identity'])))

const startHost = async (test: TestContext, options: Partial<AllotOptions> = {}) => {
  const logged: string[] = []
  const log = {
    error: ({ err }: { err?: Error }, message: string) => void logged.push(err?.message ?? message),
    info: () => undefined,
  }
  const host = await start({ repositories: false, authenticate: fromHeader, log, ...options })
  test.after(host.stop)
  const as = (identity: unknown, method = 'GET', path = '/user', body?: object, headers = {}) =>
    host.request(method, path, {
      headers: { 'x-identity': encodeURI(JSON.stringify(identity)), ...headers },
      ...(body && { body }),
    })
  return { ...host, as, logged }
}

describe("The host's login", () => {
  it('creates the account of a user by the first request, once when several are concurrent', async (test) => {
    const host = await startHost(test)
    const answers = await Promise.all(Array.from({ length: 8 }, () => host.as({ id: 'sudden' })))
    assert.deepEqual(new Set(answers.map(({ status, body }) => `${status} ${body.id}`)).size, 1)
    assert.equal(answers[0]?.status, 200)
  })

  it('says who sends a request, who sends none, and what the tokens of Allot may sign in', async (test) => {
    const host = await startHost(test)
    const bob = await host.person('bob', { password: 'open: sesame' })
    const token = { authorization: `token ${bob.token}` }
    const answers = [
      [(await host.as({ id: 'anna' }, 'GET', '/user', undefined, token)).body.login, 'anna'],
      [(await host.as(null, 'GET', '/user', undefined, token)).status, 401],
      [(await host.request('GET', '/user', { headers: token })).body.login, 'bob'],
      [(await host.request('GET', '/user', { headers: basic('bob', bob.token) })).body.login, 'bob'],
      [(await host.request('GET', '/user', { headers: basic(bob.token, '') })).body.login, 'bob'],
      [(await host.request('GET', '/user')).status, 401],
      [(await host.request('GET', '/version')).status, 200],
    ]
    assert.deepEqual(
      answers.map(([answer]) => answer),
      answers.map(([, expected]) => expected),
    )
    assertError(
      await host.request('GET', '/user', { headers: basic('bob', 'open: sesame') }),
      401,
      /^the password must be an access token$/,
    )
    for (const authorization of [`token ${'0'.repeat(40)}`, 'Bearer ey.J.x', 'Digest x'])
      assertError(await host.request('GET', '/version', { headers: { authorization } }), 401)
  })

  it('is asked about every request of a connection, also when all have the same token', async (test) => {
    const host = await startHost(test)
    const { token } = await host.person('bob')
    for (const [identity, login] of [
      [undefined, 'bob'],
      [{ id: 'anna' }, 'anna'],
      [undefined, 'bob'],
    ] as const) {
      const headers = { authorization: `token ${token}`, connection: 'keep-alive' }
      const { body } =
        identity === undefined
          ? await host.request('GET', '/user', { headers })
          : await host.as(identity, 'GET', '/user', undefined, headers)
      assert.equal(body.login, login)
    }
  })

  it('is the only one with tokens: false, where nothing has tokens', async (test) => {
    const host = await startHost(test, { tokens: false })
    assert.deepEqual(await host.allot.setUp({ admin: 'root' }), { token: undefined })
    const { token } = await host.person('bob')
    assertError(await host.request('GET', '/user', { token }), 401)
    assert.equal((await host.as({ id: 'anna' }, 'POST', '/users/anna/tokens', { name: 'x' })).status, 404)
  })

  it('gives the rights of an administrator to a request, and not to the account', async (test) => {
    const host = await startHost(test)
    const chief = await host.allot.accounts.createUser({ name: 'chief', admin: true })
    await host.allot.accounts.link(chief.id, '#1')
    for (const [identity, expected] of [
      [{ id: 'boss', admin: true }, [200, true]],
      [{ id: 'boss', admin: false }, [403, false]],
      [{ id: 'boss' }, [403, false]],
      [{ id: '#1' }, [200, true]],
      [{ id: '#1', admin: false }, [403, false]],
    ] as const) {
      const { status } = await host.as(identity, 'GET', '/admin/users')
      const { body } = await host.as(identity)
      assert.deepEqual([status, body.is_admin], expected, JSON.stringify(identity))
    }
  })

  it('limits a request to the scopes that it returns', async (test) => {
    const host = await startHost(test)
    const reader = { id: 'reader', scopes: ['read:user'] }
    assert.equal((await host.as(reader)).status, 200)
    assertError(await host.as(reader, 'PUT', '/user/following/boss'), 403, /write:user/)
  })

  it('does not sign in a user whose account was disabled', async (test) => {
    const host = await startHost(test)
    await host.as({ id: '#7', username: 'anna' })
    const anna = (await host.allot.accounts.byHostId('#7'))!
    await host.allot.accounts.edit(anna.id, { active: false })
    assertError(await host.as({ id: '#7', username: 'anna' }), 403, /not allowed to sign in/)
  })
})

describe('allot.tokens.verify', () => {
  it('says whose token a text is, and notes that it is used', async (test) => {
    const host = await startHost(test, { tokens: false })
    const { id, token } = await host.person('bob')
    const { account, token: found } = (await host.allot.tokens.verify(token))!
    assert.deepEqual([account.id, found.name, found.scopes], [id, 'spec', ['all']])
    await host.allot.hosting.tokenUses.flush()
    const { items } = await host.allot.tokens.list(id, { offset: 0, limit: 1 })
    assert.ok(items[0]!.lastUsedAt)
  })

  it('returns undefined for any other text, and for a user who may not sign in', async (test) => {
    const host = await startHost(test)
    const { id, token } = await host.person('bob')
    for (const text of ['', 'x', '0'.repeat(40), token.toUpperCase(), ` ${token}`])
      assert.equal(await host.allot.tokens.verify(text), undefined)
    await assert.rejects(host.allot.tokens.verify(undefined as never), { code: 'invalid' })
    await host.allot.accounts.edit(id, { active: false })
    assert.equal(await host.allot.tokens.verify(token), undefined)
  })
})

describe('The id of an identity', () => {
  it('is compared as it is', async (test) => {
    const host = await startHost(test)
    const ids = ['bob', 'BOB', 'bob ', 'b\u00f6b', 'bo\u0308b', 'auth0|5f7', 'x'.repeat(255)]
    const accounts = []
    for (const id of ids) accounts.push((await host.as({ id })).body.id)
    assert.equal(new Set(accounts).size, ids.length)
    for (const [index, id] of ids.entries()) assert.equal((await host.as({ id })).body.id, accounts[index])
  })

  it('names the account that another name, email and name to show then belong to', async (test) => {
    const host = await startHost(test)
    const before = { id: '#7', username: 'anna', name: 'Anna B', email: 'anna@example.org' }
    const { id, full_name, email } = (await host.as(before)).body
    assert.deepEqual([full_name, email], ['Anna B', 'anna@example.org'])
    const after = { ...before, username: 'anna.c', name: 'Anna C', email: 'anna.c@example.org' }
    const { body } = await host.as(after)
    assert.deepEqual(
      [body.id, body.login, body.full_name, body.email],
      [id, 'anna.c', 'Anna C', 'anna.c@example.org'],
    )
    assert.equal((await host.request('GET', '/users/anna')).status, 301)
  })

  it('changes what was changed here only when the host has changed it, too', async (test) => {
    const host = await startHost(test)
    const anna = { id: '#7', username: 'anna', name: 'Anna', email: 'anna@example.org' }
    const { id } = (await host.as(anna)).body
    await host.allot.accounts.rename(id, 'queen')
    await host.allot.accounts.edit(id, { fullName: 'Queen', email: '' })
    const shown = async (identity: HostIdentity) => {
      const { login, full_name, email } = (await host.as(identity)).body
      return [login, full_name, email]
    }
    assert.deepEqual(await shown(anna), ['queen', 'Queen', 'queen@noreply.127.0.0.1'])
    assert.deepEqual((await shown({ id: '#7' })).slice(0, 2), ['queen', 'Queen'])
    assert.deepEqual((await shown({ ...anna, name: 'Anna B' })).slice(0, 2), ['queen', 'Anna B'])
    assert.deepEqual(await shown({ ...anna, username: 'ann', email: 'a@example.org' }), [
      'ann',
      'Anna',
      'a@example.org',
    ])
  })

  it('signs in to an account that it was linked to, and to no other by its name', async (test) => {
    const { allot, as } = await startHost(test)
    const [root, other] = [
      await allot.accounts.createUser({ name: 'root', admin: true }),
      await allot.accounts.createUser({ name: 'other' }),
    ]
    assert.notEqual((await as({ id: 'x', username: 'root' })).body.id, root.id)
    await assert.rejects(allot.accounts.link(other.id, 'x'), { code: 'conflict', field: 'hostId' })
    await assert.rejects(allot.accounts.link(other.id, ''), { code: 'invalid', field: 'hostId' })
    await assert.rejects(allot.accounts.link(9999, 'z'), { code: 'not_found' })
    const acme = await allot.organizations.create(root.id, { name: 'acme' })
    await assert.rejects(allot.accounts.link(acme.id, 'z'), { code: 'invalid' })
    await allot.accounts.link(other.id, 'y')
    assert.deepEqual(await as({ id: 'y', username: 'yves' }).then(({ body }) => [body.id, body.login]), [
      other.id,
      'yves',
    ])
    await allot.accounts.link(other.id, null)
    assert.equal(await allot.accounts.byHostId('y'), undefined)
    assert.notEqual((await as({ id: 'y', username: 'yves' })).body.id, other.id)
  })
})

describe('The name of a user of the host', () => {
  const page = readFileSync(new URL('../../docs/embedding.md', import.meta.url), 'utf8')
  const ROW = /^\| `(\S+)` \| (?:`(\S+)` )?\| `(\S+)` \| (?!name of)/gm
  const documented = [...page.matchAll(ROW)].map(
    ([, id, username, name]) => [{ id: id!.replace('\\|', '|'), username }, name!] as const,
  )
  it('is described by a table with examples, which are correct', () => assert.equal(documented.length, 8))

  const NAMES: (readonly [identity: HostIdentity, name: string])[] = [
    ...documented,
    [{ id: '5', username: 'S\u00f8ren Stra\u00dfe' }, 'Soren-Strasse'],
    [{ id: '7', username: '..anna..b--' }, 'anna.b'],
    [{ id: '8', username: `${'a'.repeat(39)}-b` }, 'a'.repeat(39)],
    [{ id: 'b0b', username: '' }, 'b0b'],
    [{ id: '12', username: '@' }, 'user-6b51d4'],
    [{ id: '14', username: 'taken@example.org' }, 'taken-8527a8'],
    [{ id: '15', username: `t${'o'.repeat(39)}` }, `t${'o'.repeat(32)}-e629fa`],
  ]
  for (const [identity, name] of NAMES)
    it(`${JSON.stringify(identity)} is ${name}`, async (test) => {
      const host = await startHost(test)
      await host.allot.accounts.createUser({ name: 'taken' })
      await host.allot.accounts.createUser({ name: `t${'o'.repeat(39)}` })
      for (let request = 0; request < 2; request++) assert.equal((await host.as(identity)).body.login, name)
    })

  it('is made anew when others have taken every one that was tried', async (test) => {
    const host = await startHost(test)
    const founder = await host.allot.accounts.createUser({ name: 'founder' })
    for (const name of ['anna', 'anna-6b86b2']) await host.allot.organizations.create(founder.id, { name })
    const { login, id } = (await host.as({ id: '1', username: 'anna' })).body
    assert.match(login, /^anna-[0-9a-f]{6}$/)
    assert.deepEqual((await host.as({ id: '1', username: 'Anna' })).body.id, id)
  })

  it('stays when the same name can be made of the next, or another account leaves the first', async (test) => {
    const host = await startHost(test)
    const other = await host.allot.accounts.createUser({ name: 'anna' })
    const login = async (username: string) => (await host.as({ id: '1', username })).body.login
    assert.equal(await login('anna'), 'anna-6b86b2')
    await host.allot.accounts.remove(other.id)
    assert.equal(await login('anna'), 'anna-6b86b2')
    assert.equal(await login('anna@example.org'), 'anna')
    assert.equal(await login('anna@example.com'), 'anna')
  })

  it('never signs in to an account that another user, or an administrator, has made', async (test) => {
    const host = await startHost(test)
    const { id } = (await host.as({ id: 'a', username: 'bob' })).body
    const { body } = await host.as({ id: 'b', username: 'BOB' })
    assert.notEqual(body.id, id)
    assert.match(body.login, /^BOB-[0-9a-f]{6}$/)
  })
})

describe('An email of a user of the host', () => {
  for (const email of ['taken@example.org', 'no address', `${'a'.repeat(250)}@b.example`, ''])
    it(`is left out, and does not keep the user out: ${email.slice(0, 20)}`, async (test) => {
      const host = await startHost(test)
      await host.allot.accounts.createUser({ name: 'other', email: 'taken@example.org' })
      assert.equal((await host.as({ id: '1', email })).status, 200)
      assert.equal((await host.allot.accounts.byHostId('1'))!.email, '')
    })
})

describe('A wrong return value of authenticate', () => {
  const SECRET = 'hunter2'
  const wrong: [what: string, value: () => unknown, logged: RegExp][] = [
    ['a text', () => SECRET, /returned a text of 7 characters; expected id/],
    ['true', () => true, /returned a boolean; expected id/],
    ['a number', () => 7, /returned a number; expected id/],
    ['a list', () => [SECRET], /returned an array, whose id is undefined/],
    [
      'an object without an id',
      () => ({ name: SECRET }),
      /an object with name, whose id is undefined; expected id to be a text of 1 to 255/,
    ],
    [
      'the former form',
      () => ({ username: SECRET, admin: true }),
      /an object with username, admin, whose id is undefined/,
    ],
    ['an object without members', () => Object.create(null), /an object without members/],
    ['an id that is a number', () => ({ id: 7 }), /whose id is a number/],
    ['an id that is null', () => ({ id: null }), /whose id is null/],
    ['an id that is a symbol', () => ({ id: Symbol(SECRET) }), /whose id is a symbol/],
    ['an empty id', () => ({ id: '' }), /whose id is a text of 0 characters/],
    ['an id that is too long', () => ({ id: SECRET.repeat(40) }), /whose id is a text of 280 characters/],
    ['an id with a control character', () => ({ id: `${SECRET}\n` }), /some of them control characters/],
    ['an id with half a surrogate', () => ({ id: '\ud800' }), /whose id is a text of 1 characters/],
    [
      'a user name that is a number',
      () => ({ id: 'a', username: 7 }),
      /whose username is a number; expected username to be a text/,
    ],
    ['a name that is null', () => ({ id: 'a', name: null }), /whose name is null/],
    ['an email that is a list', () => ({ id: 'a', email: [SECRET] }), /whose email is an array/],
    [
      'admin as a text',
      () => ({ id: 'a', admin: 'false' }),
      /whose admin is a text of 5 characters; expected admin to be true/,
    ],
    ['admin as null', () => ({ id: 'a', admin: null }), /whose admin is null/],
    ['scopes as a text', () => ({ id: 'a', scopes: SECRET }), /whose scopes is a text/],
    [
      'a scope that is a number',
      () => ({ id: 'a', scopes: [5] }),
      /whose scopes is an array; expected scopes to be a list of texts/,
    ],
  ]
  for (const [what, value, expected] of wrong)
    it(`is answered 500, and the log says what came back: ${what}`, async (test) => {
      const host = await startHost(test, { authenticate: value as HostAuthenticate })
      const answer = await host.request('GET', '/user')
      assertError(answer, 500, /^an internal error occurred; the server's log has it as /)
      assert.equal(host.logged.length, 1)
      assert.match(host.logged[0]!, /^authenticate returned /)
      assert.match(host.logged[0]!, expected)
      assert.ok(!host.logged[0]!.includes(SECRET), host.logged[0])
      assert.equal(await host.allot.accounts.count('user'), 0)
    })
})

describe('An error of authenticate', () => {
  const thrown: [error: unknown, status: number, message: RegExp][] = [
    [new AllotError('unauthenticated', 'wrong ticket'), 401, /^wrong ticket$/],
    [new AllotError('forbidden', 'not from here'), 403, /^not from here$/],
    [new AllotError('too_many_requests', 'later', { retryAfter: 7 }), 429, /^later$/],
    [new AllotError('unavailable', 'the directory is down', { retryAfter: 7 }), 503, /directory is down/],
    [new Error('the password of the database is hunter2'), 500, /^an internal error occurred/],
    [undefined, 500, /^an internal error occurred/],
    // Errors that have a code or a status, but of others.
    ...['not_found', 'conflict', 'invalid', 'over_quota', 'too_large', 'storage_full', 'misconfigured'].map(
      (code): [error: unknown, status: number, message: RegExp] => [
        new AllotError(code as 'invalid', 'of a call of Allot in the function'),
        500,
        /^an internal error occurred/,
      ],
    ),
    ...['ENOSPC: no space left on device, write', 'EACCES: permission denied, open'].map(
      (text): [error: unknown, status: number, message: RegExp] => [
        Object.assign(new Error(text), { code: text.slice(0, text.indexOf(':')), syscall: 'open' }),
        500,
        /^an internal error occurred/,
      ],
    ),
    [
      Object.assign(new Error('no session'), { code: 'unauthenticated', status: 401, statusCode: 401 }),
      500,
      /^an/,
    ],
    [{ code: 'forbidden', message: 'of another library' }, 500, /^an internal error occurred/],
  ]
  for (const [error, status, message] of thrown)
    it(`is answered ${status}: ${error instanceof AllotError ? error.code : JSON.stringify(error)} ${error}`, async (test) => {
      const host = await startHost(test, {
        authenticate: async () => {
          throw error
        },
      })
      const { headers, ...answer } = await host.request('GET', '/user')
      assertError({ headers, ...answer }, status, message)
      assert.equal(headers.get('retry-after'), status === 429 || status === 503 ? '7' : null)
      assert.equal(host.logged.length, status >= 500 ? 1 : 0)
    })
})
