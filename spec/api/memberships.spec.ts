import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { assertError, assertList, assertNoContent, assertNotFound } from '../support/expectations.ts'
import { type Person, start, type TestServer } from '../support/test-server.ts'

let allot: TestServer
let owner: Person
let member: Person
let other: Person
before(async () => {
  allot = await start({ repositories: false })
  owner = await allot.person('owner')
  member = await allot.person('member')
  other = await allot.person('other')
  await allot.as(owner, 'POST', '/orgs', { username: 'acme' })
  await allot.as(owner, 'PUT', '/orgs/acme/members/member')
})
after(() => allot.stop())

describe('A membership of an organization', () => {
  it('is known to members and administrators, and to others when the member makes it public', async () => {
    for (const viewer of [owner, member, allot.root])
      assertList(await allot.as(viewer, 'GET', '/orgs/acme/members'), 'login', ['owner', 'member'])
    for (const viewer of [undefined, other]) {
      assertList(await allot.as(viewer, 'GET', '/orgs/acme/members'), 'login', [])
      assertList(await allot.as(viewer, 'GET', '/users/member/orgs'), 'name', [])
      assertNotFound(await allot.as(viewer, 'GET', '/orgs/acme/public_members/member'))
    }
    assertNoContent(await allot.as(member, 'PUT', '/orgs/acme/public_members/member'))
    for (const viewer of [undefined, other]) {
      assertList(await allot.as(viewer, 'GET', '/orgs/acme/members'), 'login', ['member'])
      assertList(await allot.as(viewer, 'GET', '/orgs/acme/public_members'), 'login', ['member'])
      assertList(await allot.as(viewer, 'GET', '/users/member/orgs'), 'name', ['acme'])
      assertList(await allot.as(viewer, 'GET', '/users/owner/orgs'), 'name', [])
      assertNoContent(await allot.as(viewer, 'GET', '/orgs/acme/public_members/member'))
    }
    assertList(await allot.as(member, 'GET', '/users/owner/orgs'), 'name', ['acme'])
    assertNoContent(await allot.as(member, 'DELETE', '/orgs/acme/public_members/member'))
    assertList(await allot.as(other, 'GET', '/orgs/acme/public_members'), 'login', [])
  })

  it('is not revealed to other users by the lists of those who may be assigned or review', async () => {
    assert.equal((await allot.as(owner, 'POST', '/orgs/acme/repos', { name: 'open' })).status, 201)
    for (const list of ['assignees', 'reviewers']) {
      const path = `/repos/acme/open/${list}`
      const namesFor = async (viewer: Person) =>
        (await allot.as(viewer, 'GET', path)).body.map(({ login }: { login: string }) => login)
      assert.deepEqual([await namesFor(member), await namesFor(other)], [['member', 'owner'], []])
    }
    await allot.as(owner, 'DELETE', '/repos/acme/open')
  })

  it('stays public when the role of the member changes', async () => {
    await allot.as(member, 'PUT', '/orgs/acme/public_members/member')
    await allot.as(owner, 'PUT', '/orgs/acme/members/member', { role: 'owner' })
    assertNoContent(await allot.as(undefined, 'GET', '/orgs/acme/public_members/member'))
    await allot.as(owner, 'PUT', '/orgs/acme/members/member', { role: 'member' })
    await allot.as(member, 'DELETE', '/orgs/acme/public_members/member')
  })

  it('is published by the member alone', async () => {
    for (const method of ['PUT', 'DELETE']) {
      assertError(await allot.as(owner, method, '/orgs/acme/public_members/member'), 403)
      assertNotFound(await allot.as(other, method, '/orgs/acme/public_members/other'))
      assertNotFound(await allot.as(other, method, '/orgs/none/public_members/other'))
    }
    assertNotFound(await allot.as(other, 'GET', '/orgs/none/members'))
    assertNotFound(await allot.as(other, 'GET', '/orgs/none/public_members'))
    assertNotFound(await allot.as(other, 'GET', '/users/none/orgs'))
  })

  it('says what the member may do, to the member and to administrators', async () => {
    const rights = async (viewer: Person, name: string) => {
      const { status, body } = await allot.as(viewer, 'GET', `/users/${name}/orgs/acme/permissions`)
      return status === 200
        ? [body.is_owner, body.is_admin, body.can_write, body.can_create_repository]
        : status
    }
    assert.deepEqual(await rights(owner, 'owner'), [true, true, true, true])
    assert.deepEqual(await rights(member, 'member'), [false, false, true, true])
    assert.deepEqual(await rights(other, 'other'), [false, false, false, false])
    assert.deepEqual(await rights(allot.root, 'member'), [false, false, true, true])
    assert.equal(await rights(other, 'member'), 404)
  })
})

describe('PATCH /orgs/{org}', () => {
  it('changes the profile, for owners', async () => {
    const edit = { full_name: 'Acme Inc.', email: 'acme@x.test', location: 'here', website: 'https://x.test' }
    const { status, body } = await allot.as(owner, 'PATCH', '/orgs/acme', edit)
    assert.equal(status, 200)
    assert.deepEqual({ ...body, ...edit }, body)
    assertError(await allot.as(member, 'PATCH', '/orgs/acme', edit), 403)
    assertNotFound(await allot.as(owner, 'PATCH', '/orgs/none', edit))
    for (const wrong of [{ email: 'no address' }, { full_name: 'x'.repeat(101) }, { visibility: 'x' }])
      assertError(
        await allot.as(owner, 'PATCH', '/orgs/acme', wrong),
        422,
        new RegExp(Object.keys(wrong)[0]!),
      )
  })

  it('hides the organization with its repositories', async () => {
    await allot.as(owner, 'POST', '/orgs', { username: 'shy' })
    await allot.as(owner, 'POST', '/orgs/shy/repos', { name: 'app' })
    await allot.as(owner, 'PATCH', '/orgs/shy', { visibility: 'private' })
    for (const path of ['/orgs/shy', '/repos/shy/app', '/orgs/shy/members'])
      assertNotFound(await allot.as(other, 'GET', path))
  })
})

describe('An invitation to an organization', () => {
  const names = async (viewer: Person) => {
    const { status, body } = await allot.as(viewer, 'GET', '/user/invitations')
    assert.equal(status, 200)
    return body.map(({ organization, role }: { organization: { name: string }; role: string }) => [
      organization.name,
      role,
    ])
  }
  const invite = (username: string, role?: string, by = owner) =>
    allot.as(by, 'POST', '/orgs/acme/invitations', { username, ...(role === undefined ? {} : { role }) })

  it('makes the user a member once accepted, and is gone then', async () => {
    const guest = await allot.person('guest')
    const { status, body } = await invite('guest')
    assert.deepEqual(
      [status, body.user.login, body.role, body.organization.name],
      [201, 'guest', 'member', 'acme'],
    )
    assert.deepEqual(await names(guest), [['acme', 'member']])
    assertNotFound(await allot.as(owner, 'GET', '/orgs/acme/members/guest'))
    assertNoContent(await allot.as(guest, 'PUT', '/user/invitations/acme'))
    assertNoContent(await allot.as(owner, 'GET', '/orgs/acme/members/guest'))
    assert.deepEqual(await names(guest), [])
    assertNotFound(await allot.as(guest, 'PUT', '/user/invitations/acme'))
    assertError(await invite('guest'), 422, /guest is already a member/)
    assertNoContent(await allot.as(owner, 'DELETE', '/orgs/acme/members/guest'))
  })

  it('can be for an owner, can be changed, and raises the role of a member', async () => {
    const boss = await allot.person('boss')
    await invite('boss')
    await invite('boss', 'owner')
    assert.deepEqual(await names(boss), [['acme', 'owner']])
    await allot.as(boss, 'PUT', '/user/invitations/acme')
    const { body } = await allot.as(boss, 'GET', '/users/boss/orgs/acme/permissions')
    assert.equal(body.is_owner, true)
    assertError(await invite('boss', 'owner'), 422, /boss is already an owner/)
    assertNoContent(await allot.as(owner, 'DELETE', '/orgs/acme/members/boss'))
  })

  it('can be declined by the user, and taken back by owners', async () => {
    const modest = await allot.person('modest')
    await invite('modest')
    assertNoContent(await allot.as(modest, 'DELETE', '/user/invitations/acme'))
    assertNotFound(await allot.as(modest, 'DELETE', '/user/invitations/acme'))
    await invite('modest')
    assertError(await allot.as(other, 'DELETE', '/orgs/acme/invitations/modest'), 403)
    assertNoContent(await allot.as(owner, 'DELETE', '/orgs/acme/invitations/modest'))
    assertNotFound(await allot.as(owner, 'DELETE', '/orgs/acme/invitations/modest'))
    assertNotFound(await allot.as(modest, 'PUT', '/user/invitations/acme'))
  })

  it('ends when a team makes the user what it offers, so that one who is taken out cannot come back by it', async () => {
    const { body: teams } = await allot.as(owner, 'GET', '/orgs/acme/teams')
    const { id: owners } = teams.find(({ name }: { name: string }) => name === 'Owners')
    const { body: team } = await allot.as(owner, 'POST', '/orgs/acme/teams', {
      name: 'builders',
      permission: 'read',
    })
    for (const [role, id] of [
      ['owner', owners],
      ['member', owners],
      ['member', team.id],
    ]) {
      const name = `invited-${role}-${id}`
      const user = await allot.person(name)
      await invite(name, role)
      assertNoContent(await allot.as(owner, 'PUT', `/teams/${id}/members/${name}`))
      assert.deepEqual(await names(user), [])
      assertNoContent(await allot.as(owner, 'DELETE', `/teams/${id}/members/${name}`))
      assertNotFound(await allot.as(user, 'PUT', '/user/invitations/acme'))
      assertNotFound(await allot.as(owner, 'GET', `/orgs/acme/members/${name}`))
    }
  })

  it('to own the organization stays for a member, and ends when the member leaves or is taken out', async () => {
    const { body: team } = await allot.as(owner, 'POST', '/orgs/acme/teams', {
      name: 'testers',
      permission: 'read',
    })
    const rising = await allot.person('rising')
    for (const path of ['/orgs/acme/members/rising', `/teams/${team.id}/members/rising`]) {
      await invite('rising', 'owner')
      assertNoContent(await allot.as(owner, 'PUT', `/teams/${team.id}/members/rising`))
      assert.deepEqual(await names(rising), [['acme', 'owner']])
      assertNoContent(await allot.as(owner, 'DELETE', path))
      assert.deepEqual(await names(rising), [])
      assertNotFound(await allot.as(rising, 'PUT', '/user/invitations/acme'))
    }
  })

  it('is given and listed by owners and administrators only', async () => {
    await allot.person('wanted')
    for (const viewer of [member, other]) {
      assertError(await invite('wanted', 'member', viewer), 403, /only owners/)
      assertError(await allot.as(viewer, 'GET', '/orgs/acme/invitations'), 403)
    }
    assert.equal((await invite('wanted', 'member', allot.root)).status, 201)
    const { body, headers } = await allot.as(owner, 'GET', '/orgs/acme/invitations')
    assert.deepEqual([body[0].user.login, headers.get('x-total-count')], ['wanted', '1'])
    assertNoContent(await allot.as(owner, 'PUT', '/orgs/acme/members/wanted'))
    assertList(await allot.as(owner, 'GET', '/orgs/acme/invitations'), 'role', [])
    assertError(await allot.as(undefined, 'GET', '/user/invitations'), 401)
  })

  it('to an organization that only members see lets the user accept, and shows it to no other user', async () => {
    const guest = await allot.person('guest2')
    await allot.as(owner, 'POST', '/orgs', { username: 'hidden', visibility: 'private' })
    await allot.as(owner, 'POST', '/orgs/hidden/invitations', { username: 'guest2' })
    assertNotFound(await allot.as(guest, 'GET', '/orgs/hidden'))
    assertNotFound(await allot.as(other, 'POST', '/orgs/hidden/invitations', { username: 'other' }))
    assert.deepEqual(await names(guest), [['hidden', 'member']])
    assertNoContent(await allot.as(guest, 'PUT', '/user/invitations/hidden'))
    assert.equal((await allot.as(guest, 'GET', '/orgs/hidden')).status, 200)
  })

  it('goes with the organization and with the user', async () => {
    const guest = await allot.person('guest3')
    await allot.as(owner, 'POST', '/orgs', { username: 'brief' })
    await allot.as(owner, 'POST', '/orgs/brief/invitations', { username: 'guest3' })
    await invite('guest3')
    assertNoContent(await allot.as(owner, 'DELETE', '/orgs/brief'))
    assert.deepEqual(await names(guest), [['acme', 'member']])
    assertNoContent(await allot.as(allot.root, 'DELETE', '/admin/users/guest3'))
    assertList(await allot.as(owner, 'GET', '/orgs/acme/invitations'), 'role', [])
  })

  for (const [what, body, status] of [
    ['no user', {}, 422],
    ['an unknown role', { username: 'other', role: 'admin' }, 422],
    ['a number', { username: 5 }, 422],
    ['a user who does not exist', { username: 'nobody' }, 404],
    ['an organization', { username: 'acme' }, 404],
  ] as const)
    it(`is refused with ${status} for ${what}`, async () => {
      const answer = await allot.as(owner, 'POST', '/orgs/acme/invitations', body)
      assert.equal(answer.status, status, answer.text)
      assertList(await allot.as(owner, 'GET', '/orgs/acme/invitations'), 'role', [])
    })
})
