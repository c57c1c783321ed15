import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { assertList } from '../support/expectations.ts'
import { type Person, startBefore } from '../support/test-server.ts'

const allot = startBefore()

const as = (person: Person | undefined, path: string) =>
  allot.request('GET', path, person ? { token: person.token } : {})

describe('GET /users/{username}', () => {
  it('shows the email to the user and to administrators only, and a no-reply address to others', async () => {
    const [bob, other] = [await allot.person('Bob', { email: 'bob@example.test' }), await allot.person()]
    for (const viewer of [bob, allot.root])
      assert.equal((await as(viewer, '/users/bob')).body.email, 'bob@example.test')
    for (const viewer of [other, undefined]) {
      const { body } = await as(viewer, '/users/BOB')
      assert.deepEqual([body.login, body.email], ['Bob', 'bob@noreply.127.0.0.1'])
    }
  })

  it('does not confirm a guess of the hidden email', async () => {
    await allot.person('hiding', { email: 'secret@example.test' })
    const { avatar_url } = (await allot.as(undefined, 'GET', '/users/hiding')).body
    for (const hash of ['md5', 'sha1', 'sha256'])
      assert.ok(!avatar_url.includes(createHash(hash).update('secret@example.test').digest('hex')))
  })

  it('shows who is an administrator to administrators only', async () => {
    assert.equal((await as(allot.root, '/users/root')).body.is_admin, true)
    assert.equal((await as(undefined, '/users/root')).body.is_admin, false)
  })
})

describe('GET /users/search', () => {
  it('finds users by a part of the login or the full name, without case, in a bare array', async () => {
    const zed = await allot.person('zed-findable')
    await allot.allot.hosting.accounts.edit(zed.id, { fullName: 'Zacharias Éxample' })
    await allot.person('other-Findable')
    await allot.allot.hosting.organizations.create(zed.id, { name: 'findable-org' })
    assertList(await as(undefined, '/users/search?q=FINDABLE'), 'login', ['other-Findable', 'zed-findable'])
    assertList(await as(undefined, '/users/search?q=zacharias'), 'login', ['zed-findable'])
    assertList(await as(undefined, '/users/search?q=findable&limit=1&page=2'), 'login', ['zed-findable'], 2)
    assertList(await as(undefined, `/users/search?uid=${zed.id}`), 'login', ['zed-findable'])
    assertList(await as(undefined, `/users/search?q=other&uid=${zed.id}`), 'login', [])
    assertList(await as(undefined, '/users/search?q=nobody-at-all'), 'login', [])
  })

  it('finds every visible user without a query', async () => {
    const all = (await as(undefined, '/users/search')).headers.get('x-total-count')
    for (const query of ['?q=', '?uid=', '?uid=0'])
      assert.equal((await as(undefined, `/users/search${query}`)).headers.get('x-total-count'), all)
    for (const query of ['?uid=abc', '?page=x', '?limit=-3'])
      assert.equal((await as(undefined, `/users/search${query}`)).status, 422, query)
  })

  it('finds private users for administrators only', async () => {
    const hidden = await allot.person('hidden-one')
    await allot.allot.hosting.accounts.edit(hidden.id, { visibility: 'private' })
    assertList(await as(undefined, '/users/search?q=hidden'), 'login', [])
    assertList(await as(allot.root, '/users/search?q=hidden'), 'login', ['hidden-one'])
  })
})
