import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertError, assertList, assertNoContent, assertNotFound } from '../support/expectations.ts'
import { start, startBefore } from '../support/test-server.ts'

const allot = startBefore({ repositories: false })

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

  it('lets an administrator create an organization for any user', async () => {
    const alice = await allot.person()
    const path = `/admin/users/${alice.name}/orgs`
    assert.equal((await allot.as(allot.root, 'POST', path, { username: 'for-alice' })).status, 201)
    assertList(await allot.as(alice, 'GET', '/user/orgs'), 'name', ['for-alice'])
    assertError(await allot.as(alice, 'POST', path, { username: 'other' }), 403)
    assertNotFound(await allot.as(allot.root, 'POST', '/admin/users/nobody/orgs', { username: 'other' }))
  })

  it('lists every organization for administrators, in pages', async () => {
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

  it('answers whether a user is a member to members and administrators only', async () => {
    const [owner, member, other] = [await allot.person(), await allot.person(), await allot.person()]
    await allot.as(owner, 'POST', '/orgs', { username: 'asked' })
    await allot.as(owner, 'PUT', `/orgs/asked/members/${member.name}`)
    const path = `/orgs/asked/members/${owner.name}`
    for (const viewer of [owner, member, allot.root]) assertNoContent(await allot.as(viewer, 'GET', path))
    assertNotFound(await allot.as(other, 'GET', path))
    assertNotFound(await allot.as(other, 'GET', `/orgs/asked/members/${other.name}`))
    assertNotFound(await allot.as(owner, 'GET', `/orgs/asked/members/${other.name}`))
  })

  it('refuses to remove or demote the founder while no other owner exists', async () => {
    const [owner, second] = [await allot.person(), await allot.person()]
    await allot.as(owner, 'POST', '/orgs', { username: 'two' })
    assertError(await allot.as(owner, 'DELETE', `/orgs/two/members/${owner.name}`), 409)
    assertError(await allot.as(owner, 'PUT', `/orgs/two/members/${owner.name}`, { role: 'member' }), 409)
    assertNoContent(await allot.as(owner, 'PUT', `/orgs/two/members/${second.name}`, { role: 'owner' }))
    assertNoContent(await allot.as(second, 'DELETE', `/orgs/two/members/${owner.name}`))
    assertError(await allot.as(owner, 'PUT', `/orgs/two/members/${owner.name}`), 403)
    assertError(await allot.as(second, 'PUT', `/orgs/two/members/${owner.name}`, { role: 'king' }), 422)
  })

  it('lets owners remove a member who is hidden from them by now', async () => {
    const [owner, shy] = [await allot.person(), await allot.person()]
    await allot.as(owner, 'POST', '/orgs', { username: 'hiding' })
    const path = `/orgs/hiding/members/${shy.name}`
    await allot.as(owner, 'PUT', path)
    await allot.allot.hosting.accounts.edit(shy.id, { visibility: 'private' })
    assertNoContent(await allot.as(owner, 'DELETE', path))
    assertNotFound(await allot.as(owner, 'DELETE', path))
  })

  it('says the same of a user who is hidden from the owner and of one who does not exist', async () => {
    const forgejo = await start({ repositories: false, dialect: 'forgejo' })
    const [owner, shy] = [await forgejo.person(), await forgejo.person()]
    await forgejo.as(owner, 'POST', '/orgs', { username: 'asking' })
    await forgejo.allot.hosting.accounts.edit(shy.id, { visibility: 'private' })
    const remove = (name: string) => forgejo.as(owner, 'DELETE', `/orgs/asking/members/${name}`)
    const [hidden, missing] = [await remove(shy.name), await remove('nobody')]
    assert.deepEqual([hidden.status, hidden.body], [404, missing.body])
  })

  it('lets every member leave, and only owners remove other members', async () => {
    const [owner, one, other] = [await allot.person(), await allot.person(), await allot.person()]
    await allot.as(owner, 'POST', '/orgs', { username: 'leaving' })
    for (const who of [one, other]) await allot.as(owner, 'PUT', `/orgs/leaving/members/${who.name}`)
    assertError(await allot.as(one, 'DELETE', `/orgs/leaving/members/${other.name}`), 403)
    assertNoContent(await allot.as(one, 'DELETE', `/orgs/leaving/members/${one.name}`))
  })
})

describe('An owner who was added by another user', () => {
  /** An organization with an added owner, and without its founder. */
  const imposed = async (name: string) => {
    const [founder, alice] = [await allot.person(), await allot.person()]
    await allot.as(founder, 'POST', '/orgs', { username: name })
    await allot.as(founder, 'PUT', `/orgs/${name}/members/${alice.name}`, { role: 'owner' })
    assertNoContent(await allot.as(founder, 'DELETE', `/orgs/${name}/members/${founder.name}`))
    return { founder, alice, own: `/orgs/${name}/members/${alice.name}` }
  }
  const ownersOf = async (name: string) => {
    const { body } = await allot.as(allot.root, 'GET', '/admin/orgs?limit=50')
    return body.find((one: { name: string }) => one.name === name)?.owners_count
  }

  it('can leave as the last owner, and administrators see that the organization has none', async () => {
    const { alice, own } = await imposed('left')
    assert.equal(await ownersOf('left'), 1)
    assertNoContent(await allot.as(alice, 'DELETE', own))
    assert.equal(await ownersOf('left'), 0)
    assertList(await allot.as(alice, 'GET', '/user/orgs'), 'name', [])
    assert.equal((await allot.as(undefined, 'GET', '/orgs/left')).body.owners_count, undefined)
    assertNoContent(await allot.as(allot.root, 'PUT', own, { role: 'owner' }))
    assert.equal(await ownersOf('left'), 1)
  })

  it('can become an ordinary member as the last owner', async () => {
    const { alice, own } = await imposed('stepped-down')
    assertNoContent(await allot.as(alice, 'PUT', own, { role: 'member' }))
    assert.equal(await ownersOf('stepped-down'), 0)
    assertError(await allot.as(alice, 'PUT', own, { role: 'owner' }), 403)
  })

  it('can be deleted by an administrator without purge, and the organization stays', async () => {
    const { alice } = await imposed('kept')
    assertNoContent(await allot.as(allot.root, 'DELETE', `/admin/users/${alice.name}`))
    assert.equal(await ownersOf('kept'), 0)
  })

  it('can delete the organization', async () => {
    const { alice } = await imposed('unwanted')
    assertNoContent(await allot.as(alice, 'DELETE', '/orgs/unwanted'))
    assert.equal(await ownersOf('unwanted'), undefined)
  })

  it("loses the founder's duties when demoted: an owner who is added again may leave", async () => {
    const { founder, alice } = await imposed('returned')
    const path = `/orgs/returned/members/${founder.name}`
    assertNoContent(await allot.as(alice, 'PUT', path, { role: 'owner' }))
    assertNoContent(await allot.as(alice, 'DELETE', `/orgs/returned/members/${alice.name}`))
    assertNoContent(await allot.as(founder, 'DELETE', path))
  })
})

describe('Owners of an organization', () => {
  it('can all be removed by an administrator, the founder included', async () => {
    for (const [name, method, body] of [
      ['demoted', 'PUT', { role: 'member' }],
      ['dismissed', 'DELETE', undefined],
    ] as const) {
      const founder = await allot.person()
      await allot.as(founder, 'POST', '/orgs', { username: name })
      const path = `/orgs/${name}/members/${founder.name}`
      assertError(
        await allot.as(founder, method, path, body),
        409,
        /founded this organization and is its only owner/,
      )
      assertNoContent(await allot.as(allot.root, method, path, body))
      assertError(await allot.as(founder, 'DELETE', `/orgs/${name}`), 403)
    }
  })

  it('can be removed by the host in the name of an administrator', async () => {
    const founder = await allot.person()
    const { organizations } = allot.allot.hosting
    const { id } = await organizations.create(founder.id, { name: 'hosted' })
    await assert.rejects(organizations.removeMember(id, founder.id), /is its only owner/)
    assert.equal(await organizations.removeMember(id, founder.id, { viewer: { id: 0, admin: true } }), true)
    assert.equal(await organizations.remove(id), true)
    assert.equal(await organizations.remove(id), false)
    await assert.rejects(organizations.removeMember(id, founder.id), /the account was deleted/)
    assert.equal(await organizations.remove(founder.id), false)
    assert.equal((await allot.as(founder, 'GET', '/user')).status, 200)
  })
})

describe('DELETE /orgs/{org}', () => {
  it('deletes the organization completely, for owners and administrators', async () => {
    const [owner, member, other] = [await allot.person(), await allot.person(), await allot.person()]
    await allot.as(owner, 'POST', '/orgs', { username: 'doomed' })
    await allot.as(owner, 'PUT', `/orgs/doomed/members/${member.name}`)
    assertError(await allot.as(undefined, 'DELETE', '/orgs/doomed'), 401)
    for (const who of [member, other]) assertError(await allot.as(who, 'DELETE', '/orgs/doomed'), 403)
    assertNoContent(await allot.as(owner, 'DELETE', '/orgs/doomed'))
    for (const who of [owner, member, allot.root]) assertNotFound(await allot.as(who, 'GET', '/orgs/doomed'))
    assertNotFound(await allot.as(owner, 'DELETE', '/orgs/doomed'))
    assertList(await allot.as(member, 'GET', '/user/orgs'), 'name', [])
    assert.equal((await allot.as(other, 'POST', '/orgs', { username: 'doomed' })).status, 201)
    assertNoContent(await allot.as(allot.root, 'DELETE', '/orgs/doomed'))
    assertNotFound(await allot.as(other, 'DELETE', `/orgs/${other.name}`))
  })

  it('answers 422 while the organization owns something, unless purge is set', async () => {
    const owner = await allot.person()
    await allot.as(owner, 'POST', '/orgs', { username: 'owning' })
    for (const name of ['one', 'two'])
      await allot.as(owner, 'POST', '/orgs/owning/repos', { name, private: name === 'two' })
    await allot.as(owner, 'PUT', '/user/starred/owning/one')
    assertError(
      await allot.as(owner, 'DELETE', '/orgs/owning'),
      422,
      /this organization still owns repositories/,
    )
    assertError(await allot.as(owner, 'DELETE', '/orgs/owning?purge=false'), 422)
    assert.equal((await allot.as(owner, 'GET', '/repos/owning/two')).status, 200)
    const narrow = await allot.scoped(owner, 'write:organization')
    assertError(
      await allot.request('DELETE', '/orgs/owning?purge=true', { token: narrow }),
      403,
      /write:repository/,
    )
    assertNoContent(await allot.as(owner, 'DELETE', '/orgs/owning?purge=true'))
    assertNotFound(await allot.as(owner, 'GET', '/repos/owning/one'))
    assertList(await allot.as(owner, 'GET', '/user/starred'), 'name', [])
    assertList(await allot.as(owner, 'GET', '/user/repos'), 'name', [])
  })
})

describe('An account that is the only owner of many organizations', () => {
  it('is deleted with all of them when purge is set, but not with those that have another owner', async () => {
    const [victim, other] = [await allot.person(), await allot.person()]
    const { hosting } = allot.allot
    for (let index = 0; index < 60; index++)
      await hosting.organizations.create(victim.id, { name: `sole-${index}` })
    const shared = await hosting.organizations.create(victim.id, { name: 'not-sole' })
    await hosting.organizations.setMember(shared.id, other.id, { owner: true })
    assertError(await allot.as(allot.root, 'DELETE', `/admin/users/${victim.name}`), 422, /only owner/)
    assertNoContent(await allot.as(allot.root, 'DELETE', `/admin/users/${victim.name}?purge=true`))
    for (const index of [0, 31, 59]) assertNotFound(await allot.as(allot.root, 'GET', `/orgs/sole-${index}`))
    assertNotFound(await allot.as(allot.root, 'GET', `/users/${victim.name}`))
    assertList(await allot.as(other, 'GET', '/user/orgs'), 'name', ['not-sole'])
  })
})
