import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Report } from '../../bin/migrate/report.ts'
import { peopleBefore, startBefore, type TestServer } from '../support/test-server.ts'
import { startTarget, type Target } from './two.ts'

const [APP, TEAM] = ['/repos/ann/app', { name: 'crew', permission: 'admin', description: 'first' }]
let target: Target

const as = (server: TestServer, method: string, path: string, body?: object) =>
  server.done(server.root, method, path, body)
const teamPath = async (server: TestServer) => `/teams/${(await as(server, 'GET', '/orgs/acme/teams'))[1].id}`
const releasePath = async (server: TestServer) =>
  `${APP}/releases/${(await as(server, 'GET', `${APP}/releases`))[0].id}`
/** Each run succeeds, and another one after it has nothing to do. */
const run = async (): Promise<string> => {
  const report = await target.from(source)
  assert.ok(report.isComplete(), report.text)
  const again = (await target.from(source)).text
  assert.doesNotMatch(again, /[1-9]\d* (copied|updated)|^(revoked|removed|overwritten)/m)
  return report.text
}
const assertLines = (text: string, lines: readonly string[]) => {
  for (const line of lines) assert.ok(text.split('\n').includes(`  ${line}`), `${line}\n\n${text}`)
}

const source = startBefore({ dialect: 'forgejo' })
const [ann] = peopleBefore(source, 'ann')
before(async () => {
  await source.person('ben')
  await source.as(ann, 'POST', '/user/repos', { name: 'app' })
  await as(source, 'PATCH', APP, { description: 'first', website: 'https://first.test' })
  await as(source, 'PUT', `${APP}/collaborators/ben`, { permission: 'read' })
  await source.as(ann, 'POST', '/orgs', { username: 'acme' })
  await as(source, 'POST', '/orgs/acme/teams', TEAM)
  for (const title of ['one', 'two', 'three'])
    await source.as(ann, 'POST', `${APP}/issues`, { title, body: 'first' })
  await source.as(ann, 'POST', `${APP}/releases`, { tag_name: 'v1', name: 'first', draft: true })
  await source.allot.quota.groups.create({ name: 'some', rules: [] })
  await source.allot.quota.groups.assign('ann', 'some')
  target = await startTarget()
  // Each server has made its own administrator, in another second on a busy machine.
  const { createdAt } = (await source.allot.hosting.accounts.byId(source.root.id))!
  await target.allot.hosting.accounts.setCreatedAt(target.root.id, createdAt)
  assert.match(await run(), /^issues: 3 copied/m)
})
after(async () => {
  await source.stop()
  await target.stop()
})

describe('A later run', () => {
  it('makes a copy what the source has, and lists what it overwrites', async () => {
    await as(target, 'PATCH', APP, { description: 'mine', private: true })
    await as(target, 'PATCH', '/admin/users/ann', { full_name: 'Mine', admin: true })
    await as(target, 'PUT', `${APP}/collaborators/ben`, { permission: 'admin' })
    await as(target, 'PATCH', `${APP}/issues/1`, { title: 'mine', state: 'closed' })
    await as(target, 'PATCH', await releasePath(target), { name: 'mine' })
    const less = { name: 'mine', permission: 'read', units_map: { 'repo.code': 'read' } }
    await as(target, 'PATCH', await teamPath(target), less)

    await as(source, 'PATCH', APP, { website: 'https://second.test' })
    await as(source, 'PATCH', `${APP}/issues/2`, { title: 'second' })
    await as(source, 'PATCH', '/admin/users/ann', { email: 'ann@second.test' })
    const text = await run()

    const app = await as(target, 'GET', APP)
    assert.deepEqual([app.description, app.website, app.private], ['first', 'https://second.test', false])
    const user = await as(target, 'GET', '/users/ann')
    assert.deepEqual([user.full_name, user.is_admin, user.email], ['', false, 'ann@second.test'])
    const [, two, one] = await as(target, 'GET', `${APP}/issues?state=all`)
    assert.deepEqual([one.title, one.state, two.title], ['one', 'open', 'second'])
    assert.equal((await as(target, 'GET', await releasePath(target))).name, 'first')
    const [there, here] = [source, target].map(async (server) => as(server, 'GET', await teamPath(server)))
    for (const member of ['name', 'description', 'permission', 'units_map'])
      assert.deepEqual((await here)[member], (await there)[member], member)
    assertLines(text, [
      'accounts that were changed here: ann (fullName and admin and email)',
      'repositories that were changed here: ann/app (description and website and private)',
      'collaborators that were changed here: ben of ann/app (level)',
      'teams that were changed here: crew of acme (name and level and units)',
      'releases that were changed here: ann/app v1 (name)',
    ])
    assert.match(text, /^ {2}issues that were changed here: ann\/app#1 \(title and state .*closedAt\)$/m)
    assert.doesNotMatch(text, /ann\/app#2/, 'only the source has changed it')
    assert.deepEqual(JSON.parse(JSON.stringify(await target.compared(source))).differences, [])
  })

  it('names what it overwrites before it does', async (t) => {
    await as(target, 'PATCH', APP, { description: 'mine' })
    const report = new Report()
    const { repositories } = target.allot.hosting
    const { edit } = repositories
    let said: readonly string[] = []
    t.mock.method(repositories, 'edit', (...args: Parameters<typeof edit>) => {
      said = report.lines()
      return edit.apply(repositories, args)
    })
    await target.from(source, [], { report })
    assert.ok(said.includes('  repositories that were changed here: ann/app (description)'), said.join('\n'))
    assert.equal((await as(target, 'GET', APP)).description, 'first')
  })

  it('leaves what was created here', async () => {
    const here = target.root
    await as(target, 'POST', `${APP}/issues/1/comments`, { body: 'mine' })
    const issue = await as(target, 'POST', `${APP}/issues`, { title: 'mine' })
    await as(target, 'POST', `${APP}/releases`, { tag_name: 'mine', draft: true })
    const owner = (await target.allot.hosting.accounts.byName('ann'))!
    await target.allot.hosting.repositories.create(owner, owner, { name: 'own', private: true })
    await target.person('carl')
    await as(target, 'PUT', `${APP}/collaborators/carl`, { permission: 'write' })
    await as(target, 'PUT', `${await teamPath(target)}/members/carl`)
    await target.allot.quota.groups.assign('ben', 'some')
    await run()
    assert.deepEqual(
      (await as(target, 'GET', `${APP}/issues/1/comments`)).map(({ body }: { body: string }) => body),
      ['mine'],
    )
    assert.equal((await as(target, 'GET', `${APP}/issues/${issue.number}`)).user.login, here.name)
    assert.equal((await as(target, 'GET', `${APP}/releases`)).length, 2)
    assert.equal((await as(target, 'GET', '/repos/ann/own')).private, true)
    const { permission } = await as(target, 'GET', `${APP}/collaborators/carl/permission`)
    assert.equal(permission, 'write')
    assert.equal((await as(target, 'GET', `${await teamPath(target)}/members`)).at(-1).login, 'carl')
    assert.deepEqual(await target.allot.quota.groups.assignedTo('ben'), ['some'])
  })

  it('creates again what was removed here, and lists it', async () => {
    await target.allot.quota.groups.unassign('ann', 'some')
    await as(target, 'DELETE', `${APP}/issues/3`)
    await as(target, 'DELETE', `${APP}/collaborators/ben`)
    const text = await run()
    assertLines(text, [
      'quota assignments that were removed here: ann (some)',
      'issues that were removed here: ann/app#3',
      'collaborators that were removed here: ben (ann/app)',
    ])
    assert.deepEqual(await target.allot.quota.groups.assignedTo('ann'), ['some'])
    assert.equal((await as(target, 'GET', `${APP}/issues/3`)).title, 'three')
    assert.equal((await as(target, 'GET', `${APP}/collaborators/ben/permission`)).permission, 'read')
  })

  it('creates again a repository that was removed here, with its contents', async () => {
    await as(target, 'DELETE', APP)
    assertLines(await run(), ['repositories that were removed here: ann/app'])
    const titles = (await as(target, 'GET', `${APP}/issues?state=all`)).map(
      ({ title }: { title: string }) => title,
    )
    assert.deepEqual(titles, ['three', 'second', 'one'])
    // The next one has this number at the source, too.
    assert.equal((await as(target, 'POST', `${APP}/issues`, { title: 'mine' })).number, 4)
  })

  it('completes the copy of a user whose id a run that was killed had not saved', async () => {
    const log = target.allot.hosting.migrationLog(source.base)
    const [{ accounts }, there] = [target.allot.hosting, await source.allot.hosting.accounts.byName('ann')]
    const { copy: _, digest: __, ...record } = (await log.get('account', '', String(there!.id)))!
    await log.save([record])
    const { id, createdAt } = (await accounts.byName('ann'))!
    await accounts.setCreatedAt(id, createdAt - 5)
    await as(target, 'PATCH', '/admin/users/ann', { active: false })
    await target.from(source)
    const { createdAt: date, active } = (await accounts.byName('ann'))!
    assert.deepEqual([date, active], [there!.createdAt, true])
  })

  it('shows to more people what the source shows to more people, in a run of everything in which nothing fails', async () => {
    const shown = async () => {
      const { private: hidden, archived } = await as(target, 'GET', APP)
      return [(await as(target, 'GET', '/users/ann')).visibility, hidden, archived]
    }
    const set = async (visibility: string, hidden: boolean) => {
      await as(source, 'PATCH', '/admin/users/ann', { visibility })
      await as(source, 'PATCH', APP, { private: hidden, archived: false })
      await as(source, 'PATCH', APP, { archived: hidden })
    }
    await set('private', true)
    await run()
    assert.deepEqual(await shown(), ['private', true, true])
    await set('public', false)
    // An issue of this number was created here.
    const { number } = await source
      .as(ann, 'POST', `${APP}/issues`, { title: 'four' })
      .then(({ body }) => body)
    const { text } = await target.from(source)
    assert.match(text, /^ {2}the issue ann\/app#4: an issue with the number 4 was created here$/m)
    assert.match(
      text,
      /^ {2}accounts and repositories that the source shows to more people, .*: ann, ann\/app$/m,
    )
    assert.deepEqual(await shown(), ['private', true, true])
    await as(source, 'DELETE', `${APP}/issues/${number}`)
    await target.from(source, ['ann'])
    assert.deepEqual(await shown(), ['private', false, false])
    await target.from(source)
    assert.deepEqual(await shown(), ['public', false, false])
    const { differences } = JSON.parse(JSON.stringify(await target.compared(source)))
    assert.deepEqual(
      differences.filter(({ kind }: { kind: string }) => /user|repository|right/.test(kind)),
      [],
    )
  })

  it('is refused after a run with --finish in which nothing failed', async () => {
    await target.from(source, [], { finish: true })
    await as(target, 'PATCH', APP, { description: 'mine' })
    await assert.rejects(
      target.from(source),
      /^Error: the migration from this source was finished with --finish/,
    )
    assert.equal((await as(target, 'GET', APP)).description, 'mine')
    assert.ok(JSON.parse(JSON.stringify(await target.compared(source))).differences.length > 0)
  })
})
