import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { generateSshKey } from '../support/keygen.ts'
import { repeatingDriver } from '../support/repeating-driver.ts'
import { createSpecStore } from '../support/store.ts'
import { madeBefore, type Person, start, type TestServer } from '../support/test-server.ts'

/** What a transaction takes before it runs again must not decide where a list has what it writes. */
describe('When a write runs again because of a conflict', () => {
  let repeatNext: ReturnType<typeof repeatingDriver>['repeatNext']
  let allot: TestServer
  let sha: string
  const store = madeBefore(() => createSpecStore())
  before(async () => {
    const repeating = repeatingDriver(store.driver)
    repeatNext = repeating.repeatNext
    allot = await start({ driver: repeating.driver, webhooks: true })
    await ok('POST', '/admin/quota/rules', { name: 'r', limit: 0, subjects: ['size:all'] })
    await ok('POST', '/user/repos', { name: 'demo', auto_init: true })
    await ok('POST', '/repos/root/demo/issues', { title: 'one' })
    sha = (await ok('GET', '/repos/root/demo/branches/main')).commit.id
  })
  after(async () => {
    await allot.stop()
    await store.drop()
  })

  const ok = (method: string, path: string, body?: object) => allot.done(allot.root, method, path, body)
  const limitedTo = (limit: number) => ok('PATCH', '/admin/quota/rules/r', { limit })

  it('the audit log has it after the change that it conflicted with', async () => {
    repeatNext('audit', () => limitedTo(1))
    await limitedTo(2)
    const entries: { before: string; after: string }[] = await ok('GET', '/admin/audit?limit=2')
    const limits = entries.map((entry) => [entry.before, entry.after].map((text) => JSON.parse(text).limit))
    assert.deepEqual(limits, [
      [1, 2],
      [0, 1],
    ])
  })

  for (const [second, times] of [
    ['in the same second', [100, 200, 300]],
    ['when the second run is in the next second', [900, 1100, 1200]],
  ] as const)
    it(`the audit log has later changes after it, ${second}`, async (t) => {
      const beginning = (Math.floor(Date.now() / 1000) + 5) * 1000
      const [first, again, later] = times.map((time) => beginning + time) as [number, number, number]
      t.mock.timers.enable({ apis: ['Date'], now: first })
      repeatNext('audit', async () => t.mock.timers.setTime(again))
      await limitedTo(11)
      t.mock.timers.setTime(later)
      await limitedTo(12)
      const entries: { after: string }[] = await ok('GET', '/admin/audit?limit=2')
      assert.deepEqual(
        entries.map((entry) => JSON.parse(entry.after).limit),
        [12, 11],
      )
    })

  it('a comment and an event are where their issue has them in the order of the commits', async () => {
    const at = '/repos/root/demo/issues/1'
    const said = (body: string) => ok('POST', `${at}/comments`, { body })
    repeatNext('comment', () => said('first'))
    await said('second')
    repeatNext('issueEvent', () => said('third'))
    await ok('PATCH', at, { state: 'closed', title: 'two' })
    await said('last')
    const items: { type: string; body: string }[] = await ok('GET', `${at}/timeline`)
    assert.deepEqual(
      items.map(({ type, body }) => (type === 'comment' ? body : type)),
      ['first', 'second', 'third', 'change_title', 'close', 'last'],
    )
  })

  it('the statuses of a context are listed in the order in which they replaced each other', async () => {
    const set = (state: string) => ok('POST', `/repos/root/demo/statuses/${sha}`, { state })
    repeatNext('commitStatus', () => set('pending'))
    await set('success')
    const listed: { status: string }[] = await ok('GET', `/repos/root/demo/commits/${sha}/statuses`)
    assert.deepEqual(
      listed.map(({ status }) => status),
      ['success', 'pending'],
    )
    assert.equal((await ok('GET', `/repos/root/demo/commits/${sha}/status`)).state, 'success')
  })

  it('packages are listed with the one that was committed last first', async (t) => {
    const beginning = (Math.floor(Date.now() / 1000) + 5) * 1000
    const upload = (name: string) =>
      allot.upload(allot.root, `/api/packages/root/generic/${name}/1/file`, 'a')
    t.mock.timers.enable({ apis: ['Date'], now: beginning })
    repeatNext('packageVersion', async () => {
      t.mock.timers.setTime(beginning + 1000)
      await upload('first')
      t.mock.timers.setTime(beginning + 2000)
    })
    await upload('second')
    const listed: { name: string }[] = await ok('GET', '/packages/root')
    assert.deepEqual(
      listed.map(({ name }) => name),
      ['second', 'first'],
    )
  })

  const sized = (name: string) => ({ name, limit: 0, subjects: ['size:all'] })
  const [RULES, GROUPS, TOKENS] = ['/admin/quota/rules', '/admin/quota/groups', '/users/root/tokens']
  const [ISSUE, HOOKS] = ['/repos/root/demo/issues/1', '/repos/root/demo/hooks']
  const hook = (name: string) => ({
    type: 'forgejo',
    config: { url: `https://example.com/${name}`, content_type: 'json' },
  })
  const lists: [of: string, path: string, collection: string, add: (name: string) => Promise<unknown>][] = [
    ['rules', RULES, 'rule', (name) => ok('POST', RULES, sized(name))],
    ['rules of new groups', RULES, 'rule', (name) => ok('POST', GROUPS, { name, rules: [sized(name)] })],
    ['rules of plans', RULES, 'rule', (name) => ok('POST', '/admin/quota/apply', { rules: [sized(name)] })],
    ['groups', GROUPS, 'group', (name) => ok('POST', GROUPS, { name, rules: [] })],
    [
      'groups of plans',
      GROUPS,
      'group',
      (name) => ok('POST', '/admin/quota/apply', { groups: [{ name, rules: [] }] }),
    ],
    ['tokens', TOKENS, 'token', (name) => ok('POST', TOKENS, { name, scopes: ['all'] })],
    [
      'SSH keys',
      '/user/keys',
      'sshKey',
      (title) => ok('POST', '/user/keys', { title, key: generateSshKey('ed25519').key }),
    ],
    ['attachments', `${ISSUE}/assets`, 'attachment', (name) => allot.attach(allot.root, ISSUE, 'a', name)],
    ['webhooks', HOOKS, 'hook', (name) => ok('POST', HOOKS, hook(name))],
  ]
  for (const [index, [of, path, collection, add]] of lists.entries())
    it(`${of} are listed in the order of the commits`, async () => {
      const [first, second] = [`${index}-first`, `${index}-second`]
      repeatNext(collection, () => add(first))
      await add(second)
      const { text } = await allot.as(allot.root, 'GET', path)
      const names = text.match(new RegExp(`${first}|${second}`, 'g'))
      assert.deepEqual([...new Set(names)], [first, second])
    })

  it('an SSH key signs in the user who added it first, and not one whose request began before', async () => {
    const [victim, mallory] = [await allot.person('victim'), await allot.person('mallory')]
    await ok('PATCH', '/admin/users/victim', { visibility: 'private' })
    const { key, fingerprint } = generateSshKey('ed25519')
    const add = async (person: Person) => {
      const { status, text } = await allot.as(person, 'POST', '/user/keys', { title: 'a', key })
      assert.equal(status, 201, text)
    }
    repeatNext('sshKey', () => add(victim))
    await add(mallory)
    const { sshKeys } = allot.allot.hosting
    assert.equal((await sshKeys.signingIn(fingerprint))?.account, victim.id)
  })
})
