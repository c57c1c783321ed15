import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { generateGpgKey } from '../support/keygen.ts'
import { peopleBefore, startBefore } from '../support/test-server.ts'
import { forgejo, type Replay, type Reply, recorded } from './replay.ts'
import { pushed, refsOf, startTarget, type Target } from './two.ts'

const pair = generateGpgKey('Alice <alice@example.com>')
const NONE: Reply = { body: [], total: 0 }
const NOT_FOUND: Reply = { status: 404, body: { message: "The target couldn't be found.", errors: [] } }
const FORBIDDEN: Reply = { status: 403, body: { message: 'forbidden' } }

const UNITS = Object.fromEntries(
  ['repo.code', 'repo.issues', 'repo.pulls', 'repo.releases', 'repo.packages'].map((one) => [one, 'write']),
)

/** After the API's document, which has more lists of organizations than the records. */
const ORGANIZATIONS: Record<string, Reply> = {
  '/admin/orgs': { body: [{ id: 8, name: 'acme', username: 'acme', full_name: 'Acme Inc' }], total: 1 },
  '/orgs/acme/members': { body: [{ login: 'alice' }, { login: 'bob' }], total: 2 },
  '/orgs/acme/repos': NONE,
  '/orgs/acme/teams': {
    body: [
      { id: 1, name: 'Owners', permission: 'owner', includes_all_repositories: true },
      {
        ...{ id: 2, name: 'devs', permission: 'write', includes_all_repositories: true },
        ...{ units_map: UNITS, can_create_org_repo: true },
      },
    ],
    total: 2,
  },
  '/teams/1/members': { body: [{ login: 'alice' }], total: 1 },
  '/teams/2/members': { body: [{ login: 'bob' }], total: 1 },
}

let target: Target
let source: Replay

const asked = () => ({ base: source.base, root: behind.root })

const behind = startBefore()
const [alice] = peopleBefore(behind, 'alice')
before(async () => {
  await behind.person('bob')
  for (const name of ['demo', 'secret']) {
    await behind.as(alice, 'POST', '/user/repos', { name, private: name === 'secret' })
    await pushed(behind, alice, `alice/${name}`)
  }
  const [key] = recorded('/users/alice/gpg_keys').body as object[]
  source = await forgejo(behind, {
    ...ORGANIZATIONS,
    '/users/alice/gpg_keys': { body: [{ ...key, key_id: pair.listed[0]!.keyId }], total: 1 },
    '/alice.gpg': { body: pair.armored },
    '/users/alice/starred': { body: [{ ...demo(), private: true }], total: 2 },
    '/users/alice/subscriptions': FORBIDDEN,
    '/users/bob/repos': NONE,
    '/users/root1/repos': NONE,
    '/admin/orgs': {
      body: [
        ...(ORGANIZATIONS['/admin/orgs']!.body as object[]),
        { id: 9, name: 'closed' },
        { id: 10, name: 'hidden', visibility: 'private' },
      ],
      total: 3,
    },
    '/orgs/hidden/repos': NONE,
    '/orgs/hidden/teams': { body: [{ id: 1, name: 'Owners', permission: 'owner' }], total: 1 },
    '/packages/hidden': { body: [{ type: 'generic', name: 'kit', version: '1.0' }], total: 1 },
    '/orgs/closed/repos': NONE,
    '/orgs/closed/teams': NOT_FOUND,
  })
  target = await startTarget()
})
after(async () => {
  source.stop()
  await behind.stop()
  await target.stop()
})

const demo = () => (recorded('/users/alice/repos').body as object[])[0]!

describe('The recorded responses of a Forgejo', () => {
  it('are copied: accounts, owners and members, repositories, keys, stars, follows', async () => {
    const report = await target.from(asked())
    const { hosting } = target.allot
    const alice = (await hosting.accounts.byName('alice'))!
    assert.equal(alice.email, 'alice@example.com')
    assert.equal((await hosting.accounts.byName('bob'))!.fullName, 'Bob Ünïcode')
    assert.equal((await hosting.accounts.byName('root1'))!.admin, true)
    const acme = (await hosting.accounts.byName('acme'))!
    assert.equal(await hosting.organizations.isOwner(acme.id, alice.id), true)
    assert.equal(await hosting.organizations.hasMember({ id: 0, admin: true }, 'acme', 'bob'), true)
    for (const path of ['alice/demo', 'alice/secret'])
      assert.equal(await refsOf(target, target.root, path), await refsOf(behind, behind.root, path))
    const keys = await target.as(target.root, 'GET', '/users/alice/gpg_keys')
    assert.deepEqual(keys.body[0].emails, [{ email: 'alice@example.com', verified: true }])
    const starred = await target.as(target.root, 'GET', '/users/alice/starred')
    assert.deepEqual(
      starred.body.map((one: { full_name: string }) => one.full_name),
      ['alice/demo'],
    )
    assert.match(report.text, /^GPG keys: 1 copied, 0 already there$/m)
    assert.match(report.text, /^follows: 1 copied/m)
  })

  it('are reported where they refuse, or name what does not exist here', async () => {
    const { text } = await target.from(asked())
    assert.match(text, /which the source does not show: root1, alice$/m)
    assert.match(text, /what does not exist here: alice: carol$/m)
    assert.match(text, /packages of private organizations: .* here: hidden \(1\)$/m)
    assert.match(text, /the organization closed: .*\/orgs\/closed\/teams answered 404/)
  })

  it('have their quota copied, with the subject of the wiki renamed', async () => {
    const rules = await target.as(target.root, 'GET', '/admin/quota/rules')
    assert.deepEqual(rules.body, recorded('/admin/quota/rules').body)
    const of = await target.as(target.root, 'GET', '/admin/quota/groups/g1/users')
    assert.deepEqual(
      of.body.map((one: { login: string }) => one.login),
      ['alice', 'bob'],
    )
  })

  it('are requested as each user, who sees more of their own lists', () => {
    const starred = source.asked.find(({ path }) => path === '/users/alice/starred')
    assert.equal(starred?.sudo, 'alice')
    const watched = source.asked.filter(({ path }) => path === '/users/alice/subscriptions').slice(0, 2)
    assert.deepEqual(
      watched.map(({ sudo }) => sudo),
      ['alice', undefined],
      'refused, and asked for without',
    )
  })
})

describe('An owner named with --owner', () => {
  it('is copied with its members, and no other account is', async () => {
    const one = await forgejo(behind, {
      ...ORGANIZATIONS,
      '/orgs/acme': { body: { id: 8, name: 'acme' } },
      '/orgs/acme/repos': NONE,
      '/users/alice/gpg_keys': NONE,
    })
    const into = await startTarget()
    try {
      const { text } = await into.from({ base: one.base, root: behind.root }, ['acme'])
      assert.match(text, /^users: 2 copied, 0 already there\norganizations: 1 copied/m)
      assert.doesNotMatch(text, /^repositories/m)
      assert.match(text, /^quota assignments: 2 copied/m)
    } finally {
      one.stop()
      await into.stop()
    }
  })
})

describe('A Gitea', () => {
  it('has no quota, and what a Forgejo gives is copied from it too', async () => {
    const gitea = await forgejo(behind, {
      '/admin/orgs': NONE,
      '/admin/quota/rules': { status: 404, body: '404 page not found\n' },
      '/admin/quota/groups': { status: 404, body: '404 page not found\n' },
      '/users/alice/gpg_keys': NONE,
      '/users/root1/repos': NONE,
      '/users/root1/keys': NONE,
    })
    const into = await startTarget()
    try {
      const report = await into.from({ base: gitea.base, root: behind.root })
      assert.match(report.text, /quota, which the source does not have, or has turned off/)
      assert.match(report.text, /^repositories: 2 copied/m)
    } finally {
      gitea.stop()
      await into.stop()
    }
  })

  it('of version 1.26 has its package files copied, and refuses issues that are off and the git data of inactive owners', async () => {
    const sha256 = createHash('sha256').update('kit').digest('hex')
    const path = '/api/packages/alice/generic/kit/1.0/kit.tar'
    await behind.upload(alice, path, 'kit')
    const [first, ...others] = recorded('/users/alice/repos').body as { owner: object; name: string }[]
    const inactive = { ...first, owner: { ...first!.owner, active: false } }
    const gitea = await forgejo(behind, {
      '/admin/orgs': NONE,
      '/users/alice/gpg_keys': NONE,
      // The server behind has other ids.
      '/users/alice/subscriptions': NONE,
      '/users/root1/repos': NONE,
      '/users/alice/repos': { body: [inactive, ...others], total: others.length + 1 },
      [`/alice/${first!.name}.git/info/refs?service=git-upload-pack`]: FORBIDDEN,
      [`/repos/alice/${first!.name}/issues?state=all&type=issues&limit=1`]: NOT_FOUND,
      [`/repos/alice/${first!.name}/releases`]: NOT_FOUND,
      '/packages/alice/generic/kit/1.0/files': { body: [{ name: 'kit.tar', size: 3, sha256 }], total: 1 },
    })
    const into = await startTarget()
    try {
      const report = await into.from({ base: gitea.base, root: behind.root }, ['alice'])
      assert.ok(report.isComplete(), report.text)
      assert.match(report.text, /^package files: 1 copied/m)
      const label = `alice/${first!.name}`
      assert.match(report.text, new RegExp(`^ {2}git data of owners who are inactive .*: ${label}$`, 'm'))
      for (const what of ['issues', 'releases'])
        assert.match(report.text, new RegExp(`^ {2}${what}, which the source has turned .*: ${label}$`, 'm'))
      const compared = await into.compared({ base: gitea.base, root: behind.root }, ['alice'])
      assert.match(compared.text, /^ {2}git data of owners who are inactive .*: \S+$/m)
      assert.ok(compared.isSame(), compared.text)
    } finally {
      gitea.stop()
      await into.stop()
    }
  })

  it('whose package file does not have the SHA-256 that is listed has it reported and not copied, but the other files are', async () => {
    const path = '/api/packages/alice/generic/damaged/1.0/kit.tar'
    for (const file of [path, `${path}.sig`]) await behind.upload(alice, file, 'kit')
    const sha256 = createHash('sha256').update('Kit').digest('hex')
    const files = [
      { name: 'kit.tar', size: 3, sha256 },
      { name: 'kit.tar.sig', size: 3, sha256: createHash('sha256').update('kit').digest('hex') },
    ]
    const gitea = await forgejo(behind, {
      '/admin/orgs': NONE,
      '/users/alice/gpg_keys': NONE,
      '/users/alice/subscriptions': NONE,
      '/users/alice/repos': NONE,
      '/packages/alice/generic/damaged/1.0/files': { body: files, total: 2 },
    })
    const into = await startTarget()
    try {
      const { text } = await into.from({ base: gitea.base, root: behind.root }, ['alice'])
      const reason = `the content must have the SHA-256 ${sha256}, got [0-9a-f]{64}`
      assert.match(text, new RegExp(`^ {2}the package file alice: damaged 1.0 kit.tar: ${reason}$`, 'm'))
      const authorization = { headers: { authorization: `token ${into.root.token}` } }
      assert.equal((await fetch(into.base + path, authorization)).status, 404)
      assert.equal((await fetch(`${into.base}${path}.sig`, authorization)).status, 200)
    } finally {
      gitea.stop()
      await into.stop()
    }
  })
})
