import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import type { MigrationOptions } from '../../bin/migrate/migration.ts'
import { parseRenames } from '../../bin/migrate/names/renames.ts'
import { OPERATOR } from '../../lib/accounts/access.ts'
import type { HookEdit } from '../../lib/webhooks/hook-checks.ts'
import {
  type Model,
  type ModelRepository,
  type ModelUser,
  repositoryOf,
  teamOf,
  unitsOf,
  userOf,
} from './model.ts'
import { modelSource } from './model-source.ts'
import { startTarget, type Target } from './two.ts'

const user = (id: number, login: string, more: Partial<ModelUser> = {}) => userOf(login, { id, ...more })
const repository = (id: number, owner: string, name: string, more: Partial<ModelRepository> = {}) =>
  repositoryOf(owner, name, { id, ...more })

const aModel = (): Model => ({
  open: true,
  users: [
    user(1, 'root1', { admin: true }),
    user(2, 'ann'),
    user(3, 'ben', { follows: ['ann'], stars: ['ann/demo'] }),
    user(5, 'dora'),
  ],
  organizations: [
    {
      ...{ id: 4, name: 'acme', visibility: 'public' },
      teams: [
        teamOf(1, ['ann'], { name: 'owners', level: 'owner', units: unitsOf('owner') }),
        teamOf(2, ['ben'], {
          ...{ name: 'crew', all: false, repositories: ['site'], create: false },
          units: unitsOf('write', { 'repo.packages': 'none' }),
        }),
      ],
    },
  ],
  repositories: [
    repository(10, 'ann', 'demo'),
    repository(11, 'ann', 'other'),
    repository(12, 'acme', 'site', { private: true, collaborators: { root1: 'read' } }),
    repository(13, 'ann', 'shared', { private: true, collaborators: { dora: 'write' } }),
  ],
})

const source = modelSource(aModel())
let target: Target
let isStarted = false
const run = async (options: Partial<MigrationOptions> = {}, owners: string[] = []) =>
  (await target.from({ ...source, root: { ...target.root, token: 'secret' } }, owners, options)).text
const renaming = (...pairs: string[]) => ({ renames: parseRenames(pairs) })

const fresh = async () => {
  source.model = aModel()
  target = await startTarget({ git: false })
  isStarted = true
}
afterEach(async () => {
  if (isStarted) await target.stop()
  isStarted = false
})

const at = {
  user: (login: string) => source.model.users.find((one) => one.login === login)!,
  repository: (id: number) => source.model.repositories.find((one) => one.id === id)!,
}
const account = (name: string) => target.allot.hosting.accounts.byName(name)
const found = (owner: string, name: string) => target.allot.hosting.repositories.find(OPERATOR, owner, name)
/** Changes that the audit log has of the command line, the oldest first. */
const audited = async (action: string) => {
  const { body } = await target.as(target.root, 'GET', '/admin/audit?limit=50')
  const entries: { actor: { login: string }; action: string; subject: string; before: string }[] = body
  const own = entries.filter((one) => one.action === action && one.actor.login === 'operator')
  return own.reverse().map(({ subject, before }) => [subject, before] as const)
}
/** Renames a user at the source, with everything there that names the user. */
const renameUser = (from: string, to: string) => {
  const text = JSON.stringify(source.model)
  source.model = JSON.parse(text.replaceAll(`"${from}"`, `"${to}"`).replaceAll(`"${from}/`, `"${to}/`))
}

describe('A name that is chosen', () => {
  it('is that of the account and of the repository here, and follows, stars and teams lead to them', async () => {
    await fresh()
    await target.person('ann')
    const text = await run(renaming('Ann=anna', 'ann/demo=ann/show', 'acme=ACME2', 'acme/site=acme/page'))
    assert.match(text, /^with another name here:\n {2}accounts: ann is anna, acme is ACME2\n/m)
    assert.match(text, /^ {2}repositories: .*ann\/demo is anna\/show/m)
    assert.ok(await found('anna', 'show'))
    const [ben, anna] = [(await account('ben'))!, (await account('anna'))!]
    const { relations, organizations, teamRepositories, teams } = target.allot.hosting
    assert.equal(await relations.follows.check(OPERATOR, ben.id, 'anna'), true)
    assert.ok(await relations.stars.check({ ...OPERATOR, id: ben.id }, { owner: 'anna', name: 'show' }))
    assert.equal(await organizations.isOwner((await account('acme2'))!.id, anna.id), true)
    const page = await teams.list(OPERATOR, 'acme2', { offset: 0, limit: 9 })
    const crew = page!.items.find(({ team }) => team?.name === 'crew')!.team!
    assert.ok(await teamRepositories.find(OPERATOR, crew.id, { owner: 'acme2', name: 'page' }))
    assert.equal(await found('ann', 'demo'), undefined, 'the account of that name here is another one')
  })

  it('is remembered: a later run without it finds the copies and changes nothing', async () => {
    await fresh()
    await run(renaming('ann=anna', 'ann/demo=ann/show'))
    const again = await run()
    assert.doesNotMatch(again, /[1-9]\d* (copied|updated)|^(revoked|failed)/m)
    assert.match(again, /ann is anna/)
    assert.equal(await account('ann'), undefined)
  })

  it('is given to a copy that has another one', async () => {
    await fresh()
    await run()
    const { id } = (await account('ann'))!
    await run(renaming('ann=anna', 'ann/demo=ann/show'))
    assert.equal((await account('anna'))!.id, id)
    assert.ok(await found('anna', 'show'))
    assert.equal(await account('ann'), undefined)
    assert.deepEqual((await audited('account changed')).at(-1), ['anna', '{"name":"ann"}'])
  })

  const WRONG: [pair: string[], why: RegExp][] = [
    [['ann'], /^--rename ann: expected OLD=NEW, or OWNER\/OLD=OWNER\/NEW for a repository$/],
    [['ann='], /^--rename ann=: expected OLD=NEW/],
    [['a=b=c'], /^--rename a=b=c: expected OLD=NEW/],
    [['ann/demo=show'], /^--rename ann\/demo=show: expected OLD=NEW/],
    [['ann/=ann/x'], /^--rename ann\/=ann\/x: expected OLD=NEW/],
    [['ann/demo=ben/demo'], /: a repository keeps its owner: name the same one on both sides/],
    [['ann=a..b'], /^--rename ann=a\.\.b: name: only letters, digits/],
    [['ann=login'], /^--rename ann=login: name: login is reserved$/],
    [['ann/demo=ann/x.git'], /: name: the name of a repository must not end in \.git/],
    [['ann=x', 'Ann=y'], /^--rename Ann=y: Ann is given twice$/],
    [['ann=x', 'ben=X'], /^--rename ben=X: X is given twice$/],
  ]
  for (const [pairs, why] of WRONG)
    it(`is refused in one sentence: ${pairs.join(' ')}`, () => {
      assert.throws(
        () => parseRenames(pairs),
        ({ message }: Error) => {
          assert.match(message, why)
          return !message.includes('\n')
        },
      )
    })

  it('is refused before anything is copied when the new name is taken or the old one does not exist', async () => {
    await fresh()
    await target.person('eve')
    const TAKEN: [pair: string, why: RegExp][] = [
      ['nobody=x', /: there is no user or organization named nobody at http\S+; nothing was copied$/],
      ['ann=ben', /: ben is another account at http\S+: choose another name, or rename that one too; /],
      ['ann=eve', /: eve exists here already: choose another name; nothing was copied$/],
      ['ann/none=ann/x', /: there is no repository ann\/none at http\S+; nothing was copied$/],
      [
        'ann/demo=ann/other',
        /: ann\/other is another repository at http\S+: choose another name, or rename that one too; /,
      ],
    ]
    for (const [pair, why] of TAKEN) await assert.rejects(run(renaming(pair)), why)
    assert.equal(await account('ann'), undefined)
  })
})

describe('A later run', () => {
  it('renames the copies of what was renamed at the source, with everything that they have', async () => {
    await fresh()
    await run()
    const { id } = (await account('ann'))!
    renameUser('ann', 'anna')
    at.repository(10).name = 'show'
    at.user('ben').stars = ['anna/show']
    const text = await run()
    assert.doesNotMatch(text, /^(revoked|removed|failed|different)/m)
    assert.equal((await account('anna'))!.id, id)
    assert.equal(await account('ann'), undefined)
    assert.equal((await found('anna', 'show'))!.owner, id)
    const ben = (await account('ben'))!
    assert.equal(await target.allot.hosting.relations.follows.check(OPERATOR, ben.id, 'anna'), true)
    assert.doesNotMatch(await run(), /[1-9]\d* (copied|updated)|^(revoked|failed)/m)
  })

  it('exchanges names that another copy must leave first', async () => {
    await fresh()
    await run()
    const [ann, ben] = [(await account('ann'))!.id, (await account('ben'))!.id]
    renameUser('ben', 'carl')
    renameUser('ann', 'ben')
    at.user('carl').follows = ['ben']
    assert.doesNotMatch(await run(), /^(revoked|failed|different)/m)
    assert.deepEqual([(await account('ben'))!.id, (await account('carl'))!.id], [ann, ben])
  })

  it('gives nothing of a copy to another account that has got its name at the source', async () => {
    await fresh()
    await run()
    const { id } = (await account('ann'))!
    source.model.users = source.model.users.filter(({ login }) => login !== 'ann')
    source.model.users.push(user(20, 'ann'))
    source.model.repositories = source.model.repositories.filter(({ owner }) => owner !== 'ann')
    source.model.organizations[0]!.teams[0]!.members = []
    const text = await run()
    assert.match(
      text,
      /^ {2}the user ann: name: ann here is the copy of another account .*--rename ann=NAME/m,
    )
    assert.equal((await account('ann'))!.active, false)
    const later = await run(renaming('ann=ann2'))
    assert.match(later, /ann is ann2/)
    assert.notEqual((await account('ann2'))!.id, id)
    assert.equal((await account('ann2'))!.active, true)
  })

  it('moves a repository that was transferred at the source, with its rights', async () => {
    await fresh()
    await run()
    const { id } = (await found('ann', 'shared'))!
    Object.assign(at.repository(13), { owner: 'acme', name: 'joint' })
    const text = await run()
    assert.doesNotMatch(text, /^(failed|revoked)/m)
    const [moved, acme] = [(await found('acme', 'joint'))!, (await account('acme'))!]
    assert.deepEqual([moved.id, moved.owner, moved.private], [id, acme.id, true])
    assert.equal(
      await target.allot.hosting.collaborators.has(OPERATOR, { owner: 'acme', name: 'joint' }, 'dora'),
      true,
    )
    assert.doesNotMatch(await run(), /[1-9]\d* (copied|updated)|^(revoked|failed)/m)
  })

  it('of one owner hides a repository that this owner gave away, until a run of everything', async () => {
    await fresh()
    await run()
    Object.assign(at.repository(10), { owner: 'acme' })
    await run({}, ['ann'])
    const hidden = (await found('ann', 'demo'))!
    assert.deepEqual([hidden.private, hidden.archived], [true, true])
    await run()
    const moved = (await found('acme', 'demo'))!
    assert.deepEqual([moved.id, moved.private, moved.archived], [hidden.id, false, false])
  })

  it('keeps a name that was chosen here when the source changes its own', async () => {
    await fresh()
    await run(renaming('ann=annette'))
    renameUser('ann', 'anna')
    const text = await run()
    assert.match(text, /anna is annette/)
    assert.equal(await account('anna'), undefined)
  })

  it('names what it cannot follow, since the new name is taken here', async () => {
    await fresh()
    await run()
    await target.person('anna')
    renameUser('ann', 'anna')
    const text = await run()
    assert.match(text, /cannot get that name or owner here: ann to anna \(name: anna is already taken\)/)
    assert.ok(await account('ann'))
  })

  it('takes a repository that was deleted at the source from its collaborators and teams', async () => {
    await fresh()
    await run()
    source.model.repositories = source.model.repositories.filter(({ id }) => id !== 12 && id !== 13)
    source.model.organizations[0]!.teams[1]!.repositories = []
    const text = await run()
    const [ben, dora] = [(await account('ben'))!.id, (await account('dora'))!.id]
    const { repositories } = target.allot.hosting
    assert.equal(await repositories.find({ id: dora, admin: false }, 'ann', 'shared'), undefined)
    assert.equal(await repositories.find({ id: ben, admin: false }, 'acme', 'site'), undefined)
    for (const line of [
      /^ {2}collaborators: dora \(ann\/shared\)$/m,
      /^ {2}repositories of teams: acme\/site \(acme\/crew\)$/m,
    ])
      assert.match(text, line)
  })

  it('copies the rest when a team of the repository that was deleted is for all repositories since then', async () => {
    await fresh()
    await run()
    source.model.repositories = source.model.repositories.filter(({ id }) => id !== 12 && id !== 13)
    source.model.organizations[0]!.teams[1]!.all = true
    assert.doesNotMatch(await run(), /failed/)
    assert.match(await run(), /repositories: 0 copied/)
  })
})

describe('Packages of an organization', () => {
  it('come in the run that shows it, and go in the run that hides it', async () => {
    await fresh()
    const [acme] = source.model.organizations
    const answers: Record<string, () => Response> = {
      '/api/v1/packages/acme': () =>
        Response.json([{ type: 'generic', name: 'kit', version: '1.0', creator: { login: 'ann' } }]),
      '/api/v1/packages/acme/generic/kit/1.0/files': () => Response.json([{ name: 'kit.bin', size: 3 }]),
      '/api/packages/acme/generic/kit/1.0/kit.bin': () => new Response('abc'),
    }
    const fetch: typeof source.fetch = async (url, request) =>
      answers[new URL(url).pathname]?.() ?? source.fetch(url, request)
    const from = { ...source, root: { ...target.root, token: 'secret' }, fetch }
    for (const [visibility, text] of [
      ['private', /packages of private organizations: .*: acme \(1\)$/m],
      ['public', /^package files: 1 copied, 0 already there$/m],
      ['private', /^ {2}package files: acme: kit 1\.0 kit\.bin$/m],
    ] as const) {
      acme!.visibility = visibility
      assert.match((await target.from(from)).text, text)
      const files = await target.allot.hosting.packages.file(
        OPERATOR,
        { owner: 'acme', type: 'generic', name: 'kit', version: '1.0' },
        'kit.bin',
      )
      assert.equal(files !== undefined, visibility === 'public')
      const compared = await target.compared(from)
      assert.ok(compared.isSame(), compared.text)
    }
  })
})

describe('A copy that is deleted here during a run', () => {
  it('is named in the report, and the rest is copied', async () => {
    await fresh()
    at.repository(10).private = true
    at.user('dora').visibility = 'private'
    await run()
    at.repository(10).private = false
    at.user('dora').visibility = 'public'
    source.model.users.push(user(6, 'eve'))
    const deletes: typeof source.fetch = async (url, request) => {
      if (url.includes('/packages/acme'))
        for (const path of ['/repos/ann/demo', '/admin/users/dora?purge=true'])
          await target.as(target.root, 'DELETE', path)
      return source.fetch(url, request)
    }
    const from = { ...source, root: { ...target.root, token: 'secret' }, fetch: deletes }
    const { text } = await target.from(from)
    for (const what of ['ann/demo', 'dora'])
      assert.match(text, new RegExp(`^ {2}${what}: it was deleted during the migration$`, 'm'))
    assert.ok(await account('eve'))
  })
})

describe('A run that was killed', () => {
  it('leaves no user without a right to sign in whom the next run gives it, although something fails', async () => {
    await fresh()
    await target.as(target.root, 'POST', '/admin/users', { username: 'eve', email: 'ann@example.org' })
    const from = { ...source, root: { ...target.root, token: 'secret' } }
    const dies: typeof source.fetch = async (url, request) => {
      if (url.includes('/orgs/acme/teams')) throw new Error('killed')
      return source.fetch(url, request)
    }
    await assert.rejects(target.from({ ...from, fetch: dies }), /killed/)
    assert.equal((await account('ann'))!.active, false)
    source.answers = { '/users/dora/keys': 500 }
    assert.equal((await target.from(from)).isComplete(), false)
    source.answers = {}
    assert.equal((await account('ann'))!.active, true)
  })
})

describe('Webhooks', () => {
  const STAYS = /^ {2}webhooks that were removed at the source, and stay, .*: 1 \(ann\/demo\)$/m
  it('come without secrets and inactive, and follow the source until they are active here', async () => {
    await fresh()
    at.repository(10).hooks = [
      { id: 1, url: 'https://ci.example.org/one' },
      { id: 2, url: 'https://chat.example.org/two', type: 'slack' },
      { id: 3, url: 'https://ci.example.org/three', events: ['push', 'moon_phase'] },
      { id: 4, url: 'http://127.0.0.1/four' },
    ]
    // Accounts and repositories have the same ids.
    Object.assign(source.model.organizations[0]!, {
      id: 10,
      hooks: [{ id: 5, url: 'https://ci.example.org/five' }],
    })
    source.model.organizations[0]!.email = 'office@example.org'
    const text = await run()
    assert.match(text, /^webhooks: 3 copied/m)
    assert.match(
      text,
      /^ {2}webhooks without their secrets: .*: webhook 5 of acme, webhook 1 of ann\/demo, /m,
    )
    assert.match(text, /^ {2}webhooks of other types than .*: webhook 2 of ann\/demo$/m)
    assert.match(text, /^ {2}webhooks that are refused here: webhook 4 of ann\/demo \(config\.url: .+\)$/m)
    assert.match(text, /^ {2}email addresses of organizations: office@example\.org of acme$/m)
    const compared = await target.compared({ ...source, root: { ...target.root, token: 'secret' } })
    assert.match(
      compared.text,
      /^ {2}webhooks that are refused here: webhook 4 of ann\/demo \(config\.url: .+\)$/m,
    )
    assert.ok(compared.isSame(), compared.text)
    assert.match(await run(), /^webhooks: 0 copied, 3 already there$/m)
    const { hooks } = target.allot.hosting
    const { id } = (await found('ann', 'demo'))!
    const place = async () => ({ scope: 'repository', target: id, name: 'ann/demo' }) as const
    const all = async () => (await hooks.list(place, { offset: 0, limit: 9 }))!.items
    assert.deepEqual(
      (await all()).map(({ url, active, secret, authorization, events }) => [
        url,
        active,
        secret + authorization,
        events,
      ]),
      [
        ['https://ci.example.org/one', false, '', ['push']],
        ['https://ci.example.org/three', false, '', ['push']],
      ],
    )
    const subjects = (await audited('webhook created')).map(([subject]) => subject)
    assert.deepEqual(subjects.sort(), ['acme', 'ann/demo', 'ann/demo'])
    const by = { id: 1, username: 'root' }
    await hooks.edit(by, place, (await all())[0]!.id, { active: true, secret: 'a secret' })
    at.repository(10).hooks = [{ id: 3, url: 'https://ci.example.org/3' }]
    const later = await run()
    assert.match(later, STAYS)
    assert.deepEqual(
      (await all()).map(({ url, active }) => [url, active]),
      [
        ['https://ci.example.org/one', true],
        ['https://ci.example.org/3', false],
      ],
    )
    await hooks.edit(by, place, (await all())[0]!.id, { active: false, secret: '' })
    await run()
    assert.deepEqual(
      (await all()).map(({ url }) => url),
      ['https://ci.example.org/3'],
    )
  })
  const CHANGES: [what: string, edit: HookEdit, stays: boolean][] = [
    ['another URL', { url: 'https://ci.example.org/mine' }, false],
    ['other events', { events: ['push', 'release'] }, false],
    ['other branches', { branchFilter: 'main' }, false],
    ['a secret', { secret: 'a secret' }, true],
    ['a header Authorization', { authorization: 'Bearer mine' }, true],
  ]
  for (const [what, edit, stays] of CHANGES)
    it(`that got ${what} here ${stays ? 'stay' : 'go'} when the source removes them, and are listed`, async () => {
      await fresh()
      at.repository(10).hooks = [1, 2].map((id) => ({ id, url: `https://ci.example.org/${id}` }))
      await run()
      const { hooks } = target.allot.hosting
      const { id } = (await found('ann', 'demo'))!
      const place = async () => ({ scope: 'repository', target: id, name: 'ann/demo' }) as const
      const all = async () => (await hooks.list(place, { offset: 0, limit: 9 }))!.items
      const changed = await hooks.edit({ id: 1, username: 'root' }, place, (await all())[0]!.id, edit)
      at.repository(10).hooks = []
      assert.match(await run(), stays ? STAYS : /^ {2}webhooks that were changed here: 1 \(ann\/demo\)$/m)
      assert.deepEqual(await all(), stays ? [changed] : [])
    })
})
