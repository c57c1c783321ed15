import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { OPERATOR } from '../../lib/accounts/access.ts'
import { assertError, assertList, assertNoContent, assertNotFound } from '../support/expectations.ts'
import { basic, start, startBefore } from '../support/test-server.ts'

const allot = startBefore({ repositories: false })

describe('POST /admin/users', () => {
  it('creates a user who can sign in with the password', async () => {
    const body = {
      username: 'New.User_1',
      email: 'new@example.test',
      password: 'long enough',
      full_name: 'New User',
    }
    const made = await allot.as(allot.root, 'POST', '/admin/users', body)
    assert.equal(made.status, 201, made.text)
    assert.deepEqual(
      [made.body.login, made.body.email, made.body.full_name],
      ['New.User_1', body.email, 'New User'],
    )
    for (const login of ['new.user_1', 'NEW@example.test']) {
      const signedIn = await allot.request('GET', '/user', { headers: basic(login, 'long enough') })
      assert.equal(signedIn.body?.login, 'New.User_1')
    }
    assertError(await allot.request('GET', '/user', { headers: basic('New.User_1', 'wrong') }), 401)
  })

  const BAD: [what: string, body: unknown, message: RegExp][] = [
    ['no name', { email: 'a@b.test' }, /Username is required/],
    ['a name of 41 characters', { username: 'x'.repeat(41) }, /^name: /],
    ['a name with a slash', { username: 'a/b' }, /^name: /],
    ['a name with two dots', { username: 'a..b' }, /^name: /],
    ['a name that ends in a dot', { username: 'a.' }, /^name: /],
    ['a name that begins with a hyphen', { username: '-a' }, /^name: /],
    ['a name in another script', { username: 'алиса' }, /^name: /],
    ['__proto__', { username: '__proto__' }, /^name: /],
    ['a reserved name', { username: 'username' }, /reserved/],
    ['a name that is taken, in other letters', { username: 'RooT' }, /taken/],
    ['a malformed email', { username: 'x', email: 'not an email' }, /^email: /],
    ['an email that is taken, in other letters', { username: 'x', email: 'TAKEN@example.test' }, /^email: /],
    ['a short password', { username: 'x', password: 'short' }, /^password: /],
    ['a password of 256 characters', { username: 'x', password: 'x'.repeat(256) }, /^password: /],
    ['a number for a name', { username: 1 }, /^username: /],
    [
      'text for a boolean that is not acted on',
      { username: 'x', must_change_password: 'no' },
      /^must_change_password: expected a boolean, received the string "no"$/,
    ],
    ['a number for such a boolean', { username: 'x', send_notify: 0 }, /^send_notify: /],
  ]
  before(() =>
    allot.as(allot.root, 'POST', '/admin/users', { username: 'holder', email: 'taken@example.test' }),
  )
  for (const [what, body, message] of BAD)
    it(`answers 422 to ${what}, and creates nothing`, async () => {
      const total = async () =>
        (await allot.as(allot.root, 'GET', '/admin/users')).headers.get('x-total-count')
      const before = await total()
      assertError(await allot.as(allot.root, 'POST', '/admin/users', body), 422, message)
      assert.equal(await total(), before)
    })
})

describe('GET /admin/users', () => {
  it('lists all users, private ones too, by name', async () => {
    const own = await start({ repositories: false })
    for (const name of ['zoe', 'Anna']) await own.person(name)
    await own.allot.hosting.organizations.create(own.root.id, { name: 'no-user' })
    const token = own.root.token
    assertList(await own.request('GET', '/admin/users', { token }), 'login', ['Anna', 'root', 'zoe'])
    assertList(await own.request('GET', '/admin/users?limit=2&page=2', { token }), 'login', ['zoe'], 3)
  })
})

describe('PATCH /admin/users/{username}', () => {
  it('does not store the members that it accepts and ignores', async () => {
    const { id, name } = await allot.person()
    const body = { login_name: 'x', source_id: 3, restricted: true, full_name: 'Known' }
    assert.equal((await allot.as(allot.root, 'PATCH', `/admin/users/${name}`, body)).status, 200)
    const account = (await allot.allot.hosting.accounts.byId(id))!
    assert.equal(account.fullName, 'Known')
    assert.deepEqual(
      Object.keys(account).filter((member) => member in { login_name: 0, source_id: 0, restricted: 0 }),
      [],
    )
  })

  it('changes only the given members, and revokes a right at once', async () => {
    const eve = await allot.person('eve', { email: 'eve@example.test', password: 'first password' })
    const path = '/admin/users/EVE'
    const edited = await allot.as(allot.root, 'PATCH', path, { full_name: 'Eve', admin: true })
    assert.deepEqual(
      [edited.body.full_name, edited.body.is_admin, edited.body.email],
      ['Eve', true, 'eve@example.test'],
    )
    assert.equal((await allot.as(eve, 'GET', '/admin/users')).status, 200)
    await allot.as(allot.root, 'PATCH', path, { admin: false })
    assertError(await allot.as(eve, 'GET', '/admin/users'), 403)
    await allot.as(allot.root, 'PATCH', path, { password: 'second password' })
    assertError(await allot.request('GET', '/user', { headers: basic('eve', 'first password') }), 401)
    assert.equal(
      (await allot.request('GET', '/user', { headers: basic('eve', 'second password') })).status,
      200,
    )
    await allot.as(allot.root, 'PATCH', path, { active: false })
    // Also on paths that need no credentials.
    for (const asked of ['/user', '/version']) assertError(await allot.as(eve, 'GET', asked), 403)
    assertError(await allot.request('GET', '/user', { headers: basic('eve', 'second password') }), 403)
    await allot.as(allot.root, 'PATCH', path, { active: false, prohibit_login: false })
    assertError(await allot.as(eve, 'GET', '/user'), 403)
    await allot.as(allot.root, 'PATCH', path, { prohibit_login: false })
    assert.equal((await allot.as(eve, 'GET', '/user')).status, 200)
  })

  it('answers 422 when it would leave the store without an active administrator', async () => {
    const own = await start()
    const changes: [method: string, path: string, body?: object][] = [
      ['PATCH', '/admin/users/root', { admin: false }],
      ['PATCH', '/admin/users/root', { active: false }],
      ['PATCH', '/admin/users/root', { prohibit_login: true }],
      ['DELETE', '/admin/users/root'],
      ['DELETE', '/admin/users/root?purge=true'],
    ]
    const ann = await own.person('ann', { admin: true })
    assert.equal((await own.as(own.root, 'PATCH', '/admin/users/ann', { active: false })).status, 200)
    await own.as(own.root, 'POST', '/orgs', { username: 'acme' })
    for (const change of changes)
      assertError(await own.as(own.root, ...change), 422, /^root is the last active administrator: /)
    assert.equal((await own.as(own.root, 'GET', '/orgs/acme')).status, 200)
    await own.as(own.root, 'PATCH', '/admin/users/ann', { active: true })
    const statuses = (
      await Promise.all([
        own.as(own.root, 'PATCH', '/admin/users/ann', { admin: false }),
        own.as(ann, 'PATCH', '/admin/users/root', { admin: false }),
      ])
    ).map(({ status }) => status)
    assert.ok(statuses.includes(200) && statuses.some((status) => [403, 422].includes(status)), `${statuses}`)
  })

  it('lets the host and the operator of the store take the right of the last administrator', async () => {
    const own = await start()
    const { id } = own.root
    for (const options of [{}, { by: OPERATOR }]) {
      assert.equal((await own.allot.hosting.accounts.edit(id, { admin: false }, options))?.admin, false)
      await own.allot.hosting.accounts.edit(id, { admin: true })
    }
  })

  it('answers 422 to bad input without changing anything, and 404 when the user does not exist', async () => {
    await allot.person('steady', { email: 'steady@example.test' })
    for (const body of [
      { email: 'x' },
      { admin: 'yes' },
      { password: 'short' },
      { visibility: 'x' },
      { email: 'taken@example.test' },
    ])
      assertError(await allot.as(allot.root, 'PATCH', '/admin/users/steady', body), 422)
    assert.equal((await allot.as(allot.root, 'GET', '/users/steady')).body.email, 'steady@example.test')
    assertNotFound(await allot.as(allot.root, 'PATCH', '/admin/users/nobody', {}))
  })
})

describe('DELETE /admin/users/{username}', () => {
  it('deletes the user with everything that belonged to the user alone', async () => {
    const [gone, stays] = [await allot.person('gone', { email: 'gone@example.test' }), await allot.person()]
    await allot.as(stays, 'POST', '/user/repos', { name: 'starred' })
    await allot.as(gone, 'PUT', `/user/starred/${stays.name}/starred`)
    await allot.as(gone, 'PUT', `/user/following/${stays.name}`)
    await allot.as(stays, 'PUT', '/user/following/gone')
    assertNoContent(await allot.as(allot.root, 'DELETE', '/admin/users/gone'))
    assertNotFound(await allot.as(allot.root, 'DELETE', '/admin/users/gone'))
    assertNotFound(await allot.as(undefined, 'GET', '/users/gone'))
    assertError(await allot.as(gone, 'GET', '/user'), 401)
    assert.equal((await allot.as(stays, 'GET', `/repos/${stays.name}/starred`)).body.stars_count, 0)
    assertList(await allot.as(stays, 'GET', '/user/followers'), 'login', [])
    assertList(await allot.as(stays, 'GET', '/user/following'), 'login', [])
    const again = await allot.as(allot.root, 'POST', '/admin/users', {
      username: 'gone',
      email: 'gone@example.test',
    })
    assert.equal(again.status, 201)
  })

  it('refuses a user who owns repositories or is the last owner of an organization that the user founded, unless purge is set', async () => {
    const owner = await allot.person('owner')
    await allot.as(owner, 'POST', '/user/repos', { name: 'mine' })
    assertError(await allot.as(allot.root, 'DELETE', '/admin/users/owner'), 422, /repositories/)
    assertNoContent(await allot.as(allot.root, 'DELETE', '/admin/users/owner?purge=true'))
    assertNotFound(await allot.as(allot.root, 'GET', '/repos/owner/mine'))
    const chief = await allot.person('chief')
    await allot.as(chief, 'POST', '/orgs', { username: 'led' })
    await allot.as(chief, 'POST', '/orgs/led/repos', { name: 'demo' })
    assertError(await allot.as(allot.root, 'DELETE', '/admin/users/chief'), 422, /only owner/)
    assert.equal((await allot.as(chief, 'GET', '/user')).status, 200)
    await allot.as(chief, 'POST', '/orgs', { username: 'shared' })
    await allot.as(chief, 'PUT', '/orgs/shared/members/root', { role: 'owner' })
    assertNoContent(await allot.as(allot.root, 'DELETE', '/admin/users/chief?purge=true'))
    assertNotFound(await allot.as(allot.root, 'GET', '/orgs/led'))
    assertNotFound(await allot.as(allot.root, 'GET', '/repos/led/demo'))
    assert.equal((await allot.as(allot.root, 'GET', '/orgs/shared')).status, 200)
  })
})
