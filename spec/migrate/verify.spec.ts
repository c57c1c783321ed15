import assert from 'node:assert/strict'
import { chmodSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type Kind, LABELS } from '../../bin/migrate/labels.ts'
import { Comparison } from '../../bin/migrate/verify/comparison.ts'
import { commit, git, urlFor } from '../git/client.ts'
import { generateSshKey } from '../support/keygen.ts'
import { type Person, startBefore } from '../support/test-server.ts'
import { type Replay, replay } from './replay.ts'
import { everythingIn, type From, LFS, OID, POINTER, pushed, startTarget, type Target } from './two.ts'

const OWNERS = ['ann', 'ben', 'carl', 'acme']
const APP = '/repos/ann/app'

let target: Target
let [ann, ben]: Person[] = []
let checkout: string
let seen: Replay
/** What the source was asked: methods and paths. */
let asked: string[] = []

const fill = async () => {
  const as: typeof source.done = (...sent) => source.done(...sent)
  ann = await source.person('ann', { email: 'ann@example.org' })
  ben = await source.person('ben')
  await source.person('carl')
  await as(source.root, 'PATCH', '/admin/users/ann', { full_name: 'Ann', website: 'https://ann.example' })
  await as(ben, 'POST', '/user/keys', { title: 'laptop', key: generateSshKey('ed25519').key })
  await as(ann, 'POST', '/orgs', { username: 'acme', description: 'makes things' })
  await as(ann, 'POST', '/orgs/acme/repos', { name: 'site', private: true })
  const team = { name: 'readers', permission: 'read', units: ['repo.code'], includes_all_repositories: true }
  const { body } = await source.as(ann, 'POST', '/orgs/acme/teams', team)
  await as(ann, 'PUT', `/teams/${body.id}/members/ben`)
  await as(ben, 'PUT', '/orgs/acme/public_members/ben')
  await as(ann, 'POST', '/user/repos', { name: 'app', description: 'an application' })
  await as(ann, 'POST', '/user/repos', { name: 'empty', private: true })
  await as(ann, 'PUT', '/repos/ann/empty/collaborators/ben', { permission: 'write' })
  await as(ann, 'PUT', `${APP}/topics`, { topics: ['git', 'quota'] })
  for (const title of ['one', 'two', 'three']) await as(ben, 'POST', `${APP}/issues`, { title, body: title })
  await as(ann, 'POST', `${APP}/issues/1/comments`, { body: 'a comment' })
  await source.attach(ann, `${APP}/issues/1`, 'log\n', 'log.txt')
  await as(ann, 'POST', `${APP}/releases`, { tag_name: 'v1', name: 'First' })
  await as(ann, 'POST', `${APP}/releases`, { tag_name: 'next', draft: true })
  await source.attach(ann, `${APP}/releases/1`, 'binary', 'app.bin')
  await source.upload(ann, '/api/packages/ann/generic/kit/1.0/kit.tar', 'kit')
  await source.upload(ann, '/api/packages/ann/generic/kit/2.0/kit.tar', 'kit 2')
  await as(ben, 'PUT', '/user/starred/ann/app')
  await as(ben, 'PUT', '/user/following/ann')
  await as(source.root, 'POST', '/admin/quota/groups', {
    name: 'free',
    rules: [{ name: 'total', limit: 1000, subjects: ['size:git:all', 'size:assets:wiki'] }],
  })
  await as(source.root, 'PUT', '/admin/quota/groups/free/users/ann')
  const hook = {
    type: 'gitea',
    config: { url: 'https://ci.example.org/', content_type: 'json' },
    events: ['push'],
  }
  await as(ann, 'POST', `${APP}/hooks`, hook)
  checkout = await pushed(source, ann, 'ann/app')
  await commit(checkout, { 'big.bin': POINTER })
  await git(checkout, 'push', '--quiet', 'origin', 'main')
  await source.upload(ann, `/ann/app.git/info/lfs/objects/${OID}/${LFS.length}`, LFS)
  await as(ben, 'POST', `${APP}/forks`, {})
}

const source = startBefore({ dialect: 'forgejo', webhooks: true })
before(async () => {
  await fill()
  seen = await replay({}, (req, res) => {
    asked.push(`${req.method} ${req.url}`)
    source.allot.handler(req, res)
  })
  target = await startTarget()
  const report = await target.from(given(), OWNERS)
  assert.ok(report.isComplete(), report.text)
})
after(async () => {
  seen.stop()
  await source.stop()
  await target.stop()
})

const given = () => ({ base: seen.base, root: source.root })

describe('A comparison of an unchanged copy', () => {
  let unchanged: string[]
  let requests: string[]
  let report: Awaited<ReturnType<Target['compared']>>
  before(async () => {
    unchanged = await everythingIn(target)
    asked = []
    report = await target.compared(given(), OWNERS)
    requests = asked
  })

  it('finds no difference, and says what it compared', () => {
    assert.ok(report.isSame(), report.text)
    for (const line of [
      /^compared:$/m,
      /^ {2}users: 3$/m,
      /^ {2}organizations: 1$/m,
      /^ {2}repositories: 4$/m,
      /^ {2}issues: 3$/m,
      /^ {2}LFS objects: 2$/m,
      /^ {2}package files: 2$/m,
      /^ {2}webhooks: 1$/m,
      // Everyone and three users on each of four repositories.
      /^ {2}rights of a user on a repository: 16$/m,
      /^no differences$/m,
    ])
      assert.match(report.text, line)
  })

  it('compares every kind that was copied', async () => {
    const { counts } = report.toJSON() as { counts: Record<string, { found: number }> }
    const log = target.allot.hosting.migrationLog(seen.base)
    const copied = new Set<string>()
    for (const kind of Object.keys(LABELS) as Kind[]) {
      if ((await log.list(kind)).length === 0) continue
      copied.add(kind)
      const counted = kind === 'account' ? 'users' : LABELS[kind].many
      assert.ok(counts[counted]!.found > 0, kind)
    }
    for (const kind of ['sshKey', 'star', 'team', 'collaborator', 'issue', 'hook', 'quotaRule'])
      assert.ok(copied.has(kind), kind)
  })

  it('names what is left behind by design', () => {
    assert.match(
      report.text,
      /^left behind by design:\n {2}passwords, access tokens, .*wikis, pull requests, .*packages of other types than generic$/m,
    )
  })

  it('changes nothing on either side', async () => {
    assert.deepEqual(await everythingIn(target), unchanged)
    const writes = requests.filter(
      (line) => !/^(GET|HEAD) |^POST \S+\/(git-upload-pack|info\/lfs\/objects\/batch)$/.test(line),
    )
    assert.deepEqual(writes, [])
  })

  it('downloads no attachments, since the source counts downloads', () => {
    assert.deepEqual(
      requests.filter((line) => /\/attachments\//.test(line)),
      [],
    )
  })
})

describe('A comparison after a migration', () => {
  it('lists accounts and repositories that exist only here, and does not count them as differences', async () => {
    await source.person('emil')
    await target.person('dora')
    const { accounts, repositories } = target.allot.hosting
    const owner = (await accounts.byName('ben'))!
    await repositories.create(owner, owner, { name: 'own' })
    const report = await target.compared(given())
    assert.match(report.text, /^only here:\n {2}ben\/own\n {2}dora$/m)
    assert.match(report.text, /^ {2}user emil: not here$/m)
    await target.as(target.root, 'DELETE', '/repos/ben/own')
  })

  it('finds a copy by its id when the original has another name by now', async () => {
    await source.as(ann, 'PATCH', '/repos/ann/empty', { name: 'bare' })
    const report = await target.compared(given(), OWNERS)
    await source.as(ann, 'PATCH', '/repos/ann/bare', { name: 'empty' })
    assert.match(report.text, /^with another name here:\n {2}repositories: ann\/bare is ann\/empty$/m)
    assert.match(report.text, /^different:\n {2}repository ann\/bare: updatedAt is .*\ndifferences: 1$/m)
  })
})

/** What is changed after the migration, and the line that tells of it. */
const CHANGES: [what: string, change: () => Promise<unknown>, line: RegExp][] = []
const here = (method: string, path: string, body?: unknown) => () =>
  target.done(target.root, method, path, body)
const there = (method: string, path: string, body?: unknown) => async () => {
  const { status } = await source.as(source.root, method, path, body)
  assert.ok(status < 300, `${method} ${path} ${status}`)
}

CHANGES.push(
  [
    'a profile',
    here('PATCH', '/admin/users/ann', { full_name: 'Anna' }),
    /^ {2}user ann: fullName is "Anna" here, "Ann" at the source$/m,
  ],
  [
    'the address of a user',
    there('PATCH', '/admin/users/ann', { email: 'other@example.org' }),
    /^ {2}user ann: email is "ann@example.org" here, "other@example.org" at the source$/m,
  ],
  [
    'an administrator',
    here('PATCH', '/admin/users/carl', { admin: true }),
    /^ {2}user carl: admin is true here, false at the source\n[\s\S]*^ {2}right carl on ann\/app: right is "admin" here, "read" at the source$/m,
  ],
  [
    'a key',
    async () => {
      const { body } = await target.as(target.root, 'GET', '/users/ben/keys')
      const { id } = (await target.allot.hosting.accounts.byName('ben'))!
      await target.allot.hosting.sshKeys.remove(id, body[0].id)
    },
    /^ {2}SSH key laptop \(ben\): not here$/m,
  ],
  ['a follow', there('DELETE', '/user/following/ann?sudo=ben'), /^ {2}follow ann \(ben\): only here$/m],
  ['a star', there('PUT', '/user/starred/ann/app?sudo=ann'), /^ {2}star ann\/app \(ann\): not here$/m],
  [
    'the profile of an organization',
    there('PATCH', '/orgs/acme', { description: 'made things' }),
    /^ {2}organization acme: description is "makes things" here, "made things" at the source$/m,
  ],
  [
    'a public membership',
    there('DELETE', '/orgs/acme/public_members/ben?sudo=ben'),
    /^ {2}public membership ben \(acme\): only here$/m,
  ],
  [
    'the rights of a team',
    async () => {
      const { body } = await target.as(target.root, 'GET', '/orgs/acme/teams')
      const { id } = body.find(({ name }: { name: string }) => name === 'readers')
      await here('PATCH', `/teams/${id}`, { units_map: { 'repo.code': 'write' } })()
    },
    /^ {2}team readers \(acme\): units is \["repo.code write"\] here, \["repo.code read"\] at the source$/m,
  ],
  [
    'a repository',
    here('PATCH', APP, { description: 'another', private: true }),
    /^ {2}repository ann\/app: description is "another" here, "an application" at the source\n[\s\S]*private is true here, false at the source$/m,
  ],
  [
    'a topic',
    there('PUT', `${APP}/topics`, { topics: ['git'] }),
    /^ {2}repository ann\/app: topics is \["git","quota"\] here, \["git"\] at the source$/m,
  ],
  [
    'a collaborator',
    here('PUT', '/repos/ann/empty/collaborators/ben', { permission: 'read' }),
    /^ {2}collaborator ben \(ann\/empty\): level is "read" here, "write" at the source$/m,
  ],
  [
    'a branch',
    async () => {
      await git(checkout, 'push', '--quiet', urlFor(target, 'ann/app', target.root), 'main:refs/heads/more')
      await git(checkout, 'push', '--quiet', 'origin', ':refs/tags/v1')
    },
    /^ {2}git ann\/app: refs\/heads\/more is "[0-9a-f]{40}" here, "absent" at the source\n {2}git ann\/app: refs\/tags\/v1 is "[0-9a-f]{40}" here, "absent" at the source$/m,
  ],
  [
    'a damaged pack',
    async () => {
      const { repository } = await found('ben', 'app')
      const packs = join(target.directory, `${repository}`, 'objects/pack')
      const pack = join(packs, readdirSync(packs).find((name) => name.endsWith('.pack'))!)
      chmodSync(pack, 0o600)
      writeFileSync(pack, 'damaged')
    },
    /^ {2}git ben\/app: objects is ".*" here, "sound" at the source$/m,
  ],
  [
    'an LFS object',
    async () => {
      const { id } = await found('ann', 'app')
      await target.allot.hosting.lfs.remove({ id: 0, admin: true, username: 'root' }, id, OID)
    },
    new RegExp(`^ {2}lfs ${OID} of ann/app: not here$`, 'm'),
  ],
  [
    'an issue',
    here('PATCH', `${APP}/issues/1`, { title: 'changed' }),
    /^ {2}issue ann\/app#1: title is "changed" here, "one" at the source$/m,
  ],
  ['a removed issue', here('DELETE', `${APP}/issues/2`), /^ {2}issue ann\/app#2: not here$/m],
  ['a new issue', here('POST', `${APP}/issues`, { title: 'new' }), /^ {2}issue ann\/app#4: only here$/m],
  [
    'a comment',
    there('PATCH', `${APP}/issues/comments/1`, { body: 'edited' }),
    /^ {2}comment ann\/app#1: body is "a comment" here, "edited" at the source$/m,
  ],
  [
    'an attachment',
    async () => {
      const { body } = await target.as(target.root, 'GET', `${APP}/issues/1`)
      await here('DELETE', `${APP}/issues/1/assets/${body.assets[0].id}`)()
    },
    /^ {2}attachment log\.txt \(ann\/app#1\): not here$/m,
  ],
  [
    'a release',
    there('PATCH', `${APP}/releases/1`, { name: 'Second', prerelease: true }),
    /^ {2}release ann\/app v1: name is "First" here, "Second" at the source\n {2}release ann\/app v1: prerelease is false here, true at the source$/m,
  ],
  [
    'a webhook',
    there('DELETE', `${APP}/hooks/1`),
    /^ {2}webhook https:\/\/ci\.example\.org\/ \(ann\/app\): only here$/m,
  ],
  ['a draft', there('DELETE', `${APP}/releases/2`), /^ {2}release ann\/app next: only here$/m],
  [
    'a package',
    there('DELETE', '/packages/ann/generic/kit/1.0'),
    /^ {2}package file ann: kit 1\.0 kit\.tar: only here$/m,
  ],
  [
    'the assignment of a quota group',
    here('DELETE', '/admin/quota/groups/free/users/ann'),
    /^ {2}quota assignment ann \(free\): not here$/m,
  ],
)

/** What is created here after the migration. */
CHANGES.push(
  [
    'a team and a team membership from here',
    async () => {
      const { body } = await target.as(target.root, 'GET', '/orgs/acme/teams')
      const { id } = body.find(({ name }: { name: string }) => name === 'readers')
      await here('PUT', `/teams/${id}/members/carl`)()
      const team = { name: 'guests', permission: 'read', units: ['repo.code'] }
      await here('POST', '/orgs/acme/teams', team)()
    },
    /^ {2}team guests \(acme\): only here\n {2}[\s\S]*team membership carl \(acme\/readers\): only here$/m,
  ],
  [
    'a membership from here',
    async () => {
      const { accounts, organizations } = target.allot.hosting
      const [acme, ben] = [await accounts.byName('acme'), await accounts.byName('ben')]
      await organizations.setMember(acme!.id, ben!.id, { owner: true })
    },
    /^ {2}membership ben \(acme\): only here$/m,
  ],
  [
    'a collaborator from here',
    here('PUT', '/repos/ann/empty/collaborators/carl', { permission: 'read' }),
    /^ {2}collaborator carl \(ann\/empty\): only here$/m,
  ],
  [
    'a comment from here',
    here('POST', `${APP}/issues/1/comments`, { body: 'more' }),
    /^ {2}comment ann\/app#1: only here$/m,
  ],
  [
    'an attachment from here',
    () => target.attach(target.root, `${APP}/issues/1`, 'more', 'more.txt'),
    /^ {2}attachment more\.txt \(ann\/app#1\): only here$/m,
  ],
  [
    'a star from here',
    here('PUT', '/user/starred/ben/app?sudo=carl'),
    /^ {2}star ben\/app \(carl\): only here$/m,
  ],
  [
    'a key from here',
    here('POST', '/user/keys?sudo=carl', { title: 'other', key: generateSshKey('ed25519').key }),
    /^ {2}SSH key SHA256:\S+ \(carl\): only here$/m,
  ],
  [
    'a quota rule and a quota group from here',
    here('POST', '/admin/quota/groups', {
      name: 'paid',
      rules: [{ name: 'more', limit: 2000, subjects: ['size:all'] }],
    }),
    /^ {2}quota group paid: only here\n[\s\S]*^ {2}quota rule more: only here$/m,
  ],
)

const found = async (owner: string, name: string) => {
  const one = (await target.allot.hosting.repositories.find({ id: 0, admin: true }, owner, name))!
  return { id: one.id, repository: join((one.id % 256).toString(16).padStart(2, '0'), `${one.id}.git`) }
}

describe('A comparison names', () => {
  let report: Comparison & { text: string }
  before(async () => {
    for (const [, change] of CHANGES) await change()
    report = await target.compared(given(), OWNERS)
    assert.equal(report.isSame(), false)
  })

  for (const [what, , line] of CHANGES) it(`${what} that differs`, () => assert.match(report.text, line))

  it('rights that are wider here, and rights that are narrower', () => {
    assert.match(report.text, /^ {2}right ben on ann\/empty: right is "read" here, "write" at the source$/m)
    assert.match(report.text, /^ {2}right carl on ann\/empty: right is "admin" here, "none" at the source$/m)
  })

  it('everything in its report for programs', () => {
    const { differences, failed } = JSON.parse(JSON.stringify(report))
    // Its git data is damaged by now.
    assert.deepEqual(failed, [
      'the LFS objects of ben/app: git cannot read all objects of the repository: some are damaged',
    ])
    assert.deepEqual(
      differences.find(
        ({ name, field }: { name: string; field: string }) => name === 'ann' && field === 'fullName',
      ),
      { kind: 'user', name: 'ann', field: 'fullName', source: 'Ann', here: 'Anna' },
    )
  })
})

describe('A source that fails while it is compared', () => {
  it('ends the comparison with one sentence when it is down, and is named where it answers with an error', async () => {
    let left = 12
    const flaky = await replay({}, (req, res) => {
      if (left-- > 0) source.allot.handler(req, res)
      else req.socket.destroy()
    })
    await assert.rejects(
      target.compared({ base: flaky.base, root: source.root }, OWNERS),
      ({ message }: Error) => {
        assert.match(message, /^http:\S+ cannot be reached: /)
        return !message.includes('\n')
      },
    )
    flaky.stop()
    const broken: From['fetch'] = async (url, request) =>
      url.includes('/repos/ann/app/releases') ? new Response('{}', { status: 500 }) : fetch(url, request)
    const report = await target.compared({ ...given(), fetch: broken }, OWNERS)
    assert.match(
      report.text,
      /^not compared:\n(?: {2}.*\n)*? {2}the releases of ann\/app: \S+ answered 500$/m,
    )
    assert.match(report.text, /^differences: \d+ in what was compared; could not be compared: 2$/m)
  })
})

describe('A source from whose address nothing was migrated', () => {
  it('is refused, since copies are found by the records of its address', async () => {
    const other = await replay({}, source.allot.handler)
    await assert.rejects(
      target.compared({ base: other.base, root: source.root }),
      /^Error: nothing was migrated from http:\S+ into this store$/,
    )
    other.stop()
  })
})

describe('Differences of one kind', () => {
  it('are counted when there are hundreds, and the report has them all', () => {
    const comparison = new Comparison()
    for (let number = 1; number <= 140; number++) comparison.missing('issue', `ann/app#${number}`)
    comparison.additional('user', 'ben\u001b[2J')
    const lines = comparison.lines()
    assert.equal(lines.filter((line) => line.startsWith('  issue ')).length, 10)
    assert.ok(lines.includes('  and 130 more: --report FILE writes all of them'), lines.join('\n'))
    assert.ok(lines.includes('  user ben�[2J: only here'), lines.join('\n'))
    assert.equal(lines.at(-1), 'differences: 141')
    const written = new Comparison('all.json')
    for (let number = 1; number <= 101; number++) written.missing('issue', `ann/app#${number}`)
    assert.ok(written.lines().includes('  and 91 more: all.json has all of them'))
    assert.equal(JSON.parse(JSON.stringify(comparison)).differences.length, 141)
  })

  it('are not said to be none without what could not be compared', () => {
    const comparison = new Comparison()
    assert.equal(comparison.lines().at(-1), 'no differences')
    comparison.failed('the releases of ann/app', 'the source answered 500')
    const expected = 'no differences in what was compared; could not be compared: 1'
    assert.equal(comparison.lines().at(-1), expected)
  })
})
