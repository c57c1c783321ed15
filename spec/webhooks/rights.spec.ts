import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { before, describe, it } from 'node:test'
import { assertError, assertNoContent } from '../support/expectations.ts'
import { hookTo, type Receiver, startReceiver, TO_RECEIVERS } from '../support/receiver.ts'
import { type Person, start, type TestServer } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'

let allot: TestServer
let receiver: Receiver
/** Responses that the receiver holds back, of paths that begin with `/held`. */
const held: ServerResponse[] = []
before(async () => {
  receiver = await startReceiver(
    ({ path }, res) => void (path.startsWith('/held') ? held.push(res) : res.end()),
  )
  allot = await start(TO_RECEIVERS)
})

const done = async (who: Person | string, method: string, path: string, body?: object) => {
  const answer =
    typeof who === 'string'
      ? await allot.request(method, path, { token: who, ...(body && { body }) })
      : await allot.as(who, method, path, body)
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`)
  return answer.body
}

const hookAt = (path: string, event: string) => hookTo(receiver.url + path, event)

interface Case {
  /** Path of the private repository. */
  readonly repository: string
  /** Who makes the webhook, and loses the right. */
  readonly creator: Person
  /** Where the webhook is made. */
  readonly place: string
  /** Name of the owner afterwards, when it is another one. */
  readonly movesTo?: string
  /** Who can read the repository before and afterwards, and has a webhook, too. */
  readonly other: Person
  /** Path of the other's webhook. */
  readonly otherPlace: string
  lose(): Promise<unknown>
}

let made = 0
const repositoryOf = async (owner: Person, organization?: string) => {
  const place = organization === undefined ? '/user/repos' : `/orgs/${organization}/repos`
  return (await done(owner, 'POST', place, { name: `app${++made}`, private: true })).full_name as string
}

const CASES: Record<string, () => Promise<Case>> = {
  async 'the former owner of a transferred repository'() {
    const [creator, other] = [await allot.person(), await allot.person()]
    const repository = await repositoryOf(creator)
    const lose = () => done(allot.root, 'POST', `/repos/${repository}/transfer`, { new_owner: other.name })
    const place = `/repos/${repository}/hooks`
    return {
      repository,
      creator,
      place,
      movesTo: other.name,
      other: allot.root,
      otherPlace: '/admin/hooks',
      lose,
    }
  },
  async 'a removed collaborator'() {
    const [other, creator] = [await allot.person(), await allot.person()]
    const repository = await repositoryOf(other)
    const shared = `/repos/${repository}/collaborators/${creator.name}`
    await done(other, 'PUT', shared, { permission: 'admin' })
    const place = `/repos/${repository}/hooks`
    const lose = () => done(other, 'DELETE', shared)
    return { repository, creator, place, other, otherPlace: place, lose }
  },
  async 'a removed owner of a hidden organization'() {
    const [other, creator] = [await allot.person(), await allot.person()]
    const name = `hidden${++made}`
    await done(other, 'POST', '/orgs', { username: name, visibility: 'private' })
    await done(other, 'PUT', `/orgs/${name}/members/${creator.name}`, { role: 'owner' })
    const repository = await repositoryOf(other, name)
    const place = `/orgs/${name}/hooks`
    const lose = () => done(other, 'DELETE', `/orgs/${name}/members/${creator.name}`)
    return { repository, creator, place, other, otherPlace: place, lose }
  },
  async 'a former administrator'() {
    const [other, creator] = [await allot.person(), await allot.person(undefined, { admin: true })]
    const repository = await repositoryOf(other)
    const lose = () => done(allot.root, 'PATCH', `/admin/users/${creator.name}`, { admin: false })
    return { repository, creator, place: '/admin/hooks', other, otherPlace: '/user/hooks', lose }
  },
  async 'a disabled user'() {
    const [other, creator] = [await allot.person(), await allot.person()]
    const repository = await repositoryOf(other)
    await done(other, 'PUT', `/repos/${repository}/collaborators/${creator.name}`, { permission: 'admin' })
    const place = `/repos/${repository}/hooks`
    const lose = () => done(allot.root, 'PATCH', `/admin/users/${creator.name}`, { active: false })
    return { repository, creator, place, other, otherPlace: '/user/hooks', lose }
  },
  async 'a deleted user'() {
    const [other, creator] = [await allot.person(), await allot.person()]
    const repository = await repositoryOf(other)
    await done(other, 'PUT', `/repos/${repository}/collaborators/${creator.name}`, { permission: 'admin' })
    const place = `/repos/${repository}/hooks`
    const lose = () => done(allot.root, 'DELETE', `/admin/users/${creator.name}`)
    return { repository, creator, place, other, otherPlace: '/user/hooks', lose }
  },
}

const finished = (who: Person, delivery: string) =>
  waitFor(async () => (await done(who, 'GET', delivery)).status !== 'waiting')

describe('Nothing more is sent for a webhook', () => {
  for (const [who, prepare] of Object.entries(CASES))
    it(`of ${who}, neither new nor recorded before, and those of others go on`, async () => {
      const { repository, creator, place, movesTo = creator.name, other, otherPlace, lose } = await prepare()
      const moved = (at: string) => at.replace(`/${creator.name}/`, `/${movesTo}/`)
      const [path, otherPath] = [`/held${++made}`, `/other${made}`]
      const { id } = await done(creator, 'POST', place, hookAt(path, 'issues'))
      const others = await done(other, 'POST', otherPlace, hookAt(otherPath, 'issues'))
      const issues = `/repos/${repository}/issues`
      const open = (title: string, at = issues) => done(allot.root, 'POST', at, { title })
      await open('sent')
      await receiver.at(path, 1)
      await open('recorded')
      await lose()
      await open('later', moved(issues))
      held.pop()!.end()

      const hook = `${moved(place)}/${id}`
      await finished(allot.root, `${hook}/deliveries/2`)
      assert.deepEqual(
        (await receiver.at(otherPath, 3)).map(({ body }) => body.issue.title),
        ['sent', 'recorded', 'later'],
      )
      assert.deepEqual(
        (await receiver.at(path, 1)).map(({ body }) => body.issue.title),
        ['sent'],
      )
      const { active, inactive_reason: reason } = await done(allot.root, 'GET', hook)
      assert.deepEqual([active, /^the user who made or last changed the webhook/.test(reason)], [false, true])
      assert.deepEqual(
        (await done(allot.root, 'GET', `${hook}/deliveries`)).map((one: Record<string, unknown>) => [
          one.status,
          one.error,
        ]),
        [
          ['failed', reason],
          ['delivered', ''],
        ],
      )
      for (const again of ['tests', 'deliveries/1/attempts'])
        assertError(await allot.as(allot.root, 'POST', `${hook}/${again}`), 409, /not active: the user who/)

      assert.equal((await done(allot.root, 'PATCH', hook, { active: true })).inactive_reason, '')
      await open('taken over', moved(issues))
      assert.equal((await receiver.at(path, 2))[1]!.body.issue.title, 'taken over')
      held.pop()!.end()
      await done(other, 'DELETE', `${otherPlace}/${others.id}`)
      await done(allot.root, 'DELETE', hook)
    })

  it('of a user about a repository that the user has given away', async () => {
    const [alice, bob] = [await allot.person(), await allot.person()]
    const repository = await repositoryOf(alice)
    const path = `/held${++made}`
    const { id } = await done(alice, 'POST', '/user/hooks', hookAt(path, 'issues'))
    for (const title of ['sent', 'recorded'])
      await done(alice, 'POST', `/repos/${repository}/issues`, { title })
    await receiver.at(path, 1)
    await done(allot.root, 'POST', `/repos/${repository}/transfer`, { new_owner: bob.name })
    held.pop()!.end()
    await finished(alice, `/user/hooks/${id}/deliveries/2`)
    assert.match((await done(alice, 'GET', `/user/hooks/${id}/deliveries/2`)).error, /cannot read the repo/)
    assert.equal((await receiver.at(path, 1)).length, 1)
    assert.equal((await done(alice, 'GET', `/user/hooks/${id}`)).active, true)
  })
})

describe('A payload, which shows what one user may see,', () => {
  /** A webhook of an organization by alice, who is hidden from bob, the other owner, with a delivery. */
  const prepare = async (path: string) => {
    const email = `hidden${++made}@home.example`
    const [alice, bob] = [await allot.person(undefined, { email }), await allot.person()]
    await done(allot.root, 'PATCH', `/admin/users/${alice.name}`, { visibility: 'private' })
    const org = `shared${made}`
    await done(alice, 'POST', '/orgs', { username: org })
    await done(alice, 'PUT', `/orgs/${org}/members/${bob.name}`, { role: 'owner' })
    const repository = await repositoryOf(alice, org)
    const { id } = await done(alice, 'POST', `/orgs/${org}/hooks`, hookAt(path, 'issues'))
    const open = (title: string) => done(alice, 'POST', `/repos/${repository}/issues`, { title })
    await open('first')
    return { alice, bob, email, open, hook: `/orgs/${org}/hooks/${id}` }
  }
  const issuesAt = async (path: string, count: number) =>
    (await receiver.at(path, count)).map(({ body }) => [body.issue.title, body.sender.email])

  it('is read by the user for whom it was made and by administrators, and not by others who administer the place', async () => {
    const path = `/seen${++made}`
    const { alice, bob, email, hook } = await prepare(path)
    await receiver.at(path, 1)
    const delivery = `${hook}/deliveries/1`
    await finished(alice, delivery)
    for (const who of [alice, allot.root])
      assert.equal((await done(who, 'GET', delivery)).request.payload.sender.email, email)
    assertError(await allot.as(bob, 'GET', delivery), 403, /only administrators and the user/)
    assert.equal((await done(bob, 'GET', `${hook}/deliveries`))[0].status, 'delivered')
    await done(bob, 'PATCH', hook, { config: { url: `${receiver.url}/later${made}` } })
    assertError(await allot.as(bob, 'GET', delivery), 403)
    assertError(await allot.as(bob, 'POST', `${delivery}/attempts`), 409, /recorded for another user/)
  })

  it('that waits is not sent once the webhook acts for another user, and later ones are', async () => {
    const path = `/held${++made}`
    const { alice, bob, email, open, hook } = await prepare(path)
    await receiver.at(path, 1)
    await open('waits')
    const moved = `/moved${made}`
    await done(bob, 'PATCH', hook, { config: { url: receiver.url + moved } })
    await open('later')
    held.pop()!.end()
    const ghost = (await issuesAt(moved, 1))[0]!
    assert.deepEqual(ghost, ['later', 'ghost@noreply.127.0.0.1'])
    assert.match((await done(alice, 'GET', `${hook}/deliveries/2`)).error, /recorded for another user/)
    assert.deepEqual(await issuesAt(path, 1), [['first', email]])
  })

  it('is sent for an administrator, who may see all of it', async () => {
    const path = `/held${++made}`
    const { email, open, hook } = await prepare(path)
    await receiver.at(path, 1)
    await open('waits')
    const moved = `/moved${made}`
    await done(allot.root, 'PATCH', hook, { config: { url: receiver.url + moved } })
    held.pop()!.end()
    await done(allot.root, 'POST', `${hook}/deliveries/1/attempts`)
    const expected = ['waits', 'first'].map((title) => [title, email])
    assert.deepEqual(await issuesAt(moved, 2), expected)
  })
})

describe('The scopes of a token', () => {
  /** Scopes of the events at a path, besides the one of the path. */
  const NEEDED = {
    push: ['read:repository'],
    repository: ['read:repository'],
    issues: ['read:repository', 'read:issue'],
    issue_comment: ['read:repository', 'read:issue'],
    package: ['read:package'],
    '*': ['read:repository', 'read:issue', 'read:package'],
    quota: [],
  }
  const without = (scopes: string[], one: string) => scopes.filter((scope) => scope !== one)

  for (const [event, needed] of Object.entries(NEEDED))
    it(`limit who makes and changes a webhook of the event ${event}`, async () => {
      const alice = await allot.person()
      const path = `/scoped${++made}`
      for (const missing of needed) {
        const token = await allot.scoped(alice, 'write:user', ...without(needed, missing))
        const body = hookAt(path, event)
        assertError(await allot.request('POST', '/user/hooks', { token, body }), 403, new RegExp(missing))
        const { id } = await done(token, 'POST', '/user/hooks', hookAt(path, 'quota'))
        for (const edit of [{ events: [event] }, { events: [event], active: false }])
          assertError(await allot.request('PATCH', `/user/hooks/${id}`, { token, body: edit }), 403)
        assert.deepEqual((await done(token, 'GET', `/user/hooks/${id}`)).events, ['quota'])
        await done(token, 'DELETE', `/user/hooks/${id}`)
      }
      const token = await allot.scoped(alice, 'write:user', ...needed)
      const { id } = await done(token, 'POST', '/user/hooks', hookAt(path, event))
      assert.equal((await done(token, 'PATCH', `/user/hooks/${id}`, { active: true })).inactive_reason, '')
    })

  it('limit who reads the payload of a delivery', async () => {
    const alice = await allot.person()
    const repository = await repositoryOf(alice)
    const path = `/read${++made}`
    const hooks = `/repos/${repository}/hooks`
    const { id } = await done(alice, 'POST', hooks, hookAt(path, 'issues'))
    await done(alice, 'POST', `/repos/${repository}/issues`, { title: 'private' })
    await receiver.at(path, 1)
    const at = `${hooks}/${id}/deliveries`
    const narrow = await allot.scoped(alice, 'read:repository')
    assert.doesNotMatch(JSON.stringify(await done(narrow, 'GET', at)), /private/)
    assertError(await allot.request('GET', `${at}/1`, { token: narrow }), 403, /read:issue/)
    const wide = await allot.scoped(alice, 'read:repository', 'read:issue')
    assert.equal((await done(wide, 'GET', `${at}/1`)).request.payload.issue.title, 'private')
  })

  it('do not limit deleting a webhook', async () => {
    const alice = await allot.person()
    const { id } = await done(alice, 'POST', '/user/hooks', hookAt('/none', '*'))
    const token = await allot.scoped(alice, 'write:user')
    assertNoContent(await allot.request('DELETE', `/user/hooks/${id}`, { token }))
  })
})
