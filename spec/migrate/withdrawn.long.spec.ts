import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { OPERATOR } from '../../lib/accounts/access.ts'
import { generateSshKey } from '../support/keygen.ts'
import { type Model, type ModelTeam, repositoryOf, rightsAt, teamOf, unitsOf, userOf } from './model.ts'
import { type ModelSource, modelSource } from './model-source.ts'
import { assertNoExcess, rightsHere } from './rights.ts'
import { startTarget } from './two.ts'

const { key } = generateSshKey('ed25519')
const SOME = { offset: 0, limit: 9 }

/** @param keys of ann; to parse one, each new target starts a thread */
const aModel = (keys: string[] = []): Model => ({
  open: true,
  users: [
    userOf('root1', { admin: true }),
    userOf('ann', { keys, follows: ['ben'], stars: ['acme/site'] }),
    userOf('ben', { admin: true }),
    userOf('carl'),
  ],
  organizations: [
    {
      name: 'acme',
      visibility: 'public',
      teams: [teamOf(1, ['ann'], { level: 'owner' }), teamOf(2, ['carl'])],
    },
  ],
  repositories: [
    repositoryOf('acme', 'site'),
    repositoryOf('acme', 'secret', { private: true }),
    repositoryOf('ann', 'demo'),
  ],
})

/** A source and a store of one test, with what it asks of both. */
const sceneOf = async (t: TestContext, model: Model, answers: ModelSource['answers'] = {}) => {
  const source = modelSource(model)
  source.answers = answers
  const target = await startTarget({ git: false })
  t.after(target.stop)
  const { accounts, organizations, repositories, sshKeys, teams, teamRepositories } = target.allot.hosting
  const accountHere = async (name: string) => (await accounts.byName(name))!
  return {
    source,
    target,
    accountHere,
    of: {
      user: (login: string) => source.model.users.find((one) => one.login === login)!,
      team: (id: number) => source.model.organizations[0]!.teams.find((one) => one.id === id)!,
      repository: (name: string) => source.model.repositories.find((one) => one.name === name)!,
    },
    /** @returns the report */
    run: async (): Promise<string> =>
      (await target.from({ ...source, root: { ...target.root, token: 'secret' } })).text,
    isMember: (login: string) => organizations.hasMember(OPERATOR, 'acme', login),
    repositoryHere: async (owner: string, name: string) => (await repositories.find(OPERATOR, owner, name))!,
    keysOf: async (name: string) => (await sshKeys.list((await accountHere(name)).id, SOME)).items,
    teamsHere: async () =>
      (await teams.list(OPERATOR, 'acme', SOME))!.items.flatMap((found) => found.team ?? []),
    /** Names of the members and of the repositories of a team. */
    within: async (id: number) => {
      const pages = [await teams.members(OPERATOR, id, SOME), await teamRepositories.list(OPERATOR, id, SOME)]
      return pages.map((page) => page!.items.map(({ name }) => name))
    },
  }
}
type Scene = Awaited<ReturnType<typeof sceneOf>>

/** The same after a first run, with its report. */
const begun = async (t: TestContext, model = aModel()) => {
  const scene = await sceneOf(t, model)
  const text = await scene.run()
  await assertNoExcess(scene.target, model)
  return { ...scene, text }
}

/** The same after a first run from a source that answers one list of a repository with another status. */
const begunWith = async (t: TestContext, list: string, status: number) => {
  const scene = await sceneOf(t, aModel(), { [`/repos/acme/secret/${list}`]: status })
  return { ...scene, text: await scene.run() }
}

describe('A member of a team', () => {
  const LESS: [what: string, team: Partial<ModelTeam>, change?: () => void][] = [
    [
      'who reads two repositories of three',
      { level: 'read', all: false, repositories: ['site'], units: unitsOf('read') },
    ],
    ['who may not write to every repository', { all: false, repositories: ['site'] }],
    ['who may not write to every unit', { units: unitsOf('write', { 'repo.releases': 'read' }) }],
    ['who has no packages', { units: unitsOf('write', { 'repo.packages': 'none' }) }],
    ['who may not create repositories', { create: false }],
  ]
  for (const [what, less] of LESS)
    it(`${what} has the rights of the team and no more`, async (t) => {
      const model = aModel()
      Object.assign(model.organizations[0]!.teams[1]!, less)
      const { text, target, of, isMember } = await begun(t, model)
      assert.match(text, /^team memberships: 1 copied/m)
      assert.equal(await isMember('carl'), true)
      for (const name of ['site', 'secret'])
        assert.deepEqual(
          (await rightsHere(target, 'carl', of.repository(name))).code,
          rightsAt(model, 'carl', of.repository(name)).code,
        )
    })

  it('who may not push to every branch only reads code, and is reported', async (t) => {
    const model = aModel()
    model.repositories[0]!.protected = true
    const { text, target, of } = await begun(t, model)
    assert.match(text, /^rights left out:\n {2}teams that only read code here, .*: team2 of acme$/m)
    const { code, issues } = await rightsHere(target, 'carl', of.repository('secret'))
    assert.deepEqual([code, issues], [1, 2])
  })

  for (const list of ['branch_protections', 'tag_protections']) {
    for (const status of [401, 403])
      it(`only reads code when the ${list} are not shown (${status})`, async (t) => {
        const { text, target, of } = await begunWith(t, list, status)
        assert.match(text, /^rights left out:\n {2}teams that only read code here, .*: team2 of acme$/m)
        assert.equal((await rightsHere(target, 'carl', of.repository('secret'))).code, 1)
      })

    for (const status of [404, 405])
      it(`writes code when the source has no ${list} (${status})`, async (t) => {
        const { target, of } = await begunWith(t, list, status)
        assert.equal((await rightsHere(target, 'carl', of.repository('secret'))).code, 2)
      })

    for (const status of [400, 500])
      it(`is not copied, nor is the organization, when the ${list} cannot be read (${status})`, async (t) => {
        const { text, target } = await begunWith(t, list, status)
        assert.match(
          text,
          new RegExp(`^ {2}the organization acme: .*/acme/secret/${list} answered ${status}`, 'm'),
        )
        assert.equal(await target.allot.hosting.accounts.byName('acme'), undefined)
      })
  }

  it('who may write to everything is a member, and an owner is an owner', async (t) => {
    const { target, accountHere, isMember } = await begun(t)
    assert.equal(await isMember('carl'), true)
    const { id } = await accountHere('acme')
    assert.equal(await target.allot.hosting.organizations.isOwner(id, (await accountHere('ann')).id), true)
  })
})

it('The rights of a collaborator are withdrawn before members get theirs', async (t) => {
  const model = aModel()
  model.repositories[2]!.collaborators = { carl: 'admin' }
  const { source, target, accountHere, of, repositoryHere } = await begun(t, model)
  of.repository('demo').collaborators = {}
  const [{ id: carl }, { id: demo }] = [await accountHere('carl'), await repositoryHere('ann', 'demo')]
  const level = () => target.allot.hosting.collaborators.level(demo, carl)
  assert.equal(await level(), 'admin')
  let givenWith: unknown = 'nothing'
  const watched: typeof source.fetch = async (url, request) => {
    // It is asked for while members get their rights.
    if (url.includes('/orgs/acme/public_members')) givenWith = await level()
    return source.fetch(url, request)
  }
  await target.from({ ...source, root: { ...target.root, token: 'secret' }, fetch: watched })
  assert.equal(givenWith, undefined)
})

describe('Rights that Allot cannot express', () => {
  it('are left out and reported: collaborators with other rights, protected branches, and restricted users', async (t) => {
    const model = aModel()
    model.repositories[1]!.collaborators = { carl: 'admin' }
    model.repositories[2]!.collaborators = { carl: 'write', ben: 'admin' }
    model.repositories[2]!.protected = true
    model.users[3]!.restricted = true
    const { text, accountHere } = await begun(t, model)
    assert.match(text, /^ {2}collaborators whose own right .*carl of acme\/secret/m)
    assert.match(text, /^ {2}collaborators whose own right .*ben of ann\/demo/m)
    assert.match(text, /^ {2}collaborators who only read here, .*: carl of ann\/demo$/m)
    assert.match(text, /^ {2}restricted users, who are inactive here.*: carl$/m)
    assert.equal((await accountHere('carl')).active, false)
  })

  it('are not replaced by those of the owner of the token: an organization without known owners has none', async (t) => {
    const model = aModel()
    model.organizations[0]!.teams = [teamOf(2, ['carl'])]
    const { text, target, accountHere, isMember } = await begun(t, model)
    assert.match(text, /^ {2}organizations without an owner, .*: acme$/m)
    const [{ id }, root] = [await accountHere('acme'), await accountHere('root1')]
    assert.equal(await target.allot.hosting.organizations.isOwner(id, root.id), false)
    assert.equal(await isMember('root1'), false)
  })

  it('make public accounts visible to signed-in users only, when the source requires everyone to sign in', async (t) => {
    const { target, accountHere } = await begun(t, { ...aModel(), open: false })
    assert.equal((await accountHere('acme')).visibility, 'limited')
    assert.equal((await target.request('GET', '/repos/ann/demo')).status, 404)
  })
})

describe('A right that the source has revoked since an earlier run', () => {
  type Revocation = [change: (scene: Scene) => void, line: RegExp, check: (scene: Scene) => Promise<void>]
  const assertRevoked = async (t: TestContext, model: Model, [change, line, check]: Revocation) => {
    const scene = await begun(t, model)
    const { source, target, run } = scene
    change(scene)
    const text = await run()
    assert.match(text, new RegExp(`^re(?:vok|mov)ed, [^]*${line.source}`, 'm'))
    await check(scene)
    await assertNoExcess(target, source.model)
    assert.doesNotMatch(await run(), /revoked|removed/)
  }
  const WITHDRAWN: [what: string, ...Revocation][] = [
    [
      'a repository that is private now',
      ({ of }) => Object.assign(of.repository('demo'), { private: true }),
      /repositories: ann\/demo \(private: false → true\)/,
      async ({ repositoryHere }) => assert.equal((await repositoryHere('ann', 'demo')).private, true),
    ],
    [
      'a repository that is archived now',
      ({ of }) => Object.assign(of.repository('site'), { archived: true }),
      /repositories: acme\/site \(archived: false → true\)/,
      async ({ repositoryHere }) => assert.equal((await repositoryHere('acme', 'site')).archived, true),
    ],
    [
      'a repository that is deleted',
      ({ source }) => {
        source.model.repositories = source.model.repositories.filter(({ name }) => name !== 'demo')
      },
      /repositories: ann\/demo \(private: false → true and archived: false → true\)/,
      async ({ repositoryHere }) => assert.equal((await repositoryHere('ann', 'demo')).private, true),
    ],
    [
      'a user who is hidden now',
      ({ of }) => Object.assign(of.user('ann'), { visibility: 'private' }),
      /accounts: ann \(visibility: "public" → "private"\)/,
      async ({ accountHere }) => assert.equal((await accountHere('ann')).visibility, 'private'),
    ],
    [
      'an organization that is for signed-in users now',
      ({ source }) => Object.assign(source.model.organizations[0]!, { visibility: 'limited' }),
      /accounts: acme \(visibility: "public" → "limited"\)/,
      async ({ accountHere }) => assert.equal((await accountHere('acme')).visibility, 'limited'),
    ],
    [
      'a membership',
      ({ of }) => Object.assign(of.team(2), { members: [] }),
      /team memberships: carl \(acme\/team2\)/,
      async ({ isMember }) => assert.equal(await isMember('carl'), false),
    ],
    [
      'the right of a member to write to a repository',
      ({ of }) => Object.assign(of.team(2), { all: false, repositories: ['site'] }),
      /teams: team2 of acme \(allRepositories: true → false\)/,
      async ({ target, of }) =>
        assert.equal((await rightsHere(target, 'carl', of.repository('secret'))).code, 0),
    ],
    [
      'the last owner of an organization',
      ({ of }) => Object.assign(of.team(1), { members: [] }),
      /memberships: ann \(acme\)/,
      async ({ isMember }) => assert.equal(await isMember('ann'), false),
    ],
    [
      'the ownership of a member',
      ({ of }) => {
        Object.assign(of.team(1), { members: ['carl'] })
        Object.assign(of.team(2), { members: ['ann'] })
      },
      /memberships: ann \(acme\)/,
      async ({ target, accountHere }) => {
        const { organizations } = target.allot.hosting
        const { id } = await accountHere('acme')
        assert.equal(await organizations.isOwner(id, (await accountHere('ann')).id), false)
        assert.equal(await organizations.isOwner(id, (await accountHere('carl')).id), true)
      },
    ],
    [
      'the login of a user',
      ({ of }) => Object.assign(of.user('carl'), { prohibited: true }),
      /accounts: carl \(active: true → false\)/,
      async ({ accountHere }) => assert.equal((await accountHere('carl')).active, false),
    ],
    [
      'the rights of an administrator',
      ({ of }) => Object.assign(of.user('ben'), { admin: false }),
      /accounts: ben \(admin: true → false\)/,
      async ({ accountHere }) => assert.equal((await accountHere('ben')).admin, false),
    ],
    [
      'a follow and a star',
      ({ of }) => Object.assign(of.user('ann'), { follows: [], stars: [] }),
      /follows: ben \(ann\)\n {2}stars: acme\/site \(ann\)/,
      async ({ target, accountHere }) => {
        const { follows } = target.allot.hosting.relations
        assert.equal(await follows.check(OPERATOR, (await accountHere('ann')).id, 'ben'), false)
      },
    ],
    [
      'a user who is deleted',
      ({ source }) => {
        source.model.users = source.model.users.filter(({ login }) => login !== 'ben')
      },
      /accounts: ben \(admin: true → false and active: true → false and visibility: "public" → "private"\)/,
      async ({ accountHere }) => {
        const { admin, active, visibility } = await accountHere('ben')
        assert.deepEqual([admin, active, visibility], [false, false, 'private'])
      },
    ],
    [
      'an organization that is deleted',
      ({ source }) => {
        source.model.organizations = []
        source.model.repositories = source.model.repositories.filter(({ owner }) => owner !== 'acme')
      },
      /teams: team2 \(acme\)\n {2}memberships: ann \(acme\)/,
      async ({ accountHere }) => assert.equal((await accountHere('acme')).visibility, 'private'),
    ],
  ]
  for (const [what, ...revocation] of WITHDRAWN)
    it(`is revoked here, and reported: ${what}`, (t) => assertRevoked(t, aModel(), revocation))

  it('is revoked here, and reported: an SSH key', (t) =>
    assertRevoked(t, aModel([key]), [
      ({ of }) => Object.assign(of.user('ann'), { keys: [] }),
      /SSH keys: SHA256:\S+ \(ann\)/,
      async ({ keysOf }) => assert.deepEqual(await keysOf('ann'), []),
    ]))

  it('is revoked even when the earlier run ended before it recorded what it had copied', async (t) => {
    const { source, target, of, run, keysOf } = await begun(t, aModel([key]))
    const log = target.allot.hosting.migrationLog(source.base)
    for (const kind of ['account', 'repository', 'membership', 'sshKey'] as const)
      await log.save((await log.list(kind)).map(({ copy: _, digest: __, ...one }) => one))
    Object.assign(of.repository('demo'), { private: true })
    Object.assign(of.user('ben'), { admin: false })
    Object.assign(of.user('ann'), { keys: [] })
    Object.assign(of.team(2), { members: [] })
    await run()
    await assertNoExcess(target, source.model)
    assert.deepEqual(await keysOf('ann'), [])
  })
})

describe('What was created here', () => {
  it('stays, and rights of copies are those at the source again', async (t) => {
    const { target, accountHere, of, run, isMember, repositoryHere, keysOf } = await begun(t)
    const { accounts, organizations, repositories, relations, sshKeys } = target.allot.hosting
    const [acme, ben, carl] = [await accountHere('acme'), await accountHere('ben'), await accountHere('carl')]
    await organizations.setMember(acme.id, ben.id, { owner: false })
    await accounts.edit(carl.id, { admin: true })
    await sshKeys.add(ben.id, { title: 'mine', key: generateSshKey('ed25519').key })
    await relations.follows.follow({ id: carl.id, admin: true }, 'ann')
    const hers = await repositories.create(ben, ben, { name: 'hers' })
    const secret = await repositoryHere('acme', 'secret')
    await repositories.edit(secret.id, { private: false })
    Object.assign(of.repository('secret'), { archived: true })
    const text = await run()
    assert.match(text, /^ {2}accounts that were changed here: carl \(admin\)$/m)
    assert.match(text, /^ {2}repositories that were changed here: acme\/secret \(private and archived\)$/m)
    assert.match(
      text,
      /^ {2}repositories: acme\/secret \(private: false → true and archived: false → true\)$/m,
    )
    assert.equal(await isMember('ben'), true)
    assert.equal((await accountHere('carl')).admin, false)
    assert.equal((await keysOf('ben')).length, 1)
    assert.equal(await relations.follows.check(OPERATOR, carl.id, 'ann'), true)
    assert.deepEqual(await repositories.byId(hers.id), hers)
    assert.equal((await repositoryHere('acme', 'secret')).private, true)
  })

  it('stays when the source no longer has it, also where a copy of it was refused before', async (t) => {
    const { target, accountHere, of, run, keysOf } = await begun(t)
    const { sshKeys } = target.allot.hosting
    const [ann, ben] = [await accountHere('ann'), await accountHere('ben')]
    const used = await sshKeys.add(ben.id, { title: 'used', key })
    of.user('ann').keys = [key]
    assert.match(await run(), /Key content has been used/)
    await sshKeys.remove(ben.id, used.id)
    await sshKeys.add(ann.id, { title: 'mine', key })
    of.user('ann').keys = []
    await run()
    assert.equal((await keysOf('ann')).length, 1)
  })

  it('gets nothing from an organization of the same name at the source, where its members have no rights', async (t) => {
    const { target, run, isMember } = await sceneOf(t, aModel())
    const eve = await target.person('eve')
    await target.as(eve, 'POST', '/orgs', { username: 'acme' })
    const text = await run()
    assert.match(text, /^ {2}the organization acme: an organization of this name was created here/m)
    assert.equal(await target.allot.hosting.repositories.find(OPERATOR, 'acme', 'secret'), undefined)
    assert.equal(await isMember('carl'), false)
  })

  it('is at most as visible as at the source, in an account that was created here', async (t) => {
    const { target, of, run, repositoryHere } = await sceneOf(t, aModel())
    Object.assign(of.user('ann'), { visibility: 'limited' })
    await target.person('ann')
    const text = await run()
    assert.match(
      text,
      /^ {2}users created here, who are treated as the users of the same name at the source: ann$/m,
    )
    assert.equal((await repositoryHere('ann', 'demo')).private, true)
  })
})

describe('A team that was renamed', () => {
  const idOf = async ({ teamsHere }: Scene, name: string) =>
    (await teamsHere()).find((one) => one.name === name)?.id as number
  const membersOf = async (scene: Scene, name: string) => (await scene.within(await idOf(scene, name)))[0]

  it('here has the name, the rights and the members of the source again', async (t) => {
    const scene = await begun(t)
    const { source, target, of, run, isMember, teamsHere } = scene
    const id = await idOf(scene, 'team2')
    await target.allot.hosting.teams.edit(OPERATOR, id, () => ({ name: 'mine' }))
    Object.assign(of.team(2), { members: ['ben'], level: 'read', units: unitsOf('read') })
    const text = await run()
    assert.match(text, /^ {2}teams that were changed here: team2 of acme \(name and level and units\)$/m)
    assert.deepEqual(
      (await teamsHere()).map(({ name, level }) => [name, level]),
      [['team2', 'read']],
    )
    assert.deepEqual(await membersOf(scene, 'team2'), ['ben'])
    assert.equal(await isMember('carl'), false)
    await assertNoExcess(target, source.model)
  })

  it('at the source is another one here, also when one more gets its former name', async (t) => {
    const scene = await begun(t)
    const { source, of, run } = scene
    Object.assign(of.team(2), { name: 'devs' })
    source.model.organizations[0]!.teams.push(teamOf(3, ['ben'], { name: 'team2' }))
    await run()
    assert.deepEqual(await membersOf(scene, 'devs'), ['carl'])
    assert.deepEqual(await membersOf(scene, 'team2'), ['ben'])
    const text = await run()
    assert.match(text, /^teams: 0 copied, 2 already there$/m)
    assert.doesNotMatch(text, /the team /)
  })

  it('at the source is removed here, and gives nothing to one of the new name that was created here', async (t) => {
    const scene = await begun(t)
    const { target, of, run, teamsHere } = scene
    const { id: _, organization: __, name: ___, ...like } = (await teamsHere())[0]!
    await target.allot.hosting.teams.create(OPERATOR, 'acme', { ...like, name: 'devs' })
    Object.assign(of.team(2), { name: 'devs' })
    const text = await run()
    assert.match(text, /^ {2}teams: team2 \(acme\)$/m)
    assert.match(text, /^ {2}teams created here, which get nothing .*: devs of acme$/m)
    assert.deepEqual(
      (await teamsHere()).map(({ name }) => name),
      ['devs'],
    )
    assert.deepEqual(await membersOf(scene, 'devs'), [])
  })
})

describe('A team that the source removes', () => {
  /** A first run that copies team2 with carl and the repository site. */
  const copied = async (t: TestContext) => {
    const model = aModel()
    Object.assign(model.organizations[0]!.teams[1]!, { all: false, repositories: ['site'] })
    const scene = await begun(t, model)
    const [{ id } = assert.fail()] = await scene.teamsHere()
    assert.deepEqual(await scene.within(id), [['carl'], ['site']])
    const remove = () => {
      model.organizations[0]!.teams = [scene.of.team(1)]
    }
    return { ...scene, id, remove }
  }
  type Services = Scene['target']['allot']['hosting']
  type Change = (id: number, services: Services) => Promise<unknown>
  const CHANGES: [what: string, change: Change, line: RegExp][] = [
    [
      'another name',
      (id, { teams }) => teams.edit(OPERATOR, id, () => ({ name: 'mine' })),
      /^ {2}teams that were changed here: team2 \(acme\)$/m,
    ],
    [
      'a member',
      (id, { teams }) => teams.addMember(OPERATOR, id, 'ben'),
      /^ {2}members who were added here to teams that the source has removed: ben \(acme\/team2\)$/m,
    ],
  ]
  for (const [what, change, line] of CHANGES)
    it(`is removed when it got ${what} here, which the report names`, async (t) => {
      const { target, id, remove, run, teamsHere, isMember } = await copied(t)
      await change(id, target.allot.hosting)
      remove()
      assert.match(await run(), line)
      assert.deepEqual(await teamsHere(), [])
      for (const login of ['ben', 'carl']) assert.equal(await isMember(login), false)
    })

  it('is removed when it is as it was copied', async (t) => {
    const { remove, run, teamsHere } = await copied(t)
    remove()
    assert.match(await run(), /teams: team2 \(acme\)/)
    assert.deepEqual(await teamsHere(), [])
  })
})
