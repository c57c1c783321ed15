import assert from 'node:assert/strict'
import { it } from 'node:test'
import { hookTo, startReceiver, TO_RECEIVERS } from '../support/receiver.ts'
import { start } from '../support/test-server.ts'

it('an edit that changes nothing keeps the time of the last change, and causes no event', async (test) => {
  test.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  const receiver = await startReceiver()
  const allot = await start(TO_RECEIVERS)
  const send = (method: string, path: string, body: object) => allot.done(allot.root, method, path, body)
  const repository = '/repos/root/app'
  await send('POST', '/user/repos', { name: 'app', description: 'one' })
  await send('POST', `${repository}/issues`, { title: 'first', body: 'text' })
  const { id } = await send('POST', `${repository}/issues/1/comments`, { body: 'text' })
  const release = await send('POST', `${repository}/releases`, { tag_name: 'v1' })
  const hook = await send('POST', '/user/hooks', hookTo(`${receiver.url}/all`, '*'))
  const edits: [path: string, same: object, other: object][] = [
    [repository, { name: 'app', description: 'one', private: false }, { description: 'two' }],
    [`${repository}/issues/1`, { title: 'first', state: 'open' }, { title: 'second' }],
    [`${repository}/issues/comments/${id}`, { body: 'text' }, { body: 'other' }],
    [`/user/hooks/${hook.id}`, { active: true }, { branch_filter: 'main' }],
  ]
  for (const [path, same, other] of edits) {
    const before = (await allot.as(allot.root, 'GET', path)).body.updated_at
    test.mock.timers.tick(60_000)
    assert.equal((await send('PATCH', path, same)).updated_at, before, path)
    assert.notEqual((await send('PATCH', path, other)).updated_at, before, path)
  }
  const ofRelease = `${repository}/releases/${release.id}`
  for (const edit of [{}, { tag_name: 'v1', body: '' }, { body: 'text' }])
    await send('PATCH', ofRelease, edit)
  await send('PATCH', repository, { name: 'tool', description: 'three' })
  for (const topics of [['git'], ['Git ']]) await send('PUT', '/repos/root/tool/topics', { topics })
  const received = await receiver.at('/all', 7)
  assert.deepEqual(
    received.map(({ headers, body }) => `${headers['x-gitea-event']} ${body.action}`),
    [
      ...['repository edited', 'issues edited', 'issue_comment edited', 'release updated'],
      ...['repository renamed', 'repository edited', 'repository edited'],
    ],
  )
  const { body: log } = await allot.as(allot.root, 'GET', '/admin/audit')
  const logged = log.filter(({ action }: { action: string }) => action === 'webhook changed')
  assert.equal(logged.length, 1, 'the audit log has the webhook that was changed, and not the others')
})

it('a new record shows one time as that of its creation, last change, publication and end', async (test) => {
  const allot = await start({ webhooks: { allowedHosts: ['127.0.0.1'] } })
  const clock = Date.now
  let readings = 0
  test.mock.method(Date, 'now', () => clock() + 1000 * readings++)
  const config = { url: 'http://127.0.0.1:1/', content_type: 'json' }
  const requests: [path: string, body: object][] = [
    ['/user/repos', { name: 'app' }],
    ['/repos/root/app/issues', { title: 'first', closed: true }],
    ['/repos/root/app/issues/1/comments', { body: 'text' }],
    ['/repos/root/app/releases', { tag_name: 'v1' }],
    ['/user/hooks', { type: 'gitea', config }],
  ]
  for (const [path, body] of requests) {
    const { created_at: created, ...made } = (await allot.as(allot.root, 'POST', path, body)).body
    for (const member of ['updated_at', 'closed_at', 'published_at'])
      if (member in made) assert.equal(made[member], created, `${member} of ${path}`)
  }
  const account = await allot.allot.accounts.createUser({ name: 'ada' })
  assert.equal(account.updatedAt, account.createdAt)
})
