import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { connectSource } from '../../bin/migrate/connect.ts'
import { select } from '../../bin/migrate/index.ts'
import { commit, git, urlFor } from '../git/client.ts'
import { generateSshKey } from '../support/keygen.ts'
import {
  madeBefore,
  type Person,
  peopleBefore,
  startBefore,
  type TestServer,
} from '../support/test-server.ts'
import { everythingIn, pushed, refsOf, startTarget, type Target } from './two.ts'

let target: Target
let checkout: string
const pair = generateSshKey('ed25519')

const source = startBefore({ dialect: 'forgejo' })
const ann = madeBefore(() => source.person('ann', { email: 'ann@example.org', password: 'correct horse' }))
const [ben] = peopleBefore(source, 'ben')
before(async () => {
  await source.as(source.root, 'PATCH', '/admin/users/ben', { full_name: 'Ben Ü', location: 'here' })
  await source.as(source.root, 'PATCH', '/admin/users/ben', { prohibit_login: false, visibility: 'limited' })
  await source.as(ann, 'POST', '/orgs', { username: 'acme', full_name: 'Acme', visibility: 'private' })
  await source.as(ann, 'PUT', '/orgs/acme/members/ben', {})
  await source.as(ann, 'POST', '/user/repos', { name: 'demo', private: true, description: 'a demo' })
  await source.as(ann, 'POST', '/user/repos', { name: 'bare', default_branch: 'trunk' })
  await source.as(ben, 'POST', '/orgs/acme/repos', { name: 'site' })
  await source.as(ann, 'PATCH', '/repos/ann/demo', { website: 'https://example.org', archived: true })
  await source.as(ann, 'PATCH', '/repos/ann/demo', { archived: false })
  await source.as(ben, 'PUT', '/user/starred/acme/site')
  await source.as(ben, 'PUT', '/user/following/ann')
  await source.as(ann, 'DELETE', '/repos/ann/bare/subscription')
  await source.as(ben, 'POST', '/user/keys', { title: 'laptop', key: pair.key })
  await source.as(source.root, 'POST', '/admin/quota/groups', {
    name: 'free',
    rules: [{ name: 'total', limit: 1000, subjects: ['size:git:all', 'size:assets:wiki'] }],
  })
  for (const name of ['acme', 'ben'])
    await source.as(source.root, 'PUT', `/admin/quota/groups/free/users/${name}`)
  checkout = await pushed(source, ann!, 'ann/demo')
  await pushed(source, ann!, 'acme/site')
  target = await startTarget()
})
after(async () => {
  await source.stop()
  await target.stop()
})

describe('A migration', () => {
  it('copies accounts, organizations and repositories with every branch and tag', async () => {
    const report = await target.from(source)
    assert.ok(report.isComplete(), report.text)
    assert.match(report.text, /^users: 2 copied, 1 already there$/m)
    assert.match(report.text, /^organizations: 1 copied/m)
    assert.match(report.text, /^repositories: 3 copied/m)
    assert.match(report.text, /no password comes along.*: ann, ben, root$/m)
    for (const path of ['/users/ann', '/users/ben', '/orgs/acme', '/repos/ann/demo', '/repos/acme/site'])
      assert.deepEqual(await without(target, path), await without(source, path), path)
    for (const path of ['ann/demo', 'acme/site'])
      assert.equal(await refsOf(target, target.root, path), await refsOf(source, source.root, path))
    const { body } = await target.as(target.root, 'GET', '/repos/ann/bare')
    assert.deepEqual([body.empty, body.default_branch], [true, 'trunk'])
    assert.equal(await target.allot.hosting.organizations.hasMember(AN_ADMINISTRATOR, 'acme', 'ben'), true)
  })

  it('of an owner who is named twice reads it once', async () => {
    const at = await connectSource(source.base, source.root.token)
    const { selected } = await select(at, ['acme', 'ACME', 'ann', 'Ann'])
    assert.deepEqual(
      selected.owners.map(({ name }) => name),
      ['ann', 'acme'],
    )
    assert.equal(selected.organizations.length, 1)
  })

  it('copies keys, relations and quota', async () => {
    for (const path of OF_USERS)
      assert.deepEqual(await without(target, path), await without(source, path), path)
    for (const path of ['/admin/quota/rules', '/admin/quota/groups', '/admin/quota/groups/free/users']) {
      const [here, there] = [await without(target, path), await without(source, path)]
      assert.equal(JSON.stringify(here), JSON.stringify(there).replaceAll('size:assets:wiki', 'size:wiki'))
    }
  })

  it('has what it changed in the audit log, as the command line', async () => {
    const { body } = await target.as(target.root, 'GET', '/admin/audit?limit=50')
    const entries: { actor: { id: number; login: string }; action: string; subject: string }[] = body
    const copied = entries.filter(({ actor }) => actor.id === 0 && actor.login === 'operator')
    const texts = copied.map(({ action, subject }) => `${action} ${subject}`)
    for (const text of [
      ...['account created ann', 'account created ben', 'account created acme'],
      ...['rule created total', 'group created free', 'groups assigned acme', 'groups assigned ben'],
    ])
      assert.ok(texts.includes(text), `${text}: ${texts.join(', ')}`)
  })

  it('changes nothing the second time', async () => {
    const before = await everythingIn(target)
    const report = await target.from(source)
    assert.ok(report.isComplete(), report.text)
    assert.doesNotMatch(report.text, /[1-9]\d* copied/)
    assert.deepEqual(await everythingIn(target), before)
  })

  it('publishes memberships as the source does', async () => {
    const path = '/orgs/acme/public_members/'
    const shown = async () =>
      (await target.as(target.root, 'GET', path.slice(0, -1))).body.map(
        ({ login }: Person & { login: string }) => login,
      )
    const set = async (server: TestServer, method: string, name: string) => {
      const { status } = await server.as(server.root, method, `${path}${name}?sudo=${name}`)
      assert.equal(status, 204)
    }
    const listsAll = {
      ...source,
      // To an administrator, as a Gitea does.
      fetch: (url: string, request: RequestInit) =>
        fetch(url.replace('public_members?', 'members?'), request),
    }
    for (const name of ['ann', 'ben']) await set(source, 'PUT', name)
    assert.match((await target.from(listsAll)).text, /^public memberships: 2 copied/m)
    assert.deepEqual(await shown(), ['ann', 'ben'])
    await set(source, 'DELETE', 'ann')
    await set(target, 'DELETE', 'ben')
    const { text } = await target.from(listsAll)
    assert.match(text, /^ {2}public memberships that were removed here: ben \(acme\)$/m)
    assert.match(text, /^removed, because the source removed it:\n {2}public memberships: ann \(acme\)$/m)
    assert.deepEqual(await shown(), ['ben'])
  })

  const amended = async (message: string) => {
    await git(checkout, 'commit', '--quiet', '--amend', '--message', message)
    await git(checkout, 'push', '--quiet', '--force', 'origin', 'main')
  }
  const assertSameRefs = async () =>
    assert.equal(await refsOf(target, target.root, 'ann/demo'), await refsOf(source, source.root, 'ann/demo'))

  it('fetches what was pushed since, also by force, and removes deleted branches and tags', async () => {
    await commit(checkout, { b: 'two\n' })
    await git(checkout, 'push', '--quiet', 'origin', 'main')
    assert.ok((await target.from(source)).isComplete())
    await assertSameRefs()
    await amended('another')
    await git(checkout, 'tag', '--force', '--annotate', '--message', 'moved', 'v1')
    await git(checkout, 'tag', 'old')
    await git(checkout, 'push', '--quiet', '--force', 'origin', 'v1', 'old', 'main:done')
    assert.ok((await target.from(source)).isComplete())
    await assertSameRefs()
    await git(checkout, 'push', '--quiet', 'origin', ':old', ':done')
    await git(checkout, 'push', '--quiet', 'origin', 'main:refs/tags/old/one')
    const report = await target.from(source)
    assert.ok(report.isComplete(), report.text)
    await assertSameRefs()
  })

  it('leaves branches and tags unchanged that were changed here', async () => {
    await git(checkout, 'push', '--quiet', 'origin', 'main:refs/tags/kept')
    assert.ok((await target.from(source)).isComplete())
    await git(checkout, 'commit', '--quiet', '--amend', '--message', 'made here')
    const here = urlFor(target, 'ann/demo', target.root)
    await git(
      checkout,
      'push',
      '--quiet',
      '--force',
      here,
      'main',
      'main:refs/tags/kept',
      'main:refs/tags/own',
    )
    await amended('made there')
    await git(checkout, 'push', '--quiet', 'origin', ':refs/tags/kept')
    const before = await refsOf(target, target.root, 'ann/demo')
    const report = await target.from(source)
    assert.match(report.text, /repository ann\/demo: .*diverged here, and stay unchanged/)
    assert.equal(await refsOf(target, target.root, 'ann/demo'), before)
  })
})

const AN_ADMINISTRATOR = { id: 0, admin: true }

const OF_USERS = ['keys', 'starred', 'subscriptions', 'following', 'followers'].flatMap((list) =>
  ['ann', 'ben'].map((name) => `/users/${name}/${list}`),
)

/** Without what is each server's own. */
const without = async (server: TestServer, path: string): Promise<unknown> => {
  const { body } = await server.as(server.root, 'GET', path)
  const text = JSON.stringify(body, (name, value) =>
    /^(id|created|created_at|updated_at|avatar_url|size)$/.test(name) ? undefined : value,
  )
  return JSON.parse(text.replaceAll(server.base, ''))
}
