import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { assertError, assertList, assertNoContent, assertNotFound } from '../support/expectations.ts'
import { type Person, peopleBefore, startBefore } from '../support/test-server.ts'

const allot = startBefore({ repositories: false })
const [owner, member, other] = peopleBefore(allot, 'owner', 'member', 'other')
before(async () => {
  await allot.as(owner, 'POST', '/orgs', { username: 'acme' })
  await allot.as(owner, 'PUT', '/orgs/acme/members/member')
})

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
    const edit = { full_name: 'Acme Inc.', location: 'here', website: 'https://x.test' }
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
})
