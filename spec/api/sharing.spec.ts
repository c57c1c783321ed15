import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { assertError, assertList, assertNoContent, assertNotFound } from '../support/expectations.ts'
import { madeBefore, type Person, start, startBefore } from '../support/test-server.ts'

const allot = startBefore({ repositories: false })

const made = (person: Person, path: string, body: object) => allot.made(person, path, body)

/** Where a user finds repositories: each list by the names in it. */
const listsOf = async (person: Person, owner: string, word: string) => {
  const paths = [
    '/user/repos?limit=50',
    `/users/${owner}/repos`,
    `/repos/search?q=${word}`,
    `/repos/search?q=${owner}/${word}`,
    `/repos/search?q=${word}&is_private=true`,
    '/user/starred',
    `/users/${owner}/starred`,
  ]
  const found: number[] = []
  for (const path of paths) {
    const { body, headers } = await allot.as(person, 'GET', path)
    const items: { name: string }[] = body.data ?? body
    const names = items.filter(({ name }) => name === word)
    if (!path.startsWith('/user/repos'))
      assert.equal(headers.get('x-total-count'), String(items.length), path)
    found.push(names.length)
  }
  return found
}
const IN_ALL_BUT_OWN_STARS = [1, 1, 1, 1, 1, 0, 1]
const IN_NONE = [0, 0, 0, 0, 0, 0, 0]

const permissionsOf = async (person: Person | undefined, path: string) => {
  const { status, body } = await allot.as(person, 'GET', `/repos/${path}`)
  if (status !== 200) return status
  const { admin, push, pull } = body.permissions
  return [admin, push, pull]
}

describe('A private repository that is shared with a user', () => {
  it('is in every list, search and total of that user, and in none after the sharing ends', async () => {
    const [alice, bob, carl] = [await allot.person(), await allot.person(), await allot.person()]
    await made(alice, '/user/repos', { name: 'sharedone', private: true })
    const path = `${alice.name}/sharedone`
    await allot.as(alice, 'PUT', `/user/starred/${path}`)
    assert.deepEqual(await listsOf(bob, alice.name, 'sharedone'), IN_NONE)
    const at = `/repos/${path}/collaborators/${bob.name}`
    assertNoContent(await allot.as(alice, 'PUT', at, { permission: 'read' }))
    assert.deepEqual(await listsOf(bob, alice.name, 'sharedone'), IN_ALL_BUT_OWN_STARS)
    assert.deepEqual(await listsOf(carl, alice.name, 'sharedone'), IN_NONE)
    assertNoContent(await allot.as(bob, 'PUT', `/user/starred/${path}`))
    assertList(await allot.as(bob, 'GET', '/user/starred'), 'full_name', [path])
    assertNoContent(await allot.as(alice, 'DELETE', at))
    assert.deepEqual(await listsOf(bob, alice.name, 'sharedone'), IN_NONE)
    assert.equal(await permissionsOf(bob, path), 404)
  })

  it('gives what its level says, and `permissions` says it', async () => {
    const [alice, bob] = [await allot.person(), await allot.person()]
    await made(alice, '/user/repos', { name: 'levels', private: true })
    const path = `${alice.name}/levels`
    const at = `/repos/${path}/collaborators/${bob.name}`
    const LEVELS = [
      ['read', [false, false, true], 'read'],
      ['write', [false, true, true], 'write'],
      ['admin', [true, true, true], 'admin'],
      [undefined, [false, true, true], 'write'],
      ['owner', [true, true, true], 'admin'],
    ] as const
    for (const [permission, expected, role] of LEVELS) {
      assertNoContent(await allot.as(alice, 'PUT', at, permission === undefined ? {} : { permission }))
      assert.deepEqual(await permissionsOf(bob, path), expected, permission)
      const asked = await allot.as(bob, 'GET', `${at}/permission`)
      assert.deepEqual([asked.body.permission, asked.body.user.login], [role, bob.name])
      const issue = await allot.as(bob, 'POST', `/repos/${path}/issues`, { title: 'x' })
      assert.equal(issue.status, 201)
      const release = await allot.as(bob, 'POST', `/repos/${path}/releases`, { tag_name: `v-${permission}` })
      assert.equal(release.status, permission === 'read' ? 403 : 201)
      const edited = await allot.as(bob, 'PATCH', `/repos/${path}`, { description: 'x' })
      assert.equal(edited.status, role === 'admin' ? 200 : 403)
    }
    assertError(await allot.as(bob, 'DELETE', `/repos/${path}`), 403, /only owners/)
    assertError(await allot.as(bob, 'POST', `/repos/${path}/transfer`, { new_owner: bob.name }), 403)
  })

  it('names its owner in the links of issues, comments and releases, although the user cannot see the owner', async () => {
    const [alice, bob] = [await allot.person(), await allot.person()]
    await made(alice, '/orgs', { username: 'hidden-owner', visibility: 'private' })
    await made(alice, '/orgs/hidden-owner/repos', { name: 'app', private: true })
    const at = '/repos/hidden-owner/app'
    await allot.done(alice, 'PUT', `${at}/collaborators/${bob.name}`, { permission: 'write' })
    const issue = await made(bob, `${at}/issues`, { title: 'x' })
    assert.equal(issue.repository.full_name, 'hidden-owner/app')
    const comment = await made(bob, `${at}/issues/1/comments`, { body: 'x' })
    const release = await made(bob, `${at}/releases`, { tag_name: 'v1' })
    const api = `${allot.base}/api/v1${at}`
    assert.equal(issue.url, `${api}/issues/1`)
    assert.equal(comment.issue_url, `${allot.base}/hidden-owner/app/issues/1`)
    assert.equal(release.upload_url, `${api}/releases/${release.id}/assets`)
  })

  it('can be left by the user, and names only those whom the viewer may see', async () => {
    const [alice, bob, shy] = [await allot.person(), await allot.person(), await allot.person()]
    await made(alice, '/user/repos', { name: 'left', private: true })
    const at = `/repos/${alice.name}/left/collaborators`
    for (const { name } of [bob, shy]) await allot.as(alice, 'PUT', `${at}/${name}`, { permission: 'write' })
    await allot.as(allot.root, 'PATCH', `/admin/users/${shy.name}`, { visibility: 'private' })
    assertList(await allot.as(alice, 'GET', at), 'login', [bob.name, shy.name])
    assertList(await allot.as(bob, 'GET', at), 'login', [bob.name])
    assertNotFound(await allot.as(bob, 'GET', `${at}/${shy.name}`))
    assertNoContent(await allot.as(bob, 'GET', `${at}/${bob.name}`))
    for (const { name } of [bob, shy]) {
      assertNoContent(await allot.as(alice, 'GET', `${at}/${name}`))
      assert.equal((await allot.as(alice, 'GET', `${at}/${name}/permission`)).body.user.login, name)
    }
    assertError(await allot.as(bob, 'GET', `${at}/${alice.name}/permission`), 403)
    assertError(await allot.as(bob, 'DELETE', `${at}/${alice.name}`), 403)
    const names = async (list: string) =>
      (await allot.as(alice, 'GET', `/repos/${alice.name}/left/${list}`)).body.map(
        (one: { login: string }) => one.login,
      )
    await allot.as(alice, 'PUT', `${at}/${shy.name}`, { permission: 'read' })
    assert.deepEqual(await names('reviewers'), [alice.name, bob.name, shy.name].sort())
    assert.deepEqual(await names('assignees'), [alice.name, bob.name].sort())
    assertNoContent(await allot.as(bob, 'DELETE', `${at}/${bob.name}`))
    assertNotFound(await allot.as(bob, 'GET', at))
    for (const list of ['reviewers', 'assignees'])
      assertNotFound(await allot.as(bob, 'GET', `/repos/${alice.name}/left/${list}`))
  })

  it('is not shared with the owner, an organization, someone unknown or by someone else', async () => {
    const [alice, bob] = [await allot.person(), await allot.person()]
    await made(alice, '/user/repos', { name: 'mine' })
    await made(alice, '/orgs', { username: 'noteam' })
    const at = `/repos/${alice.name}/mine/collaborators`
    assertError(await allot.as(alice, 'PUT', `${at}/${alice.name}`, {}), 422, /is the owner/)
    for (const name of ['noteam', 'nobody']) assertNotFound(await allot.as(alice, 'PUT', `${at}/${name}`, {}))
    assertError(await allot.as(bob, 'PUT', `${at}/${bob.name}`, {}), 403)
    assertError(
      await allot.as(alice, 'PUT', `${at}/${bob.name}`, { permission: 'all' }),
      422,
      /^permission: /,
    )
    assertNotFound(await allot.as(alice, 'DELETE', `${at}/${bob.name}`))
    assertNotFound(await allot.as(alice, 'GET', `${at}/nobody/permission`))
  })

  it('stays shared when it is transferred, except with its new owner', async () => {
    const [alice, bob] = [await allot.person(), await allot.person()]
    await made(alice, '/user/repos', { name: 'moving', private: true })
    await made(alice, '/orgs', { username: 'mover' })
    const add = `/repos/${alice.name}/moving/collaborators/${bob.name}`
    await allot.as(alice, 'PUT', add, { permission: 'read' })
    await allot.as(alice, 'POST', `/repos/${alice.name}/moving/transfer`, { new_owner: 'mover' })
    assert.deepEqual(await permissionsOf(bob, 'mover/moving'), [false, false, true])
    assertNotFound(await allot.as(bob, 'GET', '/orgs/mover/members/none'))
  })
})

describe('A team', () => {
  let org: string
  let count = 0
  const aTeam = async (body: object): Promise<{ id: number }> =>
    made(owner, `/orgs/${org}/teams`, { name: `team${++count}`, permission: 'write', ...body })
  const owner = madeBefore(() => allot.person())
  const dev = madeBefore(() => allot.person())
  before(async () => {
    org = 'teamed'
    await made(owner, '/orgs', { username: org })
    for (const name of ['one', 'two']) await made(owner, `/orgs/${org}/repos`, { name, private: true })
  })

  it('gives its members rights on its repositories and nothing else of the organization', async () => {
    const team = await aTeam({ units: ['repo.code', 'repo.issues', 'repo.releases'] })
    assertNoContent(await allot.as(owner, 'PUT', `/teams/${team.id}/members/${dev.name}`))
    assertNoContent(await allot.as(dev, 'GET', `/orgs/${org}/members/${dev.name}`))
    assert.equal(await permissionsOf(dev, `${org}/one`), 404)
    assertNoContent(await allot.as(owner, 'PUT', `/teams/${team.id}/repos/${org}/one`))
    assert.deepEqual(await permissionsOf(dev, `${org}/one`), [false, true, true])
    assert.equal(await permissionsOf(dev, `${org}/two`), 404)
    assertList(await allot.as(dev, 'GET', `/orgs/${org}/repos`), 'name', ['one'])
    assertList(await allot.as(dev, 'GET', '/user/repos'), 'full_name', [`${org}/one`])
    const search = await allot.as(dev, 'GET', `/repos/search?q=${org}/`)
    assert.deepEqual(
      search.body.data.map(({ name }: { name: string }) => name),
      ['one'],
    )
    assertError(await allot.as(dev, 'POST', `/orgs/${org}/repos`, { name: 'x' }), 403)
    assertList(await allot.as(dev, 'GET', `/teams/${team.id}/repos`), 'name', ['one'])
    assertList(await allot.as(dev, 'GET', `/teams/${team.id}/members`), 'login', [dev.name])
    assert.equal((await allot.as(owner, 'GET', `/teams/${team.id}/members/${dev.name}`)).body.login, dev.name)
    assert.equal((await allot.as(dev, 'GET', `/teams/${team.id}/repos/${org}/one`)).body.name, 'one')
    for (const path of [`repos/${org}/two`, `members/${owner.name}`])
      assertNotFound(await allot.as(owner, 'GET', `/teams/${team.id}/${path}`))
    assertNoContent(await allot.as(owner, 'DELETE', `/teams/${team.id}/repos/${org}/one`))
    assert.equal(await permissionsOf(dev, `${org}/one`), 404)
    assertNoContent(await allot.as(dev, 'DELETE', `/teams/${team.id}/members/${dev.name}`))
    assertNotFound(await allot.as(owner, 'GET', `/orgs/${org}/members/${dev.name}`))
  })

  it('gives rights by unit: who may write issues need not read the code', async () => {
    const team = await aTeam({ units_map: { 'repo.issues': 'write', 'repo.releases': 'read' } })
    await allot.as(owner, 'PUT', `/teams/${team.id}/members/${dev.name}`)
    await allot.as(owner, 'PUT', `/teams/${team.id}/repos/${org}/one`)
    assert.deepEqual(await permissionsOf(dev, `${org}/one`), [false, false, false])
    const issue = await made(owner, `/repos/${org}/one/issues`, { title: 'a' })
    const at = `/repos/${org}/one/issues/${issue.number}`
    assert.equal((await allot.as(dev, 'PATCH', at, { state: 'closed' })).status, 201)
    assertError(await allot.as(dev, 'POST', `/repos/${org}/one/releases`, { tag_name: 'v1' }), 403)
    assertList(await allot.as(dev, 'GET', `/repos/${org}/one/releases`), 'name', [])
    const edit = { units_map: { 'repo.code': 'read' }, permission: 'read' }
    assert.equal((await allot.as(owner, 'PATCH', `/teams/${team.id}`, edit)).status, 200)
    assert.deepEqual(await permissionsOf(dev, `${org}/one`), [false, false, true])
    for (const path of [at, `/repos/${org}/one/releases`]) assertNotFound(await allot.as(dev, 'GET', path))
    assertNoContent(await allot.as(owner, 'DELETE', `/teams/${team.id}`))
    assert.equal(await permissionsOf(dev, `${org}/one`), 404)
    assertNotFound(await allot.as(owner, 'GET', `/teams/${team.id}`))
  })

  it('for all repositories has rights on later ones, and may create if it says so', async () => {
    const all = { includes_all_repositories: true, can_create_org_repo: true, permission: 'admin' }
    const team = await aTeam(all)
    await allot.as(owner, 'PUT', `/teams/${team.id}/members/${dev.name}`)
    assert.deepEqual(await permissionsOf(dev, `${org}/two`), [true, true, true])
    await made(dev, `/orgs/${org}/repos`, { name: 'three', private: true })
    assertList(await allot.as(dev, 'GET', `/teams/${team.id}/repos`), 'name', ['one', 'three', 'two'])
    assertError(await allot.as(dev, 'DELETE', `/repos/${org}/three`), 403)
    const rights = await allot.as(dev, 'GET', `/users/${dev.name}/orgs/${org}/permissions`)
    assert.equal(rights.body.can_create_repository, true)
    for (const path of [`/teams/${team.id}/repos/${org}/one`, `/repos/${org}/one/teams/team${count}`])
      assertError(await allot.as(owner, 'DELETE', path), 422, /for all repositories/)
    await allot.as(owner, 'DELETE', `/orgs/${org}/members/${dev.name}`)
    assertList(await allot.as(owner, 'GET', `/teams/${team.id}/members`), 'login', [])
    assert.equal(await permissionsOf(dev, `${org}/two`), 404)
    await allot.as(owner, 'DELETE', `/repos/${org}/three`)
    await allot.as(owner, 'DELETE', `/teams/${team.id}`)
  })

  it('that only allows its members to create repositories gives each creator all rights on the new one', async () => {
    const team = await aTeam({ can_create_org_repo: true, permission: 'read' })
    await allot.as(owner, 'PUT', `/teams/${team.id}/members/${dev.name}`)
    await made(dev, `/orgs/${org}/repos`, { name: 'own', private: true })
    assert.deepEqual(await permissionsOf(dev, `${org}/own`), [true, true, true])
    assert.equal(await permissionsOf(dev, `${org}/two`), 404)
    await allot.as(owner, 'DELETE', `/repos/${org}/own`)
    await allot.as(owner, 'DELETE', `/teams/${team.id}`)
  })

  const LEAVE: [what: string, path: (team: number) => string][] = [
    ['the organization', () => `/orgs/${org}/members/${dev.name}`],
    ['their last team', (team) => `/teams/${team}/members/${dev.name}`],
    ['the deleted team', (team) => `/teams/${team}`],
  ]
  for (const [what, path] of LEAVE)
    it(`takes the rights on new repositories from creators who leave ${what}, and leaves those of collaborators`, async () => {
      const team = await aTeam({ can_create_org_repo: true, permission: 'read' })
      const join = () => allot.as(owner, 'PUT', `/teams/${team.id}/members/${dev.name}`)
      assertNoContent(await join())
      for (const name of ['made', 'shared']) await made(dev, `/orgs/${org}/repos`, { name, private: true })
      const collaborator = `/repos/${org}/shared/collaborators/${dev.name}`
      assertNoContent(await allot.as(owner, 'PUT', collaborator, { permission: 'write' }))
      const own = `/repos/${org}/made/collaborators/${dev.name}`
      assertNoContent(await allot.as(dev, 'PUT', own, { permission: 'admin' }))
      assertNoContent(await allot.as(owner, 'DELETE', path(team.id)))
      assert.equal(await permissionsOf(dev, `${org}/made`), 404)
      assert.deepEqual(await permissionsOf(dev, `${org}/shared`), [false, true, true])
      assertList(await allot.as(dev, 'GET', '/user/repos'), 'full_name', [`${org}/shared`])
      await allot.as(owner, 'PUT', `/orgs/${org}/members/${dev.name}`)
      assert.deepEqual(await permissionsOf(dev, `${org}/made`), [false, true, true])
      await allot.as(owner, 'DELETE', `/orgs/${org}/members/${dev.name}`)
      for (const name of ['made', 'shared']) await allot.as(owner, 'DELETE', `/repos/${org}/${name}`)
      await allot.as(owner, 'DELETE', `/teams/${team.id}`)
    })

  it('that allowed its members to create a repository gives them no right on it after a transfer', async () => {
    const team = await aTeam({ can_create_org_repo: true, permission: 'read' })
    await allot.as(owner, 'PUT', `/teams/${team.id}/members/${dev.name}`)
    await made(dev, `/orgs/${org}/repos`, { name: 'moving', private: true })
    const moved = await allot.as(owner, 'POST', `/repos/${org}/moving/transfer`, { new_owner: owner.name })
    assert.equal(moved.status, 202)
    assert.equal(await permissionsOf(dev, `${owner.name}/moving`), 404)
    await allot.as(owner, 'DELETE', `/repos/${owner.name}/moving`)
    await allot.as(owner, 'DELETE', `/teams/${team.id}`)
  })

  it('of the owners is listed first, and makes its members owners', async () => {
    const listed = await allot.as(owner, 'GET', `/orgs/${org}/teams`)
    const [{ id, name, permission }] = listed.body
    assert.deepEqual([name, permission], ['Owners', 'owner'])
    assertNoContent(await allot.as(owner, 'PUT', `/teams/${id}/members/${dev.name}`))
    assert.deepEqual(await permissionsOf(dev, `${org}/two`), [true, true, true])
    assertList(await allot.as(owner, 'GET', `/teams/${id}/members`), 'login', [owner.name, dev.name])
    assertList(await allot.as(dev, 'GET', '/user/teams'), 'name', ['Owners'])
    assertNoContent(await allot.as(owner, 'DELETE', `/teams/${id}/members/${dev.name}`))
    assertNotFound(await allot.as(owner, 'GET', `/orgs/${org}/members/${dev.name}`))
    assertError(await allot.as(owner, 'DELETE', `/teams/${id}/members/${owner.name}`), 409, /owner/)
    // However they became owners.
    await allot.as(owner, 'PUT', `/orgs/${org}/members/${dev.name}`, { role: 'owner' })
    assertNoContent(await allot.as(owner, 'DELETE', `/teams/${id}/members/${dev.name}`))
    assertNotFound(await allot.as(dev, 'GET', `/repos/${org}/two`))
    for (const [method, body] of [
      ['PATCH', { description: 'x' }],
      ['DELETE', undefined],
    ] as const)
      assertError(await allot.as(owner, method, `/teams/${id}`, body), 422, /Owners/)
  })

  it('does not exist for a repository of a user', async () => {
    const { name } = await made(owner, '/user/repos', { name: 'own' })
    for (const method of ['PUT', 'DELETE'])
      assertNotFound(await allot.as(owner, method, `/repos/${owner.name}/${name}/teams/owners`))
  })

  it('is found by name, and assigned and taken away by the repository', async () => {
    const team = await aTeam({ name: 'Finders', description: 'of things', units: ['repo.code'] })
    for (const q of ['find', 'THINGS']) {
      const { body } = await allot.as(owner, 'GET', `/orgs/${org}/teams/search?q=${q}`)
      assert.deepEqual(
        body.data.map((one: { id: number }) => one.id),
        [team.id],
      )
    }
    const at = `/repos/${org}/one/teams`
    const names = async () => (await allot.as(owner, 'GET', at)).body.map((one: { name: string }) => one.name)
    assert.deepEqual(await names(), ['Owners'])
    assertNotFound(await allot.as(owner, 'GET', `${at}/finders`))
    assertNoContent(await allot.as(owner, 'PUT', `${at}/finders`))
    assert.deepEqual(await names(), ['Owners', 'Finders'])
    assert.equal((await allot.as(owner, 'GET', `${at}/Finders`)).body.id, team.id)
    assertNoContent(await allot.as(owner, 'DELETE', `${at}/finders`))
    for (const method of ['PUT', 'DELETE']) assertNotFound(await allot.as(owner, method, `${at}/none`))
    assertNotFound(await allot.as(owner, 'DELETE', `${at}/finders`))
    await made(owner, `/orgs/${org}/repos`, { name: 'public' })
    const open = `/repos/${org}/public/teams`
    assertError(await allot.as(dev, 'GET', open), 403)
    assertError(await allot.as(dev, 'GET', `${open}/Owners`), 403)
    for (const method of ['PUT', 'DELETE']) assertError(await allot.as(dev, method, `${open}/finders`), 403)
    await allot.as(owner, 'DELETE', `/teams/${team.id}`)
  })

  it('exists for members only, and is changed by owners only', async () => {
    const member = await allot.person()
    await allot.as(owner, 'PUT', `/orgs/${org}/members/${member.name}`)
    const { id } = await aTeam({})
    const CHANGES: [method: string, path: string, body?: object][] = [
      ['PATCH', `/teams/${id}`, { description: 'x' }],
      ['DELETE', `/teams/${id}`],
      ['PUT', `/teams/${id}/members/${dev.name}`],
      ['DELETE', `/teams/${id}/members/${dev.name}`],
      ['PUT', `/teams/${id}/repos/${org}/one`],
      ['DELETE', `/teams/${id}/repos/${org}/one`],
      ['POST', `/orgs/${org}/teams`, { name: 'x', permission: 'read' }],
    ]
    for (const [method, path, body] of CHANGES) {
      assertError(await allot.as(member, method, path, body), 403)
      const answer = await allot.as(dev, method, path, body)
      if (path.startsWith('/teams')) assertNotFound(answer)
      else assertError(answer, 403)
    }
    for (const path of ['', '/members', `/members/${dev.name}`, '/repos', `/repos/${org}/one`])
      assertNotFound(await allot.as(dev, 'GET', `/teams/${id}${path}`))
    for (const path of ['', '/search'])
      assertNotFound(await allot.as(dev, 'GET', `/orgs/${org}/teams${path}`))
    for (const [method, path] of CHANGES.slice(2, 6))
      assertNotFound(await allot.as(owner, method, path.replace(dev.name, 'nobody').replace('/one', '/none')))
    assertNotFound(await allot.as(owner, 'POST', '/orgs/nowhere/teams', { name: 'x' }))
    await allot.as(owner, 'DELETE', `/teams/${id}`)
  })

  const BAD: [what: string, body: object, message: RegExp][] = [
    ['no name', { permission: 'read' }, /name/i],
    ['an empty name', { name: '' }, /^name: /],
    ['a name with a slash', { name: 'a/b' }, /^name: /],
    ['the name of the owners', { name: 'owners' }, /^name: /],
    ['an unknown permission', { name: 'x', permission: 'all' }, /^permission: /],
    ['an unknown unit', { name: 'x', units: ['repo.x'] }, /^units\[0\]: /],
    ['an unknown level', { name: 'x', units_map: { 'repo.code': 'all' } }, /^units_map\./],
    ['a description of 256 characters', { name: 'x', description: 'x'.repeat(256) }, /^description: /],
  ]
  for (const [what, body, message] of BAD)
    it(`is refused with 422: ${what}`, async () => {
      assertError(await allot.as(owner, 'POST', `/orgs/${org}/teams`, body), 422, message)
    })

  it('has a name of its own in the organization', async () => {
    const [one, two] = [await aTeam({ name: 'Same' }), await aTeam({ name: 'Other' })]
    assertError(await allot.as(owner, 'POST', `/orgs/${org}/teams`, { name: 'same' }), 422, /already/)
    assertError(await allot.as(owner, 'PATCH', `/teams/${two.id}`, { name: 'SAME' }), 422, /already/)
    for (const { id } of [one, two]) await allot.as(owner, 'DELETE', `/teams/${id}`)
  })
})

describe('A transfer', () => {
  it('to another owner is offered, and accepted by the new owner alone', async () => {
    const [alice, bob, carl] = [await allot.person(), await allot.person(), await allot.person()]
    await made(alice, '/user/repos', { name: 'gift', private: true })
    const at = `/repos/${alice.name}/gift/transfer`
    assert.equal(await permissionsOf(bob, `${alice.name}/gift`), 404)
    const offered = await allot.as(alice, 'POST', at, { new_owner: bob.name })
    assert.deepEqual([offered.status, offered.body.owner.login], [201, alice.name])
    assertError(await allot.as(alice, 'POST', at, { new_owner: carl.name }), 409, /already offered/)
    for (const person of [alice, bob]) {
      const { status, body } = await allot.as(person, 'GET', `/repos/${alice.name}/gift`)
      const { doer, recipient, teams } = body.repo_transfer
      assert.deepEqual([status, doer.login, recipient.login, teams], [200, alice.name, bob.name, []])
    }
    for (const person of [alice, carl]) assertNotFound(await allot.as(person, 'POST', `${at}/accept`))
    assertNotFound(await allot.as(carl, 'POST', `${at}/reject`))
    const moved = await allot.as(bob, 'POST', `${at}/accept`)
    const { full_name, repo_transfer } = moved.body
    assert.deepEqual([moved.status, full_name, repo_transfer], [202, `${bob.name}/gift`, null])
    assertNotFound(await allot.as(bob, 'POST', `/repos/${bob.name}/gift/transfer/accept`))
  })

  it('to the present owner changes nothing', async () => {
    const alice = await allot.person()
    await made(alice, '/user/repos', { name: 'kept' })
    const path = `/repos/${alice.name}/kept`
    assert.equal((await allot.as(alice, 'POST', `${path}/transfer`, { new_owner: alice.name })).status, 202)
    assert.equal((await allot.as(alice, 'GET', path)).body.owner.login, alice.name)
  })

  it('that is offered is rejected by the new owner or taken back, and its usage stays', async () => {
    const [alice, bob] = [await allot.person(), await allot.person()]
    const { id } = await made(alice, '/user/repos', { name: 'kept' })
    await allot.allot.repositories.resize(id, 5000)
    await made(bob, '/orgs', { username: `org-${bob.name}` })
    const at = `/repos/${alice.name}/kept/transfer`
    for (const who of [bob, alice]) {
      assert.equal((await allot.as(alice, 'POST', at, { new_owner: `org-${bob.name}` })).status, 201)
      const seen = await allot.as(undefined, 'GET', `/repos/${alice.name}/kept`)
      assert.equal(seen.body.repo_transfer, null)
      assert.equal((await allot.as(who, 'POST', `${at}/reject`)).status, 200)
      assertNotFound(await allot.as(bob, 'POST', `${at}/accept`))
    }
    const used = async (person: Person) =>
      (await allot.as(person, 'GET', '/user/quota')).body.used.size.repos.public
    assert.deepEqual([await used(alice), await used(bob)], [5000, 0])
    await allot.as(alice, 'POST', at, { new_owner: bob.name })
    await allot.as(bob, 'POST', `${at}/accept`)
    assert.deepEqual([await used(alice), await used(bob)], [0, 5000])
  })

  it('ends, and is no longer shown, once the user who offered the repository cannot give it away', async () => {
    const [alice, bob, carl] = [await allot.person(), await allot.person(), await allot.person()]
    const org = `org-${alice.name}`
    await made(alice, '/orgs', { username: org })
    const asOwner = { role: 'owner' }
    assertNoContent(await allot.as(alice, 'PUT', `/orgs/${org}/members/${bob.name}`, asOwner))
    await made(alice, `/orgs/${org}/repos`, { name: 'kept', private: true })
    const [path, at] = [`/repos/${org}/kept`, `/repos/${org}/kept/transfer`]
    const offer = async () =>
      (await allot.as(bob, 'POST', at, { new_owner: carl.name })).body.repo_transfer.recipient.login
    assert.equal(await offer(), carl.name)
    assert.equal((await allot.as(carl, 'GET', path)).status, 200)
    assertNoContent(await allot.as(alice, 'DELETE', `/orgs/${org}/members/${bob.name}`))
    assertNotFound(await allot.as(carl, 'GET', path))
    assertNotFound(await allot.as(carl, 'POST', `${at}/accept`))
    assert.equal((await allot.as(alice, 'GET', path)).body.repo_transfer, null)
    assert.equal((await allot.as(alice, 'POST', at, { new_owner: carl.name })).status, 201)
    assert.equal((await allot.as(alice, 'POST', `${at}/reject`)).status, 200)
    assertNoContent(await allot.as(alice, 'PUT', `/orgs/${org}/members/${bob.name}`, asOwner))
    assert.equal(await offer(), carl.name)
    const inactive = { active: false }
    assert.equal((await allot.as(allot.root, 'PATCH', `/admin/users/${bob.name}`, inactive)).status, 200)
    assertNotFound(await allot.as(carl, 'POST', `${at}/accept`))
  })

  it('is refused with 422 when the new owner has the name, at once and on acceptance', async () => {
    const [alice, bob] = [await allot.person(), await allot.person()]
    await made(alice, '/orgs', { username: 'taker' })
    await made(alice, '/user/repos', { name: 'twice' })
    await made(alice, '/orgs/taker/repos', { name: 'twice' })
    await made(bob, '/user/repos', { name: 'twice' })
    const at = `/repos/${alice.name}/twice/transfer`
    assertError(await allot.as(alice, 'POST', at, { new_owner: 'taker' }), 422, /^new_owner: /)
    await allot.as(alice, 'POST', at, { new_owner: bob.name })
    assertError(await allot.as(bob, 'POST', `${at}/accept`), 422, /^new_owner: /)
    assert.equal((await allot.as(alice, 'GET', `/repos/${alice.name}/twice`)).status, 200)
    assertError(await allot.as(alice, 'POST', at, { new_owner: 'taker', team_ids: [1] }), 422, /^team_ids: /)
  })
})

describe('An Allot without sharing', () => {
  it('serves no collaborators and teams, and transfers still', async () => {
    const without = await start({ repositories: false, sharing: false })
    for (const path of ['/orgs/x/teams', '/repos/root/x/collaborators', '/user/teams'])
      assertNotFound(await without.as(without.root, 'GET', path))
    const person = await without.person('ann')
    await without.as(without.root, 'POST', '/user/repos', { name: 'x' })
    const body = { new_owner: person.name }
    assert.equal((await without.as(without.root, 'POST', '/repos/root/x/transfer', body)).status, 202)
  })
})
