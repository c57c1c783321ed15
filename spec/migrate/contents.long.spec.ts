import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { after, before, describe, it, mock } from 'node:test'
import { commit, git } from '../git/client.ts'
import { type Person, start, type TestServer } from '../support/test-server.ts'
import { replay } from './replay.ts'
import { LFS, OID, POINTER, pushed, startTarget, type Target } from './two.ts'

let source: TestServer
let target: Target
let [ann, ben]: Person[] = []
let old: string

const TOOL = '/api/packages/ann/generic/tool/1.0'
/** Two files of a version whose names are longer than the migration log keeps. */
const LONG = ['f', 'g'].map(
  (file) => `/api/packages/ann/generic/${'n'.repeat(250)}/${'1'.repeat(250)}/${file.repeat(250)}`,
)

/** An application with issues, releases, LFS objects and packages, made long ago. */
before(async () => {
  mock.timers.enable({ apis: ['Date'], now: Date.UTC(2020, 1, 2, 3, 4, 5) })
  source = await start({ dialect: 'forgejo' })
  ann = await source.person('ann')
  ben = await source.person('ben')
  const made = { name: 'app', description: 'an application' }
  await source.as(ann, 'POST', '/user/repos', made)
  await source.as(ann, 'PUT', '/repos/ann/app/topics', { topics: ['git', 'quota'] })
  await source.as(ben, 'POST', '/repos/ann/app/issues', { title: 'one', body: 'first\n' })
  await source.as(ann, 'POST', '/repos/ann/app/issues', { title: 'two' })
  await source.as(ann, 'POST', '/repos/ann/app/issues', { title: 'three', closed: true })
  await source.as(ann, 'POST', '/repos/ann/app/issues/1/comments', { body: 'a comment' })
  await source.as(ben, 'POST', '/repos/ann/app/issues/1/comments', { body: 'another' })
  await source.as(ann, 'DELETE', '/repos/ann/app/issues/2')
  await source.attach(ann, '/repos/ann/app/issues/1', 'log\n', 'log.txt')
  await source.attach(ann, '/repos/ann/app/issues/comments/1', 'image', 'image ü.png')
  const release = { tag_name: 'v1', name: 'First', body: 'notes', prerelease: true }
  await source.as(ann, 'POST', '/repos/ann/app/releases', release)
  await source.as(ann, 'POST', '/repos/ann/app/releases', { tag_name: 'next', draft: true })
  await source.attach(ann, '/repos/ann/app/releases/1', 'binary', 'app.bin')
  const checkout = await pushed(source, ann, 'ann/app')
  await commit(checkout, { 'big.bin': POINTER })
  await git(checkout, 'push', '--quiet', 'origin', 'HEAD:refs/heads/side')
  await source.upload(ann, `/ann/app.git/info/lfs/objects/${OID}/${LFS.length}`, LFS)
  await source.upload(ann, '/api/packages/ann/generic/kit/1.0/kit%201.tar', 'kit')
  for (const file of ['replaced', 'both']) await source.upload(ann, `${TOOL}/${file}`, 'first')
  for (const path of LONG) await source.upload(ann, path, 'long')
  await source.as(ben, 'POST', '/repos/ann/app/forks', {})
  old = (await source.as(ann, 'GET', '/repos/ann/app')).body.created_at
  mock.timers.reset()
  target = await startTarget()
})
after(async () => {
  mock.timers.reset()
  await source.stop()
  await target.stop()
})

/** The state of each server. */
const OWN =
  /^(id|uuid|url|html_url|api_url|browser_download_url|upload_url|avatar_url|download_count|fork_of)$/

const seen = async (server: TestServer, path: string, dates = true): Promise<unknown> => {
  const { status, body } = await server.as(server.root, 'GET', path)
  assert.equal(status, 200, path)
  const text = JSON.stringify(body, (name, value) =>
    OWN.test(name) || (!dates && /_at$/.test(name)) ? undefined : value,
  )
  return JSON.parse(text.replaceAll(server.base, ''))
}

const assertSame = async (...paths: string[]) => {
  for (const path of paths) assert.deepEqual(await seen(target, path), await seen(source, path), path)
}

const APP = '/repos/ann/app'
const downloaded = async (server: TestServer, path: string) => {
  const headers = { authorization: `token ${server.root.token}` }
  const response = await fetch(server.base + path, { headers })
  assert.equal(response.status, 200, path)
  return response.text()
}

describe('A migration copies', () => {
  before(async () => {
    const report = await target.from(source)
    assert.ok(report.isComplete(), report.text)
  })

  it('issues with their numbers, authors, dates and states', async () => {
    const { body } = await target.as(target.root, 'GET', `${APP}/issues?state=all`)
    assert.deepEqual(
      body.map((one: { number: number }) => one.number),
      [3, 1],
    )
    assert.equal(body[1].user.login, 'ben')
    assert.equal(body[1].created_at, old)
    await assertSame(`${APP}/issues?state=all`, `${APP}/issues/1`, `${APP}/issues/3`)
  })

  it('comments and attachments with their contents', async () => {
    await assertSame(`${APP}/issues/1/comments`)
    const { assets } = (await target.as(target.root, 'GET', `${APP}/issues/1`)).body
    assert.equal(await downloaded(target, `/attachments/${assets[0].uuid}`), 'log\n')
    const comments = await target.as(target.root, 'GET', `${APP}/issues/1/comments`)
    assert.equal(comments.body[0].assets[0].name, 'image ü.png')
  })

  it('releases with drafts and files', async () => {
    await assertSame(`${APP}/releases`, `${APP}/releases/tags/v1`)
    const { assets } = (await target.as(target.root, 'GET', `${APP}/releases/tags/v1`)).body
    assert.equal(await downloaded(target, `/attachments/${assets[0].uuid}`), 'binary')
  })

  it('LFS objects of every branch', async () => {
    assert.equal(await downloaded(target, `/ann/app.git/info/lfs/objects/${OID}`), LFS)
    const { body } = await target.as(target.root, 'GET', '/admin/users/ann/quota')
    assert.equal(body.used.size.git.LFS, LFS.length)
  })

  it('packages with their files and dates', async () => {
    await assertSame('/packages/ann', '/packages/ann/generic/kit/1.0')
    assert.equal(await downloaded(target, '/api/packages/ann/generic/kit/1.0/kit%201.tar'), 'kit')
  })

  it('topics, dates, and which repository is a fork of which', async () => {
    const { body } = await target.as(target.root, 'GET', '/repos/ben/app')
    assert.equal(body.parent.full_name, 'ann/app')
    for (const path of [APP, '/repos/ben/app', '/users/ann'])
      assert.deepEqual(sizeless(await seen(target, path)), sizeless(await seen(source, path)), path)
  })

  it('nothing more in a second run, after which the store verifies', async () => {
    const before = await everything()
    const report = await target.from(source)
    assert.ok(report.isComplete(), report.text)
    assert.doesNotMatch(report.text, /[1-9]\d* (copied|updated)/)
    assert.deepEqual(await everything(), before)
    assert.equal((await target.allot.verify()).faults, 0)
  })
})

describe('A later run', () => {
  it('follows what was changed, added and removed at the source', async () => {
    await source.as(ann, 'PATCH', `${APP}/issues/1`, { title: 'renamed', state: 'closed' })
    await source.as(ben, 'PATCH', `${APP}/issues/comments/2`, { body: 'changed' })
    await source.as(ann, 'DELETE', `${APP}/issues/comments/1`)
    await source.as(ann, 'DELETE', `${APP}/issues/3`)
    await source.as(ben, 'POST', `${APP}/issues`, { title: 'four' })
    await source.as(ann, 'DELETE', `${APP}/releases/2`)
    await source.as(ann, 'PATCH', APP, { description: 'another' })
    await source.as(ann, 'DELETE', '/packages/ann/generic/kit/1.0')
    const headers = { authorization: `token ${ann!.token}` }
    assert.ok((await fetch(source.base + LONG[0]!, { method: 'DELETE', headers })).ok)
    const report = await target.from(source)
    assert.ok(report.isComplete(), report.text)
    assert.match(report.text, /^issues: 1 copied, 0 already there, 1 updated$/m)
    assert.match(report.text, /^removed, because the source removed it:$/m)
    assert.match(report.text, /^ {2}issues: 3 \(ann\/app\)$/m)
    assert.match(report.text, /^ {2}package files: .*ann: n{250} 1{250} f{250}/m)
    await assertSame(
      `${APP}/issues?state=all`,
      `${APP}/issues/1/comments`,
      `${APP}/releases`,
      '/packages/ann',
    )
    assert.equal((await target.as(target.root, 'GET', APP)).body.description, 'another')
    assert.equal((await target.allot.verify()).faults, 0)
  })

  it('replaces a file of a package that was replaced at the source, but not one that was replaced here too', async () => {
    const replace = async (server: TestServer, who: Person, file: string, content: string) => {
      const headers = { authorization: `token ${who.token}` }
      assert.ok((await fetch(`${server.base}${TOOL}/${file}`, { method: 'DELETE', headers })).ok)
      await server.upload(who, `${TOOL}/${file}`, content)
    }
    await replace(source, ann!, 'replaced', 'the second')
    await replace(source, ann!, 'both', 'the second')
    await replace(target, target.root, 'both', 'mine')

    const report = await target.from(source)
    assert.match(report.text, /^package files: 0 copied, 2 already there, 1 updated$/m)
    assert.match(
      report.text,
      /^ {2}package files that were created here, and stay as they are: ann: tool 1.0 both \(sha256\)$/m,
    )
    assert.equal(await downloaded(target, `${TOOL}/replaced`), 'the second')
    assert.equal(await downloaded(target, `${TOOL}/both`), 'mine')
    const { body } = await target.as(target.root, 'GET', '/admin/users/ann/quota')
    assert.equal(body.used.size.assets.packages.all, 'the second'.length + 'mine'.length + 'long'.length)
    assert.equal((await target.allot.verify()).faults, 0)

    const again = await target.from(source)
    assert.match(again.text, /^package files: 0 copied, 3 already there$/m)
  })
})

describe('An issue of a Forgejo', () => {
  const issue = {
    ...{ number: 7, title: 'old', body: '', state: 'closed', user: { login: 'gone' }, comments: 0 },
    ...{ created_at: '2015-01-01T00:00:00Z', updated_at: '2015-01-02T00:00:00Z', closed_at: null },
    assets: [{ uuid: '', name: 'link', type: 'external', size: 0 }],
  }

  it('is of a ghost when its author does not exist here, and new numbers follow those of pull requests', async () => {
    const forgejo = await replay({}, (req, res) => {
      const { pathname, searchParams } = new URL(req.url!, 'http://localhost')
      const isPulls = searchParams.get('type') === 'pulls'
      const reply = (status: number, body: unknown, total = 1) =>
        res
          .writeHead(status, { 'content-type': 'application/json', 'x-total-count': String(total) })
          .end(JSON.stringify(body))
      if (pathname === '/api/v1/version') return reply(200, { version: '11.0.0+gitea-1.22.0' })
      if (pathname === '/api/v1/repos/ann/app/hooks') return reply(200, [{ id: 1 }])
      if (pathname !== '/api/v1/repos/ann/app/issues') return source.allot.handler(req, res)
      reply(200, isPulls ? [{ number: 41 }] : [issue], isPulls ? 3 : 1)
    })
    const into = await startTarget()
    try {
      const { text } = await into.from({ base: forgejo.base, root: source.root }, ['ann'])
      const found = (await into.as(into.root, 'GET', `${APP}/issues/7`)).body
      assert.deepEqual(
        [found.user.login, found.created_at, found.state],
        ['Ghost', '2015-01-01T00:00:00Z', 'closed'],
      )
      const next = await into.as(into.root, 'POST', `${APP}/issues`, { title: 'new' })
      assert.equal(next.body.number, 42)
      assert.match(text, /^ {2}pull requests: ann\/app \(3\)$/m)
      assert.match(text, /^ {2}webhooks of other types than .*: webhook 1 of ann\/app$/m)
      assert.match(text, /^ {2}attachments that are links to other servers: link \(ann\/app#7\)$/m)
      assert.equal((await into.allot.verify()).faults, 0)
    } finally {
      forgejo.stop()
      await into.stop()
    }
  })
})

describe('An attachment for which an issue has no place', () => {
  it('is named, and copied once there is a place', async () => {
    const into = await startTarget()
    await into.from(source)
    const at = [{ id: into.root.id, admin: true }, { owner: 'ann', name: 'app' }, { issue: 1 }] as const
    const list = async () => (await into.allot.hosting.attachments.list(...at, { offset: 0, limit: 1 }))!
    const { total } = await list()
    const fill = (_: unknown, index: number) => {
      const content = Readable.from([Buffer.from('x')], { objectMode: false })
      return into.allot.hosting.attachments.add(...at, { name: `${index}`, content, maxSize: 1 })
    }
    for (let left = 500 - total; left > 0; left -= 50)
      await Promise.all(Array.from({ length: Math.min(left, 50) }, fill))
    await source.attach(ann!, '/repos/ann/app/issues/1', 'more\n', 'more.txt')
    const report = await into.from(source)
    assert.match(
      report.text,
      /^ {2}attachments beyond those that an issue, a comment or a release can have: more\.txt \(ann\/app#1\)$/m,
    )
    assert.ok(report.isComplete(), report.text)
    const { items, total: full } = await list()
    assert.equal(full, 500)
    await into.allot.hosting.attachments.remove(...at, items[0]!.id)
    assert.match((await into.from(source)).text, /^attachments: 1 copied/m)
    assert.equal((await list()).total, 500)
  })
})

/** Sizes of packs depend on how they arrived. */
const sizeless = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (name, member) => (name === 'size' ? undefined : member)))

const everything = async (): Promise<string[]> => {
  let text = ''
  await target.allot.export(async (bytes) => {
    text += Buffer.from(bytes).toString('latin1')
  })
  // When a token was last used is saved some time after its use; each fetch takes an id of a push.
  return text
    .trimEnd()
    .split('\n')
    .slice(1, -1)
    .filter((line) => !/^\{("collection":"token"|"sequence":"push")/.test(line))
}
