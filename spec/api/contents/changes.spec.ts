import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { before, describe, it } from 'node:test'
import { renameBranch } from '../../../lib/repositories/contents/ref-changes.ts'
import type { RefEvent } from '../../../lib/webhooks/events.ts'
import { attempt, git } from '../../git/client.ts'
import { startGit } from '../../git/served.ts'
import { run } from '../../support/child.ts'
import { assertError, assertList, assertNoContent, assertNotFound } from '../../support/expectations.ts'
import { temporaryDirectory } from '../../support/folder.ts'
import { madeBefore, PATIENT, type Person, peopleBefore } from '../../support/test-server.ts'
import { wrappedGit } from '../../support/wrapped-git.ts'

const pushes: RefEvent[] = []
const allot = madeBefore(() =>
  startGit({
    git: { http: false, maxPushSize: 200_000 },
    // More than the folders of a change may have together.
    contents: { ...PATIENT.contents, maxObjectSize: 32 * 1024 * 1024 },
  }),
)
const [ann, ben] = peopleBefore(allot, 'ann', 'ben')
before(() => allot.allot.on('push', (push) => void pushes.push(push)))

let repositories = 0
/** @returns the path of a new repository of ann's, which has a README */
const aRepository = async (more = {}): Promise<string> => {
  const path = await allot.repository(ann, `r${++repositories}`, { auto_init: true, ...more })
  return `/repos/${path}`
}

const base64 = (text: string): string => Buffer.from(text).toString('base64')
const ask = (method: string, path: string, body?: unknown, who: Person = ann) =>
  allot.as(who, method, path, body)
/** A change that must succeed. */
const done = (method: string, path: string, body: unknown) => allot.done(ann, method, path, body)
const raw = async (at: string, path: string, ref = '') =>
  (await ask('GET', `${at}/raw/${path}?ref=${encodeURIComponent(ref)}`)).text
const shaOf = async (at: string, path: string) => (await ask('GET', `${at}/contents/${path}`)).body.sha
const tipOf = async (at: string, branch = 'main') =>
  (await ask('GET', `${at}/branches/${branch}`)).body.commit.id

describe('Files', () => {
  it('are created by PUT without a sha, on a branch that does not exist yet, and with 409 when it moves meanwhile', async () => {
    const at = await aRepository()
    const put = await ask('PUT', `${at}/contents/new`, { content: base64('new\n') })
    assert.deepEqual([put.status, put.body.content.name], [201, 'new'])
    const self = await ask('PUT', `${at}/contents/self`, { content: base64('self'), from_path: 'self' })
    assert.deepEqual([self.status, self.body.content.name], [201, 'self'])
    await done('POST', `${at}/branches`, { new_branch_name: 'taken' })
    const body = { content: base64('x'), new_branch: 'taken' }
    assertError(await ask('POST', `${at}/contents/other`, body), 422, /taken/)
    assertNotFound(await ask('GET', `${at}/contents/other`))
    const statuses: number[] = []
    for (let round = 0; round < 20 && !statuses.includes(409); round++)
      await Promise.all(
        [1, 2, 3].map(async (index) => {
          const path = `${at}/contents/${round}-${index}`
          const { status } = await ask('POST', path, { content: base64('x') })
          statuses.push(status)
          assert.equal((await ask('GET', path)).status, status === 201 ? 200 : 404)
        }),
      )
    assert.deepEqual([...new Set(statuses)].sort(), [201, 409])
  })

  it('are created, changed, moved and deleted, with one commit each that is pushed and counted', async () => {
    const at = await aRepository()
    pushes.length = 0
    const path = `${at}/contents/src/${encodeURIComponent('ä b.txt')}`
    const created = await done('POST', path, { content: base64('one\n'), message: 'Add it' })
    assert.deepEqual([created.content.name, created.content.size], ['ä b.txt', 4])
    assert.equal(created.commit.message, 'Add it\n')
    assert.equal(created.commit.author.email, 'ann@noreply.127.0.0.1')
    const { sha } = created.content
    const changed = await done('PUT', path, { content: base64('two\n'), sha })
    assert.equal(Buffer.from(changed.content.content, 'base64').toString(), 'two\n')
    const moved = await done('PUT', `${at}/contents/moved`, {
      ...{ content: base64('two\n'), sha: changed.content.sha, from_path: 'src/ä b.txt' },
    })
    assert.equal(moved.content.path, 'moved')
    assertNotFound(await ask('GET', `${at}/contents/src`))
    const deleted = await done('DELETE', `${at}/contents/moved`, { sha: moved.content.sha })
    assert.equal(deleted.content, null)
    const messages = (await ask('GET', `${at}/commits`)).body.map(
      ({ commit }: { commit: { message: string } }) => commit.message,
    )
    assert.deepEqual(messages.slice(0, 3), ['Delete moved\n', 'Update moved\n', 'Update src/ä b.txt\n'])
    assert.deepEqual(
      pushes.map(({ after }) => after),
      [created, changed, moved, deleted].map(({ commit }) => commit.sha),
    )
    await allot.assertCounted('ann')
  })

  it('are changed several at once, in one commit, all or none', async () => {
    const at = await aRepository()
    const sha = await shaOf(at, 'README.md')
    const files = [
      { operation: 'create', path: 'a/b', content: base64('b') },
      { operation: 'create', path: 'a/c', content: base64('c') },
      { operation: 'rename', path: 'manual/README.md', from_path: 'README.md', sha },
    ]
    const { files: presented, commit } = await done('POST', `${at}/contents`, { files, message: 'Several' })
    assert.deepEqual(
      presented.map(({ path }: { path: string }) => path),
      ['a/b', 'a/c', 'manual/README.md'],
    )
    assert.equal(presented[2].sha, sha)
    assert.equal(commit.sha, await tipOf(at))
    const wrong = { operation: 'delete', path: 'a/b', sha: 'f'.repeat(40) }
    const both = { files: [{ operation: 'create', path: 'x', content: '' }, wrong] }
    assertError(await ask('POST', `${at}/contents`, both), 409, /a\/b has changed/)
    const created = (...paths: string[]) => ({
      files: paths.map((path) => ({ operation: 'create', path, content: '' })),
    })
    for (const [paths, message] of [
      [['d/e/f', 'd'], /path: d already exists/],
      [['d/e/f', 'd/e'], /path: d\/e already exists/],
      [['d', 'd/e'], /d is a file: nothing can be below it/],
    ] as const)
      assertError(await ask('POST', `${at}/contents`, created(...paths)), 422, message)
    assert.equal(await tipOf(at), commit.sha)
    const remove = { operation: 'delete', path: 'a/b', sha: presented[0].sha }
    assert.deepEqual((await done('POST', `${at}/contents`, { files: [remove] })).files, [null])
    const single = { files: [{ operation: 'create', path: 'single', content: '' }] }
    assert.equal((await done('POST', `${at}/contents`, single)).commit.message, 'Change 1 file\n')
  })

  it('take the names of folders that the same commit empties, and only of those', async () => {
    const at = await aRepository()
    const create = (path: string) => ({ operation: 'create', path, content: base64(path) })
    const { files } = await done('POST', `${at}/contents`, {
      files: ['a/b/c', 'd/e', 'f/g/h', 'k/l', 'k/m'].map(create),
    })
    const [c, , , l] = files.map((file: { sha: string }) => file.sha)
    const remove = { operation: 'delete', path: 'a/b/c', sha: c }
    const move = (path: string, from_path: string) => ({ operation: 'rename', path, from_path })
    const wrong = { files: [{ operation: 'delete', path: 'k/l', sha: l }, create('k')] }
    assertError(await ask('POST', `${at}/contents`, wrong), 422, /k already exists/)
    assertError(await ask('POST', `${at}/contents`, { files: [move('k', 'k/l')] }), 422, /k already exists/)
    await done('POST', `${at}/contents`, {
      files: [remove, create('a'), move('d', 'd/e'), move('f/g', 'f/g/h'), move('k/l/n', 'k/l')],
    })
    const { tree } = (await ask('GET', `${at}/git/trees/main?recursive=true`)).body
    const kept = tree.map(({ path, type }: { path: string; type: string }) => `${type} ${path}`)
    assert.deepEqual(kept, [
      ...['blob README.md', 'blob a', 'blob d', 'tree f', 'blob f/g'],
      ...['tree k', 'tree k/l', 'blob k/l/n', 'blob k/m'],
    ])
    assert.deepEqual([await raw(at, 'a'), await raw(at, 'd'), await raw(at, 'f/g')], ['a', 'd/e', 'f/g/h'])
    const back = { operation: 'delete', path: 'f/g', sha: await shaOf(at, 'f/g') }
    const again = [back, create('f'), { ...back, path: 'f', sha: await shaOf(at, 'f/g') }]
    assertError(await ask('POST', `${at}/contents`, { files: again }), 409, /f has changed/)
    await done('POST', `${at}/contents`, { files: [back, create('f/g/h')] })
    assert.equal(await raw(at, 'f/g/h'), 'f/g/h')
  })

  it('are not renamed without another path that they had, nor overwritten without a sha by naming their own', async () => {
    const at = await aRepository()
    const [tip, sha] = [await tipOf(at), await shaOf(at, 'README.md')]
    const change = { path: 'README.md', content: base64('other') }
    for (const from of [{}, { from_path: '' }, { from_path: 'README.md' }])
      for (const more of [{}, { sha }, { content: change.content }, { content: change.content, sha }]) {
        const files = [{ operation: 'rename', path: 'README.md', ...from, ...more }]
        assertError(await ask('POST', `${at}/contents`, { files }), 422, /^from_path: /)
      }
    const own = { ...change, from_path: 'README.md' }
    for (const [operation, message] of [
      ['update', /^sha: /],
      ['create', /^path: README.md already exists/],
    ] as const)
      assertError(await ask('POST', `${at}/contents`, { files: [{ operation, ...own }] }), 422, message)
    assertError(await ask('PUT', `${at}/contents/README.md`, own), 422)
    assert.equal(await tipOf(at), tip)
    const kept = await done('PUT', `${at}/contents/README.md`, { ...own, sha })
    assert.equal(kept.content.path, 'README.md')
  })

  it('have the commit as their last one without a search of the history, unless it left them as they were', async () => {
    const searches = `${temporaryDirectory()}/searches`
    const wrapped = wrappedGit(`case "$*" in *" rev-list "*) echo >> '${searches}';; esac`)
    const counted = await startGit({ repositories: { directory: temporaryDirectory(), git: wrapped } })
    const ada = await counted.person('ada')
    const at = `/repos/${await counted.repository(ada, 'app', { auto_init: true })}`
    const readme = (await counted.as(ada, 'GET', `${at}/contents/README.md`)).body
    const before = existsSync(searches) ? readFileSync(searches).length : 0
    const files = [
      ...Array.from({ length: 20 }, (_, index) => ({
        operation: 'create',
        path: `a/${index}`,
        content: '',
      })),
      { operation: 'update', path: 'README.md', content: readme.content, sha: readme.sha },
    ]
    const { status, body, text } = await counted.as(ada, 'POST', `${at}/contents`, { files })
    assert.equal(status, 201, text)
    const last = body.files.map((file: { last_commit_sha: string }) => file.last_commit_sha)
    assert.deepEqual(last, [...Array(20).fill(body.commit.sha), readme.last_commit_sha])
    assert.equal(readFileSync(searches).length, before + 1)
  })

  it('begin a new branch, name other people and times, and begin an empty repository', async () => {
    const at = await aRepository({ auto_init: false })
    const first = await done('POST', `${at}/contents/first`, {
      ...{ content: base64('1'), author: { name: 'Eve', email: 'eve@example.test' } },
      ...{ dates: { author: '2020-01-02T03:04:05Z', committer: '0001-01-01T00:00:00Z' }, signoff: true },
    })
    assert.deepEqual(first.commit.author, {
      name: 'Eve',
      email: 'eve@example.test',
      date: '2020-01-02T03:04:05Z',
    })
    assert.equal(first.commit.committer.name, 'Eve')
    assert.match(first.commit.message, /\n\nSigned-off-by: Eve <eve@example.test>\n$/)
    assert.equal((await ask('GET', at)).body.empty, false)
    const more = { content: base64('2'), branch: 'main', new_branch: 'side/1' }
    await done('POST', `${at}/contents/second`, more)
    assert.equal(await raw(at, 'second', 'side/1'), '2')
    assertNotFound(await ask('GET', `${at}/raw/second`))
    assertError(await ask('POST', `${at}/contents/third`, more), 422, /side\/1 already exists/)
    await done('POST', `${at}/contents/third`, { ...more, force_push: true })
    assertNotFound(await ask('GET', `${at}/raw/second?ref=side/1`))
  })

  const dates: [given: string, inGit: string, inApi: string][] = [
    ['2020-01-02T03:04:05+02:00', '1577927045 +0200', '2020-01-02T01:04:05Z'],
    ['2020-01-02T03:04:05-03:30', '1577946845 -0330', '2020-01-02T06:34:05Z'],
    ['2020-01-02T03:04:05.678Z', '1577934245 +0000', '2020-01-02T03:04:05Z'],
    ['2020-01-02T03:04:05', '1577934245 +0000', '2020-01-02T03:04:05Z'],
    ['2020-01-02T03:04', '1577934240 +0000', '2020-01-02T03:04:00Z'],
    ['2020-01-02', '1577923200 +0000', '2020-01-02T00:00:00Z'],
  ]
  it('have the zones of their times, which are UTC without one, wherever the server is', async () => {
    const zone = process.env.TZ
    process.env.TZ = 'Asia/Tokyo'
    try {
      const at = await aRepository()
      for (const [index, [date, inGit, inApi]] of dates.entries()) {
        const body = { content: base64('1'), dates: { author: date, committer: date } }
        const { commit } = await done('POST', `${at}/contents/${index}`, body)
        assert.equal(commit.committer.date, inApi, date)
        const folder = await allot.folderOf(at.replace('/repos/', ''))
        assert.equal(await git(folder, 'log', '-1', '--format=%ad', '--date=raw', commit.sha), inGit, date)
      }
    } finally {
      if (zone === undefined) delete process.env.TZ
      else process.env.TZ = zone
    }
  })

  it('are changed by one of two requests at the same time, and 409 for the other', async () => {
    const at = await aRepository()
    const sha = await shaOf(at, 'README.md')
    const answers = await Promise.all(
      ['a', 'b', 'c'].map((text) => ask('PUT', `${at}/contents/README.md`, { content: base64(text), sha })),
    )
    const statuses = answers.map(({ status }) => status).sort()
    assert.deepEqual(statuses, [200, 409, 409])
    assert.equal((await ask('GET', `${at}/commits`)).body.length, 2)
    await allot.assertCounted('ann')
  })

  it('keep the mode of an executable file', async () => {
    const at = await aRepository()
    const folder = await allot.folderOf(at.slice('/repos/'.length))
    const index = { GIT_INDEX_FILE: `${folder}/index-of-spec` }
    const blob = await git(folder, 'rev-parse', 'main:README.md')
    await attempt(folder, ['update-index', '--add', '--cacheinfo', `100755,${blob},run.sh`], index)
    const tree = (await attempt(folder, ['write-tree'], index)).out.trim()
    rmSync(`${folder}/index-of-spec`)
    await git(folder, 'update-ref', 'refs/heads/main', await git(folder, 'commit-tree', tree, '-m', 'x'))
    // Counts what git has written beside the server, and lets it see the branch.
    await done('PATCH', at, { default_branch: 'main' })
    await done('PUT', `${at}/contents/run.sh`, { content: base64('#!\n'), sha: blob })
    assert.match(await git(folder, 'ls-tree', 'main', 'run.sh'), /^100755 blob/)
  })

  it('leave the other files of their folders as they are, whose names may not be UTF-8', async () => {
    const at = await aRepository()
    const folder = await allot.folderOf(at.slice('/repos/'.length))
    const write = async (args: string[], input: string) =>
      (await run('git', args, { cwd: folder, input })).stdout.trim()
    const blob = await write(['hash-object', '-w', '--stdin'], 'x')
    const names = ['caf\\351', 'caf\\350', '\\377']
    const entries = names.map((name) => `100644 blob ${blob}\t"${name}"\n`).join('')
    const below = await write(['mktree'], entries)
    const top = await write(['mktree'], `040000 tree ${below}\t"d\\366"\n${entries}`)
    await git(folder, 'update-ref', 'refs/heads/main', await git(folder, 'commit-tree', top, '-m', 'x'))
    await done('PATCH', at, { default_branch: 'main' })
    await done('POST', `${at}/contents/new/é`, { content: base64('x') })
    const listed = (await git(folder, 'ls-tree', '-r', '--name-only', 'main')).split('\n')
    const expected = [...names, ...names.map((name) => `d\\366/${name}`), 'new/\\303\\251']
    assert.deepEqual(listed.sort(), expected.map((name) => `"${name}"`).sort())
    await git(folder, 'fsck', '--strict')
  })

  it('are not changed by a request that leads through very many folders, or very large ones', async () => {
    const at = await aRepository()
    const folder = await allot.folderOf(at.slice('/repos/'.length))
    const write = async (args: string[], input: string) =>
      (await run('git', args, { cwd: folder, input })).stdout.trim()
    const create = (paths: string[]) =>
      ask('POST', `${at}/contents`, {
        files: paths.map((path) => ({ operation: 'create', path, content: '' })),
      })
    const numbers = Array.from({ length: 100 }, (_, index) => index)
    const deep = await create(numbers.map((number) => `${number}/${'d/'.repeat(500)}f`))
    assertError(deep, 422, /more than 10000 folders: make several commits/)
    const blob = await write(['hash-object', '-w', '--stdin'], '')
    const names = Array.from({ length: 5000 }, (_, index) => `file-${index}`.padStart(12, '0'))
    const large = await write(['mktree'], names.map((name) => `100644 blob ${blob}\t${name}\n`).join(''))
    const top = await write(['mktree'], numbers.map((number) => `040000 tree ${large}\t${number}\n`).join(''))
    await git(folder, 'update-ref', 'refs/heads/main', await git(folder, 'commit-tree', top, '-m', 'x'))
    await done('PATCH', at, { default_branch: 'main' })
    const tooLarge = await create(numbers.map((number) => `${number}/new`))
    assertError(tooLarge, 422, /more than 16777216 bytes: make several commits/)
  })

  it('are refused in one folder that is too large with advice that helps', async () => {
    const at = await aRepository()
    const folder = await allot.folderOf(at.slice('/repos/'.length))
    const write = async (args: string[], input: string) =>
      (await run('git', args, { cwd: folder, input })).stdout.trim()
    const blob = await write(['hash-object', '-w', '--stdin'], '')
    const names = Array.from({ length: 75_000 }, (_, index) => `${index}`.padStart(200, '0'))
    const large = await write(['mktree'], names.map((name) => `100644 blob ${blob}\t${name}\n`).join(''))
    const top = await write(['mktree'], `040000 tree ${large}\tlarge\n`)
    for (const [tree, path, message] of [
      [top, 'large/new', /^the folder large alone has more than 16777216 bytes: push the change with git$/],
      [large, 'new', /^the root folder alone has more than 16777216 bytes: push the change with git$/],
    ] as const) {
      await git(folder, 'update-ref', 'refs/heads/main', await git(folder, 'commit-tree', tree, '-m', 'x'))
      await done('PATCH', at, { default_branch: 'main' })
      assertError(await ask('POST', `${at}/contents/${path}`, { content: '' }), 422, message)
    }
  })

  const content = base64('x')
  const wrong: [what: string, method: string, path: string, body: object, status: number, message: RegExp][] =
    [
      ['a file that exists', 'POST', 'README.md', { content }, 422, /README.md already exists/],
      [
        'an update without its sha',
        'PUT',
        'README.md',
        { content },
        422,
        /^sha: must be the sha of README.md/,
      ],
      [
        'an update with another sha',
        'PUT',
        'README.md',
        { content, sha: 'e'.repeat(40) },
        409,
        /has changed: its sha/,
      ],
      ['a deletion without its sha', 'DELETE', 'README.md', {}, 422, /^sha: must be/],
      ['a file below a file', 'POST', 'README.md/x', { content }, 422, /README.md is a file/],
      ['a path into git', 'POST', '.git/config', { content }, 422, /not a path that git can store/],
      ['a path outside', 'POST', 'a%2F..%2Fb', { content }, 422, /not a path that git can store/],
      ['content that is not base64', 'POST', 'new', { content: '!' }, 422, /^content: must be base64$/],
      ['a part of a byte', 'POST', 'new', { content: 'QUJDR' }, 422, /^content: must be base64$/],
      ['padding that is too short', 'POST', 'new', { content: 'QQ=' }, 422, /content: must be base64/],
      ['a megabyte of blanks', 'POST', 'new', { content: `${' '.repeat(2 ** 20)}!` }, 422, /must be base64/],
      ['equals signs in between', 'POST', 'new', { content: 'QQ==QQ==' }, 422, /content: must be base64/],
      ['no content', 'POST', 'new', {}, 422, /Content is required/],
      ['a branch name that git refuses', 'POST', 'new', { content, branch: 'a..b' }, 422, /branch: "a..b"/],
      ['a malformed time', 'POST', 'new', { content, dates: { author: 'noon' } }, 422, /dates.author: noon/],
      ['a day in words', 'POST', 'new', { content, dates: { author: '2 Jan 2020' } }, 422, /is not a time/],
      ['month 13', 'POST', 'new', { content, dates: { author: '2020-13-02' } }, 422, /is not a time/],
      ['February 30', 'POST', 'new', { content, dates: { author: '2020-02-30' } }, 422, /not a time/],
      [
        'zone 25',
        'POST',
        'new',
        { content, dates: { author: '2020-01-02T03:04:05+25:00' } },
        422,
        /not a time/,
      ],
      [
        'a year with more than four digits',
        'POST',
        'new',
        { content, dates: { author: '+010000-01-01T00:00:00Z' } },
        422,
        /dates.author: \+010000-01-01T00:00:00Z is not a time/,
      ],
      [
        'a push that is too large',
        'POST',
        'new',
        { content: randomContent() },
        413,
        /git refuses the change: .*200000/,
      ],
    ]
  it('are not changed by a request that is wrong, which gets one clear sentence', async () => {
    const at = await aRepository()
    const tip = await tipOf(at)
    for (const [what, method, path, body, status, message] of wrong) {
      const answer = await ask(method, `${at}/contents/${path}`, body)
      assert.equal(answer.status, status, `${what}: ${answer.text}`)
      assertError(answer, status, message)
    }
    for (const [method, path, body] of [
      ['PUT', 'nope', { content, sha: 'e'.repeat(40) }],
      ['DELETE', 'nope', { sha: 'e'.repeat(40) }],
      ['POST', 'new', { content, branch: 'nope' }],
    ] as const)
      assertNotFound(await ask(method, `${at}/contents/${path}`, body))
    assertError(await ask('POST', `${at}/contents`, { files: [] }), 422)
    assert.equal(await tipOf(at), tip)
    await allot.assertCounted('ann')
  })
})

/** Text that does not compress. */
function randomContent(): string {
  return Buffer.from(Array.from({ length: 300_000 }, (_, index) => (index * index * 7919) % 251)).toString(
    'base64',
  )
}

describe('Branches', () => {
  it('are created, moved, renamed and deleted; the default one only renamed', async () => {
    const at = await aRepository()
    const first = await tipOf(at)
    const made = await ask('POST', `${at}/branches`, { new_branch_name: 'side/a' })
    assert.deepEqual([made.status, made.body.name, made.body.commit.id], [201, 'side/a', first])
    const { commit } = await done('POST', `${at}/contents/x`, { content: base64('x') })
    const move = (body: object, branch = 'side/a') => ask('PUT', `${at}/branches/${branch}`, body)
    assertNoContent(await move({ new_commit_id: commit.sha, old_commit_id: first }))
    assertError(await move({ new_commit_id: first, old_commit_id: first }), 422, /the branch is at/)
    assertError(await move({ new_commit_id: first }), 422, /set force to lose commits/)
    assertNoContent(await move({ new_commit_id: first, force: true }))
    assertNotFound(await move({ new_commit_id: first }, 'nope'))
    assertNotFound(await move({ new_commit_id: 'nope' }))
    assertNoContent(await ask('PATCH', `${at}/branches/side/a`, { name: 'side/b' }))
    assertError(await ask('PATCH', `${at}/branches/side/b`, { name: 'main' }), 409, /already exists/)
    assertNotFound(await ask('PATCH', `${at}/branches/side/a`, { name: 'z' }))
    assertNoContent(await ask('PATCH', `${at}/branches/main`, { name: 'trunk' }))
    assert.equal((await ask('GET', at)).body.default_branch, 'trunk')
    assertList(await ask('GET', `${at}/branches`), 'name', ['side/b', 'trunk'])
    assertError(await ask('DELETE', `${at}/branches/trunk`), 403, /default branch/)
    assertNoContent(await ask('DELETE', `${at}/branches/side/b`))
    assertNotFound(await ask('DELETE', `${at}/branches/side/b`))
    await allot.assertCounted('ann')
  })

  /** A repository as services have it, and who pushes to it. */
  const openedAt = async (at: string) => {
    const { hosting } = allot.allot
    const [, , owner, name] = at.split('/') as [string, string, string, string]
    const open = (await hosting.contents!.open({ id: ann.id, admin: false }, { owner, name }, 'spec'))!
    const pusher = { pushes: hosting.git!.pushes, user: { id: ann.id, username: owner }, client: 'spec' }
    return { hosting, open, pusher }
  }

  it('take along what is pushed to the default one while it is renamed', async () => {
    const at = await aRepository()
    const { hosting, open, pusher } = await openedAt(at)
    const isRenamed = await renameBranch(open, pusher, { from: 'main', to: 'trunk' }, async () => {
      await hosting.repositories.edit(open.repository.id, { defaultBranch: 'trunk' })
      await done('POST', `${at}/contents/late`, { content: base64('late'), branch: 'main' })
    })
    assert.ok(isRenamed)
    assertList(await ask('GET', `${at}/branches`), 'name', ['trunk'])
    assert.equal(await raw(at, 'late'), 'late')
  })

  it('have the names from before when the default one cannot be renamed', async () => {
    const at = await aRepository()
    const { hosting, open, pusher } = await openedAt(at)
    const renamed = (makeDefault: () => Promise<unknown>) =>
      renameBranch(open, pusher, { from: 'main', to: 'trunk' }, makeDefault)
    await assert.rejects(
      renamed(async () => {
        throw new Error('the store fails')
      }),
      /the store fails/,
    )
    assertList(await ask('GET', `${at}/branches`), 'name', ['main'])
    assert.ok(await renamed(() => hosting.repositories.edit(open.repository.id, { defaultBranch: 'trunk' })))
    assertList(await ask('GET', `${at}/branches`), 'name', ['trunk'])
  })

  it('are moved or deleted by one of several requests at the same time, and 409 for others', async () => {
    const at = await aRepository()
    const [first, { commit }] = [await tipOf(at), await done('POST', `${at}/contents/x`, { content: '' })]
    const statuses = { PUT: new Set<number>(), DELETE: new Set<number>() }
    for (let round = 0; round < 20 && !(statuses.PUT.has(409) && statuses.DELETE.has(409)); round++) {
      await done('POST', `${at}/branches`, { new_branch_name: 'side', old_ref_name: first })
      const together = async (method: 'PUT' | 'DELETE', body?: object) => {
        const answers = await Promise.all([1, 2, 3].map(() => ask(method, `${at}/branches/side`, body)))
        const answered = answers.map(({ status }) => status)
        assert.ok(answered.includes(204), String(answered))
        for (const status of answered) statuses[method].add(status)
      }
      await together('PUT', { new_commit_id: commit.sha })
      await together('DELETE')
    }
    assert.deepEqual([...statuses.PUT].sort(), [204, 409])
    assert.ok(statuses.DELETE.has(409))
    await allot.assertCounted('ann')
  })

  it('are not made of names that git refuses, names that are taken, or what does not exist', async () => {
    const at = await aRepository()
    for (const name of ['a..b', '-x', 'a b', '.a', 'HEAD'])
      assertError(await ask('POST', `${at}/branches`, { new_branch_name: name }), 422, /new_branch_name/)
    assertError(await ask('PATCH', `${at}/branches/main`, { name: 'a..b' }), 422, /name: "a..b"/)
    for (const name of ['b'.repeat(251), `x/${'é'.repeat(126)}`]) {
      const refused = [
        await ask('POST', `${at}/branches`, { new_branch_name: name }),
        await ask('POST', `${at}/tags`, { tag_name: name }),
        await ask('POST', `${at}/contents/new`, { content: '', new_branch: name }),
      ]
      for (const answer of refused) assertError(answer, 422, /at most 250 bytes/)
    }
    await done('POST', `${at}/branches`, { new_branch_name: 'b'.repeat(250) })
    await done('POST', `${at}/branches`, { new_branch_name: 'below/it' })
    for (const [name, other] of [
      ['main/x', 'main'],
      ['below', 'below/it'],
    ] as const)
      for (const answer of [
        await ask('POST', `${at}/branches`, { new_branch_name: name }),
        await ask('POST', `${at}/contents/new`, { content: '', new_branch: name }),
      ])
        assertError(answer, 409, new RegExp(`^${other} exists, and no name`))
    assertError(await ask('POST', `${at}/branches`, { new_branch_name: 'main' }), 409)
    assertNotFound(await ask('POST', `${at}/branches`, { new_branch_name: 'x', old_ref_name: 'nope' }))
  })
})

describe('Tags', () => {
  it('are created plain or annotated, and deleted unless a release is of them', async () => {
    const at = await aRepository()
    const tip = await tipOf(at)
    const plain = await done('POST', `${at}/tags`, { tag_name: 'plain' })
    assert.deepEqual([plain.id, plain.message], [tip, 'Initial commit'])
    const annotated = await done('POST', `${at}/tags`, {
      tag_name: 'v1',
      message: 'One\n\nmore',
      target: 'main',
    })
    assert.deepEqual([annotated.message, annotated.commit.sha], ['One\n\nmore', tip])
    assert.notEqual(annotated.id, tip)
    assertError(await ask('POST', `${at}/tags`, { tag_name: 'v1' }), 409, /already exists/)
    assertError(await ask('POST', `${at}/tags`, { tag_name: 'a b' }), 422, /tag_name/)
    assertNotFound(await ask('POST', `${at}/tags`, { tag_name: 'x', target: 'nope' }))
    await done('POST', `${at}/releases`, { tag_name: 'v1' })
    assertError(await ask('DELETE', `${at}/tags/v1`), 409, /the tag v1 belongs to a release/)
    assertNoContent(await ask('DELETE', `${at}/tags/plain`))
    assertNotFound(await ask('DELETE', `${at}/tags/plain`))
    await allot.assertCounted('ann')
  })
})

describe('Who may not push', () => {
  it('changes nothing: 404 for a private repository, 403 for a public or archived one, and without the scope', async () => {
    const requests: [method: string, path: string, body?: object][] = [
      ['POST', 'contents', { files: [{ operation: 'create', path: 'x', content: '' }] }],
      ['POST', 'contents/x', { content: '' }],
      ['PUT', 'contents/x', { content: '' }],
      ['DELETE', 'contents/README.md', { sha: 'e'.repeat(40) }],
      ['POST', 'branches', { new_branch_name: 'x' }],
      ['PUT', 'branches/main', { new_commit_id: 'main' }],
      ['PATCH', 'branches/main', { name: 'x' }],
      ['DELETE', 'branches/main'],
      ['POST', 'tags', { tag_name: 'x' }],
      ['DELETE', 'tags/x'],
    ]
    const [open, hidden, archived] = [
      await aRepository(),
      await aRepository({ private: true }),
      await aRepository(),
    ]
    await done('PATCH', archived, { archived: true })
    const token = await allot.scoped(ann, 'read:repository')
    pushes.length = 0
    for (const [method, path, body] of requests) {
      assertError(await ask(method, `${open}/${path}`, body, ben), 403, /may not push/)
      assertNotFound(await ask(method, `${hidden}/${path}`, body, ben))
      assertError(await ask(method, `${archived}/${path}`, body), 403, /archived/)
      const scoped = { token, ...(body === undefined ? {} : { body }) }
      assertError(await allot.request(method, `${open}/${path}`, scoped), 403, /write:repository/)
    }
    assert.equal(pushes.length, 0)
  })
})
