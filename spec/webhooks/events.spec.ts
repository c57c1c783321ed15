import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { WebhookEvent } from '../../lib/webhooks/events.ts'
import { aCheckout, commit, git, urlFor } from '../git/client.ts'
import { type ServedGit, startGit } from '../git/served.ts'
import { hookTo, type Received, type Receiver, startReceiver } from '../support/receiver.ts'
import type { Person } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'

let allot: ServedGit
let receiver: Receiver
let alice: Person
before(async () => {
  receiver = await startReceiver()
  allot = await startGit({ webhooks: { allowedHosts: ['127.0.0.1'], maxConcurrentPerReceiver: 1 } })
  alice = await allot.person('alice')
})

let made = 0

/**
 * Creates a webhook.
 * @returns what it got, once there is so much of it
 */
const deliveriesTo = async (who: Person, place: string, more: object = {}) => {
  const path = `/${++made}`
  await allot.made(who, place, { ...hookTo(receiver.url + path, '*'), type: 'forgejo', ...more })
  return (count: number) => receiver.at(path, count)
}

const brief = (received: readonly Received[]) =>
  received.map(({ headers, body }) => [headers['x-forgejo-event'], body.action ?? body.ref])

const as: ServedGit['done'] = (...sent) => allot.done(...sent)

/** A repository of alice with one commit on main, and its checkout. */
const repository = async (name: string) => {
  const path = await allot.repository(alice, name)
  const checkout = await aCheckout()
  await git(checkout, 'remote', 'add', 'origin', urlFor(allot, path, alice))
  await git(checkout, 'push', '--quiet', 'origin', 'main')
  return { at: `/repos/${path}`, path, checkout }
}

describe('A push', () => {
  it('is sent with its commits and their files, a new or deleted reference too', async () => {
    const { at, path, checkout } = await repository('pushed')
    const got = await deliveriesTo(alice, `${at}/hooks`)
    const before = await git(checkout, 'rev-parse', 'HEAD')
    const second = await commit(checkout, { b: 'two\n' })
    const third = await commit(checkout, { a: 'changed\n' })
    await git(checkout, 'push', '--quiet', 'origin', 'main')
    await git(checkout, 'tag', 'v1')
    await git(checkout, 'push', '--quiet', 'origin', 'main:side', 'v1')
    await git(checkout, 'push', '--quiet', 'origin', ':side')
    const received = await got(6)
    assert.deepEqual(brief(received), [
      ['push', 'refs/heads/main'],
      ['create', 'side'],
      ['push', 'refs/heads/side'],
      ['create', 'v1'],
      ['push', 'refs/tags/v1'],
      ['delete', 'side'],
    ])
    const [push, create, side, tag, v1] = received.map(({ body }) => body)
    assert.deepEqual([push.before, push.after, push.total_commits], [before, third, 2])
    assert.deepEqual(
      push.commits.map((one: Record<string, unknown>) => [one.id, one.added, one.modified, one.removed]),
      [
        [third, [], ['a'], []],
        [second, ['b'], [], []],
      ],
    )
    assert.equal(push.head_commit.id, third)
    assert.match(push.compare_url, new RegExp(`/${path}/compare/${before}\\.\\.\\.${third}$`))
    assert.deepEqual(
      [push.repository.full_name, push.sender.login, push.pusher.login],
      [path, 'alice', 'alice'],
    )
    assert.deepEqual([create.ref_type, create.sha, tag.ref_type], ['branch', third, 'tag'])
    // A branch or a tag that brings nothing new has no commits, and the commit that it names as its head.
    assert.deepEqual([side.before, side.commits, side.head_commit?.id], ['0'.repeat(40), [], third])
    assert.deepEqual([v1.before, v1.commits, v1.head_commit?.id], ['0'.repeat(40), [], third])
  })

  it('is sent only for the branches of the filter', async () => {
    const { at, checkout } = await repository('filtered')
    const got = await deliveriesTo(alice, `${at}/hooks`, {
      events: ['push'],
      branch_filter: '{main,release/*}',
    })
    await commit(checkout, { b: 'two\n' })
    await git(checkout, 'push', '--quiet', 'origin', 'main:topic', 'main:release/1', 'main')
    const received = await got(2)
    assert.deepEqual(received.map(({ body }) => body.ref).sort(), ['refs/heads/main', 'refs/heads/release/1'])
  })

  it('has the 20 newest commits, their number, and the first 8,192 characters of their messages', async () => {
    const { at, checkout } = await repository('long')
    const got = await deliveriesTo(alice, `${at}/hooks`, { events: ['push'] })
    for (let made = 0; made < 25; made++)
      await git(checkout, 'commit', '--quiet', '--allow-empty', '-m', 'x'.repeat(9000))
    await git(checkout, 'push', '--quiet', 'origin', 'main')
    const [{ body }] = (await got(1)) as [Received]
    assert.deepEqual(
      [body.commits.length, body.total_commits, body.commits[0].message.length],
      [20, 25, 8192],
    )
  })

  it('over the API is sent as one over git; a test sends the last commit', async () => {
    const { at } = await repository('edited')
    const got = await deliveriesTo(alice, `${at}/hooks`)
    const content = Buffer.from('new').toString('base64')
    await as(alice, 'POST', `${at}/contents/new`, { content, message: 'Add a file' })
    const [id] = (await as(alice, 'GET', `${at}/hooks`)).map((hook: { id: number }) => hook.id)
    await as(alice, 'POST', `${at}/hooks/${id}/tests`)
    const [push, test] = (await got(2)).map(({ body }) => body)
    assert.deepEqual([push.commits[0].message.trim(), push.commits[0].added], ['Add a file', ['new']])
    assert.deepEqual([test.before, test.after, test.commits.length], [push.after, push.after, 1])
  })

  it('of a test names the branch, the tag or the commit of `ref` in full', async () => {
    const { at, checkout } = await repository('tested')
    const id = await git(checkout, 'rev-parse', 'HEAD')
    await git(checkout, 'tag', '--annotate', '-m', 'One', 'v1.0')
    await git(checkout, 'push', '--quiet', 'origin', 'main:topic', 'v1.0')
    const got = await deliveriesTo(alice, `${at}/hooks`)
    const [hook] = (await as(alice, 'GET', `${at}/hooks`)).map((hook: { id: number }) => hook.id)
    const EXPECTED = [
      ['topic', 'refs/heads/topic'],
      ['refs/heads/topic', 'refs/heads/topic'],
      ['v1.0', 'refs/tags/v1.0'],
      ['refs/tags/v1.0', 'refs/tags/v1.0'],
      ['HEAD', 'refs/heads/main'],
      [id, id],
    ] as const
    for (const [ref] of EXPECTED) await as(alice, 'POST', `${at}/hooks/${hook}/tests?ref=${ref}`)
    const sent = (await got(EXPECTED.length)).map(({ body }) => [body.ref, body.after])
    assert.deepEqual(
      sent,
      EXPECTED.map(([, ref]) => [ref, id]),
    )
  })
})

describe('Issues, comments and releases', () => {
  it('are sent with what was changed', async () => {
    const { at } = await repository('talked')
    const got = await deliveriesTo(alice, `${at}/hooks`)
    await as(alice, 'POST', `${at}/issues`, { title: 'The build fails' })
    await as(alice, 'PATCH', `${at}/issues/1`, { title: 'It fails', state: 'closed' })
    await as(alice, 'PATCH', `${at}/issues/1`, { state: 'open' })
    const { id } = await as(alice, 'POST', `${at}/issues/1/comments`, { body: 'Indeed.' })
    await as(alice, 'PATCH', `${at}/issues/comments/${id}`, { body: 'It does.' })
    await as(alice, 'DELETE', `${at}/issues/comments/${id}`)
    await as(alice, 'DELETE', `${at}/issues/1`)
    const release = await as(alice, 'POST', `${at}/releases`, { tag_name: 'v1', draft: true })
    for (const edit of [{ name: 'One' }, { draft: false }, { name: 'First' }])
      await as(alice, 'PATCH', `${at}/releases/${release.id}`, edit)
    await as(alice, 'DELETE', `${at}/releases/${release.id}`)
    const received = await got(11)
    assert.deepEqual(brief(received), [
      ['issues', 'opened'],
      ['issues', 'edited'],
      ['issues', 'closed'],
      ['issues', 'reopened'],
      ['issue_comment', 'created'],
      ['issue_comment', 'edited'],
      ['issue_comment', 'deleted'],
      ['issues', 'deleted'],
      ['release', 'published'],
      ['release', 'updated'],
      ['release', 'deleted'],
    ])
    const bodies = received.map(({ body }) => body)
    assert.deepEqual([bodies[0].number, bodies[0].issue.title], [1, 'The build fails'])
    assert.deepEqual(bodies[1].changes, { title: { from: 'The build fails' } })
    assert.deepEqual([bodies[5].comment.body, bodies[5].changes], ['It does.', { body: { from: 'Indeed.' } }])
    assert.equal(bodies[10].release.name, 'First')
  })
})

describe('Repositories, forks and packages', () => {
  it('are sent to the webhooks of the owner and of the instance', async () => {
    const bob = await allot.person('bob')
    await as(bob, 'POST', '/orgs', { username: 'acme' })
    const ofAcme = await deliveriesTo(bob, '/orgs/acme/hooks')
    const ofAlice = await deliveriesTo(alice, '/user/hooks')
    const all = await deliveriesTo(allot.root, '/admin/hooks', { events: ['repository', 'fork', 'package'] })
    await as(alice, 'POST', '/user/repos', { name: 'app', auto_init: true })
    await as(bob, 'POST', '/repos/alice/app/forks', { organization: 'acme' })
    await as(alice, 'PATCH', '/repos/alice/app', { name: 'tool' })
    await as(alice, 'PATCH', '/repos/alice/tool', { description: 'A tool' })
    const file = await fetch(`${allot.base}/api/packages/acme/generic/kit/1/kit.tar`, {
      method: 'PUT',
      headers: { authorization: `token ${bob.token}` },
      body: 'bytes',
    })
    assert.equal(file.status, 201)
    await as(bob, 'DELETE', '/packages/acme/generic/kit/1')
    await as(alice, 'DELETE', '/repos/alice/tool')
    const forkOf = (received: readonly Received[]) => received.find(({ body }) => body.forkee)!.body
    const own = await ofAlice(5)
    assert.deepEqual(brief(own), [
      ['repository', 'created'],
      ['fork', undefined],
      ['repository', 'renamed'],
      ['repository', 'edited'],
      ['repository', 'deleted'],
    ])
    const { forkee, repository: fork, sender } = forkOf(own)
    assert.deepEqual([forkee.full_name, fork.full_name, sender.login], ['alice/app', 'acme/app', 'bob'])
    assert.deepEqual(brief(await ofAcme(3)), [
      ['repository', 'created'],
      ['package', 'created'],
      ['package', 'deleted'],
    ])
    const everything = await all(8)
    assert.equal(everything.length, 8)
    const { body } = everything.find(({ headers }) => headers['x-gitea-event'] === 'package')!
    assert.deepEqual([body.package.name, body.organization.login], ['kit', 'acme'])
  })

  it('that the creator of a webhook cannot see are not in its payloads', async () => {
    const carl = await allot.person('carl')
    await as(carl, 'POST', '/orgs', { username: 'hidden', visibility: 'private' })
    const { at } = await repository('watched')
    const got = await deliveriesTo(alice, `${at}/hooks`, { events: ['fork', 'issues'] })
    await as(carl, 'POST', `${at}/forks`, { organization: 'hidden' })
    await allot.allot.hosting.accounts.edit(carl.id, { visibility: 'private' })
    await as(carl, 'POST', `${at}/issues`, { title: 'from nobody' })
    const received = await got(1)
    assert.deepEqual(brief(received), [['issues', 'opened']])
    const { sender, issue } = received[0]!.body
    assert.deepEqual([sender.login, issue.user.login], ['Ghost', 'Ghost'])
    assert.doesNotMatch(received[0]!.text, /carl|hidden/)
  })
})

describe('A repository of a hidden owner', () => {
  it('is named in the payloads of a webhook whose creator can read it', async () => {
    const owner = await allot.person()
    const at = `/repos/${await allot.repository(owner, 'app')}`
    await as(owner, 'PUT', `${at}/collaborators/alice`, { permission: 'admin' })
    await allot.allot.hosting.accounts.edit(owner.id, { visibility: 'private' })
    const got = await deliveriesTo(alice, `${at}/hooks`)
    await as(alice, 'POST', `${at}/issues`, { title: 'one' })
    const [{ body }] = (await got(1)) as [Received]
    assert.equal(body.repository.full_name, `${owner.name}/app`)
    assert.equal(body.issue.repository.full_name, `${owner.name}/app`)
  })
})

describe('A private fork', () => {
  it('that was deleted before its delivery is not named to a creator of a webhook who could not read it any more', async () => {
    const bob = await allot.person()
    const { at, path } = await repository('forked')
    await as(alice, 'PATCH', at, { private: true })
    await as(alice, 'PUT', `${at}/collaborators/${bob.name}`, { permission: 'read' })
    await as(bob, 'POST', '/orgs', { username: 'undisclosed', visibility: 'private' })
    const [owners] = await as(bob, 'GET', '/orgs/undisclosed/teams')
    await as(bob, 'PUT', `/teams/${owners.id}/members/alice`)
    const held: (() => void)[] = []
    const slow = await startReceiver((_received, res) => void held.push(() => res.end()))
    const { id } = await as(alice, 'POST', `${at}/hooks`, hookTo(`${slow.url}/held`, 'issues', 'fork'))
    await as(alice, 'POST', `${at}/issues`, { title: 'one' })
    await waitFor(() => held.length === 1)
    const fork = await as(bob, 'POST', `${at}/forks`, { organization: 'undisclosed' })
    const forks = (await as(alice, 'GET', `${at}/hooks/${id}/deliveries`)).map(
      ({ event }: { event: string }) => event,
    )
    assert.ok(forks.includes('fork'))
    await as(bob, 'DELETE', '/orgs/undisclosed/members/alice')
    await as(bob, 'DELETE', `/repos/${fork.full_name}`)
    await as(alice, 'POST', `${at}/issues`, { title: 'two' })
    held[0]!()
    await waitFor(() => held.length === 2)
    held[1]!()
    const received = await slow.at('/held', 2)
    assert.deepEqual(brief(received), [
      ['issues', 'opened'],
      ['issues', 'opened'],
    ])
    assert.equal(received[1]!.body.repository.full_name, path)
  })
})

/** Every event, and each of its actions: the compiler asks for new ones. */
const EVENTS: { readonly [E in WebhookEvent as E['event']]: Record<ActionOf<E>, true> } = {
  push: {},
  create: {},
  delete: {},
  fork: {},
  ping: {},
  repository: { created: true, renamed: true, transferred: true, edited: true, deleted: true },
  issues: { opened: true, edited: true, closed: true, reopened: true, deleted: true },
  issue_comment: { created: true, edited: true, deleted: true },
  release: { published: true, updated: true, deleted: true },
  package: { created: true, deleted: true },
  // spec/webhooks/quota.spec.ts makes these.
  quota: { crossed: true, near: true, back: true },
}
type ActionOf<E> = E extends { action: infer A extends string } ? A : never

describe('Every event', () => {
  it('is sent with each of its actions', async () => {
    const { at } = await repository('moved')
    const got = await deliveriesTo(alice, `${at}/hooks`)
    await as(alice, 'POST', '/orgs', { username: 'movers' })
    await as(alice, 'POST', `${at}/transfer`, { new_owner: 'movers' })
    await got(1)
    const empty = `/repos/${await allot.repository(alice, 'empty')}`
    const pinged = await deliveriesTo(alice, `${empty}/hooks`)
    const [{ id }] = await as(alice, 'GET', `${empty}/hooks`)
    await as(alice, 'POST', `${empty}/hooks/${id}/tests`)
    await pinged(1)
    const { quota: _, ...others } = EVENTS
    const expected = Object.entries(others).flatMap(([event, actions]) =>
      Object.keys(actions).length === 0
        ? [event]
        : Object.keys(actions).map((action) => `${event} ${action}`),
    )
    const sent = receiver.received.map(({ headers, body }) =>
      `${headers['x-forgejo-event']} ${body.action ?? ''}`.trim(),
    )
    assert.deepEqual([...new Set(sent)].sort(), expected.sort())
  })
})
