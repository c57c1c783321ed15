import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type Person, start, type TestServer } from '../support/test-server.ts'
import { attach, startTarget, type Target } from './two.ts'

const [APP, TEAM] = ['/repos/ann/app', { name: 'crew', permission: 'admin', description: 'first' }]
let source: TestServer
let target: Target
let ann: Person

const as = async (server: TestServer, method: string, path: string, body?: object) => {
  const answer = await server.as(server.root, method, path, body)
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body
}
const teamPath = async (server: TestServer) => `/teams/${(await as(server, 'GET', '/orgs/acme/teams'))[1].id}`

before(async () => {
  source = await start({ dialect: 'forgejo' })
  ann = await source.person('ann')
  const texts = { description: 'first', website: 'https://first.test' }
  await source.as(ann, 'POST', '/user/repos', { name: 'app' })
  await as(source, 'PATCH', APP, texts)
  await source.as(ann, 'POST', '/orgs', { username: 'acme' })
  await as(source, 'POST', '/orgs/acme/teams', TEAM)
  for (const title of ['one', 'two', 'three'])
    await source.as(ann, 'POST', `${APP}/issues`, { title, body: 'first' })
  await attach(source, ann, `${APP}/issues/3`, 'log\n', 'log.txt')
  await source.as(ann, 'POST', `${APP}/releases`, {
    tag_name: 'v1',
    name: 'first',
    body: 'first',
    draft: true,
  })
  await source.allot.quota.groups.create({ name: 'some', rules: [] })
  await source.allot.quota.groups.assign('ann', 'some')
  target = await startTarget()
  const report = await target.from(source)
  assert.ok(report.isComplete(), report.text)
})
after(async () => {
  await source.stop()
  await target.stop()
})

describe('A later run', () => {
  it('gives a copy what only the source has changed, and keeps and lists what was changed here, too', async () => {
    await as(target, 'PATCH', APP, { description: 'mine' })
    await as(target, 'PATCH', `${APP}/issues/1`, { title: 'mine' })
    await as(target, 'PATCH', `${APP}/issues/2`, { body: 'mine', state: 'closed' })
    const [draft] = await as(target, 'GET', `${APP}/releases`)
    await as(target, 'PATCH', `${APP}/releases/${draft.id}`, { name: 'mine' })
    await as(target, 'PATCH', await teamPath(target), {
      name: 'crew',
      permission: 'read',
      units_map: { 'repo.code': 'read' },
    })

    await as(source, 'PATCH', APP, { website: 'https://second.test' })
    await as(source, 'PATCH', `${APP}/issues/1`, { body: 'second' })
    await as(source, 'PATCH', `${APP}/issues/2`, { title: 'second', body: 'second' })
    const [original] = await as(source, 'GET', `${APP}/releases`)
    await as(source, 'PATCH', `${APP}/releases/${original.id}`, { body: 'second' })
    await as(source, 'PATCH', await teamPath(source), { name: 'crew', description: 'second' })
    const { text } = await target.from(source)

    const app = await as(target, 'GET', APP)
    assert.deepEqual([app.description, app.website], ['mine', 'https://second.test'])
    const [two, one] = (await as(target, 'GET', `${APP}/issues?state=all`)).slice(1)
    assert.deepEqual([one.title, one.body, one.state], ['mine', 'second', 'open'])
    assert.deepEqual([two.title, two.body, two.state], ['second', 'mine', 'closed'])
    assert.ok(two.closed_at)
    const [release] = await as(target, 'GET', `${APP}/releases`)
    assert.deepEqual([release.name, release.body, release.draft], ['mine', 'second', true])
    const team = await as(target, 'GET', await teamPath(target))
    assert.deepEqual([team.description, team.permission], ['second', 'read'])
    assert.match(text, /^ {2}the description differs from that at the source: ann\/app$/m)
    assert.match(
      text,
      /^ {2}the rights of these teams differ from those at the source: the team crew of acme$/m,
    )
    assert.match(
      text,
      /^ {2}issues that were changed on both sides, and keep what was changed here: ann\/app#2$/m,
    )

    const again = await target.from(source)
    assert.doesNotMatch(again.text, /[1-9]\d* (copied|updated)|^revoked/m)
    assert.match(again.text, /^ {2}issues that were changed here: ann\/app#2, ann\/app#1$/m)
    assert.equal((await as(target, 'GET', APP)).description, 'mine')
  })

  it('does not give back a quota assignment that was removed here', async () => {
    await target.allot.quota.groups.unassign('ann', 'some')
    const { text } = await target.from(source)
    assert.deepEqual(await target.allot.quota.groups.assignedTo('ann'), [])
    assert.match(text, /^ {2}quota assignments that were removed here, and stay removed: ann \(some\)$/m)
  })

  it('does not say that the source has removed what was removed here', async () => {
    await as(target, 'DELETE', `${APP}/issues/3`)
    const { text } = await target.from(source)
    assert.match(text, /^ {2}issues that were removed here, and stay removed: ann\/app#3$/m)
    assert.doesNotMatch(text, /removed, because the source removed it/)
  })
})
