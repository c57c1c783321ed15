import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { assertError, assertList, assertNoContent, assertNotFound } from '../expectations.ts'
import { type Running, start } from '../running.ts'

let allot: Running
before(async () => {
  allot = await start({ repositories: false })
})
after(() => allot.stop())

describe('POST /orgs', () => {
  it('creates an organization that the signed-in user owns', async () => {
    const alice = await allot.person()
    const body = {
      username: 'Acme',
      full_name: 'Acme Inc.',
      description: 'd',
      website: 'http://x.test',
      location: 'l',
    }
    const made = await allot.as(alice, 'POST', '/orgs', body)
    assert.equal(made.status, 201)
    const { id, avatar_url, ...rest } = made.body
    assert.ok(id > 0 && avatar_url.startsWith(allot.base))
    assert.deepEqual(rest, { ...body, name: 'Acme', email: '', visibility: 'public' })
    assert.deepEqual((await allot.as(undefined, 'GET', '/orgs/ACME')).body, made.body)
    assertList(await allot.as(alice, 'GET', '/user/orgs'), 'name', ['Acme'])
  })

  it('is done by administrators for any user', async () => {
    const alice = await allot.person()
    const path = `/admin/users/${alice.name}/orgs`
    assert.equal((await allot.as(allot.root, 'POST', path, { username: 'for-alice' })).status, 201)
    assertList(await allot.as(alice, 'GET', '/user/orgs'), 'name', ['for-alice'])
    assertError(await allot.as(alice, 'POST', path, { username: 'other' }), 403)
    assertNotFound(await allot.as(allot.root, 'POST', '/admin/users/nobody/orgs', { username: 'other' }))
  })

  it('and seen by them all, page by page, whoever may know of them else', async () => {
    const alice = await allot.person()
    await allot.as(alice, 'POST', '/orgs', { username: 'hidden', visibility: 'private' })
    const all = await allot.as(allot.root, 'GET', '/admin/orgs?limit=50')
    assert.ok(all.body.some(({ name }: { name: string }) => name === 'hidden'))
    assert.equal(all.headers.get('x-total-count'), String(all.body.length))
    assert.equal((await allot.as(allot.root, 'GET', '/admin/orgs?limit=1&page=2')).body[0].id, all.body[1].id)
    assertError(await allot.as(alice, 'GET', '/admin/orgs'), 403)
  })

  const BAD: [what: string, body: unknown, message: RegExp][] = [
    ['no name', {}, /Username is required/],
    ['an empty name', { username: '' }, /^name: /],
    ['a name of 41 characters', { username: 'x'.repeat(41) }, /^name: /],
    ['a reserved name', { username: 'Admin' }, /reserved/],
    ['the name of a user', { username: 'ROOT' }, /taken/],
    ['a name with a colon', { username: ':x' }, /^name: /],
    ['an unknown visibility', { username: 'x', visibility: 'secret' }, /^visibility: /],
    ['a description of 256 characters', { username: 'x', description: 'x'.repeat(256) }, /^description: /],
  ]
  for (const [what, body, message] of BAD)
    it(`answers 422 to ${what}, and creates nothing`, async () => {
      const person = await allot.person()
      assertError(await allot.as(person, 'POST', '/orgs', body), 422, message)
      assertList(await allot.as(person, 'GET', '/user/orgs'), 'name', [])
    })
})

describe('/orgs/{org}/members/{username}', () => {
  it('adds, checks and removes members', async () => {
    const [owner, member] = [await allot.person(), await allot.person()]
    await allot.as(owner, 'POST', '/orgs', { username: 'team' })
    const path = `/orgs/team/members/${member.name}`
    assertNotFound(await allot.as(owner, 'GET', path))
    for (const _ of [1, 2]) assertNoContent(await allot.as(owner, 'PUT', path))
    assertNoContent(await allot.as(owner, 'GET', path))
    assertList(await allot.as(member, 'GET', '/user/orgs'), 'name', ['team'])
    assertNoContent(await allot.as(owner, 'DELETE', path))
    assertNotFound(await allot.as(owner, 'DELETE', path))
    assertNotFound(await allot.as(owner, 'PUT', '/orgs/team/members/nobody'))
    assertNotFound(await allot.as(owner, 'PUT', '/orgs/nothing/members/root'))
    assertNotFound(await allot.as(owner, 'PUT', '/orgs/team/members/team'))
  })

  it('tells who is a member to members and administrators alone', async () => {
    const [owner, member, other] = [await allot.person(), await allot.person(), await allot.person()]
    await allot.as(owner, 'POST', '/orgs', { username: 'asked' })
    await allot.as(owner, 'PUT', `/orgs/asked/members/${member.name}`)
    const path = `/orgs/asked/members/${owner.name}`
    for (const viewer of [owner, member, allot.root]) assertNoContent(await allot.as(viewer, 'GET', path))
    assertNotFound(await allot.as(other, 'GET', path))
    assertNotFound(await allot.as(other, 'GET', `/orgs/asked/members/${other.name}`))
    assertNotFound(await allot.as(owner, 'GET', `/orgs/asked/members/${other.name}`))
  })

  it('lets owners make owners, and keeps at least one', async () => {
    const [owner, second] = [await allot.person(), await allot.person()]
    await allot.as(owner, 'POST', '/orgs', { username: 'two' })
    assertError(await allot.as(owner, 'DELETE', `/orgs/two/members/${owner.name}`), 409)
    assertError(await allot.as(owner, 'PUT', `/orgs/two/members/${owner.name}`, { role: 'member' }), 409)
    assertNoContent(await allot.as(owner, 'PUT', `/orgs/two/members/${second.name}`, { role: 'owner' }))
    assertNoContent(await allot.as(second, 'DELETE', `/orgs/two/members/${owner.name}`))
    assertError(await allot.as(owner, 'PUT', `/orgs/two/members/${owner.name}`), 403)
    assertError(await allot.as(second, 'PUT', `/orgs/two/members/${owner.name}`, { role: 'king' }), 422)
  })

  it('lets owners take out a member who has hidden itself since', async () => {
    const [owner, shy] = [await allot.person(), await allot.person()]
    await allot.as(owner, 'POST', '/orgs', { username: 'hiding' })
    const path = `/orgs/hiding/members/${shy.name}`
    await allot.as(owner, 'PUT', path)
    await allot.allot.hosting.accounts.edit(shy.id, { visibility: 'private' })
    assertNoContent(await allot.as(owner, 'DELETE', path))
    assertNotFound(await allot.as(owner, 'DELETE', path))
  })

  it('lets everyone leave, and nobody but owners take out another', async () => {
    const [owner, one, other] = [await allot.person(), await allot.person(), await allot.person()]
    await allot.as(owner, 'POST', '/orgs', { username: 'leaving' })
    for (const who of [one, other]) await allot.as(owner, 'PUT', `/orgs/leaving/members/${who.name}`)
    assertError(await allot.as(one, 'DELETE', `/orgs/leaving/members/${other.name}`), 403)
    assertNoContent(await allot.as(one, 'DELETE', `/orgs/leaving/members/${one.name}`))
  })
})

describe('A private organization', () => {
  it('does not exist for those who do not belong to it', async () => {
    const [owner, other] = [await allot.person(), await allot.person()]
    await allot.as(owner, 'POST', '/orgs', { username: 'quiet', visibility: 'private' })
    for (const viewer of [undefined, other]) {
      assertNotFound(await allot.as(viewer, 'GET', '/orgs/quiet'))
      assertNotFound(await allot.as(viewer, 'GET', '/users/quiet'))
    }
    assert.equal((await allot.as(owner, 'GET', '/orgs/quiet')).status, 200)
    await allot.as(owner, 'PUT', `/orgs/quiet/members/${other.name}`)
    assert.equal((await allot.as(other, 'GET', '/orgs/quiet')).status, 200)
  })
})
