import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { attempt, git, urlFor } from '../../git/client.ts'
import { startGit } from '../../git/served.ts'
import { run } from '../../support/child.ts'
import { assertError, assertList, assertNotFound, RFC3339 } from '../../support/expectations.ts'
import { madeBefore, type Person, peopleBefore } from '../../support/test-server.ts'
import { waitFor } from '../../support/wait-for.ts'
import { pushContents } from './repository.ts'

let at: string
let ids: Record<string, string>
let checkout: string
const allot = madeBefore(() => startGit())
const [ann, ben] = peopleBefore(allot, 'ann', 'ben')
before(async () => {
  const pushed = await pushContents(allot, ann, 'app')
  ;({ ids, checkout } = pushed)
  at = `/repos/${pushed.path}`
})

const get = (path: string, who: Person | undefined = ann) => allot.as(who, 'GET', at + path)
const body = async (path: string) => {
  const answer = await get(path)
  assert.equal(answer.status, 200, `${path}: ${answer.text}`)
  return answer.body
}
const idOf = (expression: string) => git(checkout, 'rev-parse', expression)
/** A response whose body is not JSON, with its bytes. */
const download = async (path: string, headers: Record<string, string> = {}) => {
  const answer = await fetch(allot.api + at + path, { headers })
  return { status: answer.status, headers: answer.headers, bytes: Buffer.from(await answer.arrayBuffer()) }
}

describe('The commits of a repository', () => {
  it('are listed from a branch, a tag or an id, the newest first, in pages', async () => {
    const all = [ids.third, ids.second, ids.first]
    for (const start of ['', '?sha=main', '?sha=plain', `?sha=${ids.third}`])
      assertList(await get(`/commits${start}`), 'sha', all)
    assertList(await get('/commits?sha=feature/x'), 'sha', all.slice(1))
    const page = await get('/commits?limit=1&page=2&sha=main')
    assertList(page, 'sha', [ids.second], 3)
    assert.match(page.headers.get('link') ?? '', /page=3&sha=main>; rel="next"/)
  })

  it('are filtered by path, author, time and what another branch has', async () => {
    const some: [query: string, expected: (string | undefined)[]][] = [
      ['path=README.md', [ids.third, ids.first]],
      ['path=src', [ids.second]],
      ['path=*.md', []],
      ['author=ADA@example', [ids.third, ids.second, ids.first]],
      ['author=nobody', []],
      ['since=2001-01-01T00:00:00Z&until=2001-01-02T00:00:00Z', []],
      ['since=2001-01-01T00:00:00Z', [ids.third, ids.second, ids.first]],
      ...['1970-06-01', '1970-01-01T00:00:05Z', '1969-07-20', '0001-01-01'].flatMap((day): typeof some => [
        [`since=${day}`, [ids.third, ids.second, ids.first]],
        [`until=${day}`, []],
      ]),
      ['since=9999-01-01', []],
      ['until=9999-01-01', [ids.third, ids.second, ids.first]],
      ['path=README.md%00', []],
      ['author=ada%00', []],
      ['author=nobody%0Aada', []],
      ['not=feature/x', [ids.third]],
    ]
    for (const [query, expected] of some) assertList(await get(`/commits?${query}`), 'sha', expected)
    assertList(await get('/commits?page=1000000000000'), 'sha', [], 3)
    assertError(await get('/commits?since=yesterday'), 422, /since: must be a time/)
    for (const name of ['since', 'until'])
      for (const time of ['2026-02-30', '2026-02-30T00:00:00Z', '2025-02-29', '2026-01-01T25:00:00Z'])
        assertError(await get(`/commits?${name}=${time}`), 422, new RegExp(`^${name}: must be a time that`))
  })

  it('have times that clients can read, however far in the future they are', async () => {
    const folder = await allot.folderOf(at.slice('/repos/'.length))
    const far = '@9223372036854775807 +0000'
    const env = { GIT_AUTHOR_DATE: far, GIT_COMMITTER_DATE: far }
    const { out } = await attempt(folder, ['commit-tree', `${ids.first}^{tree}`, '-m', 'far'], env)
    await git(folder, 'update-ref', 'refs/heads/far', out.trim())
    const [{ created, commit }] = await body('/commits?sha=far')
    for (const time of [created, commit.author.date, commit.committer.date])
      assert.equal(time, '9999-12-31T23:59:59Z')
    assert.equal((await body('/branches/far')).commit.timestamp, '9999-12-31T23:59:59Z')
    await git(folder, 'update-ref', '-d', 'refs/heads/far')
  })

  it('of a long history come at once, and have their number once they are counted', async () => {
    const path = await allot.repository(ann, 'long')
    const folder = await allot.folderOf(path)
    const commits = Array.from({ length: 5100 }, (_, index) => {
      const person = `Ada <ada@example.test> ${1_600_000_000 + index} +0000`
      return `commit refs/heads/main\nauthor ${person}\ncommitter ${person}\ndata 1\nx\n`
    })
    await run('git', [`--git-dir=${folder}`, 'fast-import', '--quiet'], { input: commits.join('') })
    // Counts what git has written beside the server, and lets it see the branch.
    assert.equal((await allot.as(ann, 'PATCH', `/repos/${path}`, { default_branch: 'main' })).status, 200)
    const list = () => allot.as(ann, 'GET', `/repos/${path}/commits?limit=5&stat=false&files=false`)
    const first = await list()
    assert.equal(first.body.length, 5)
    // On a busy machine the count may be done before the first commits are read.
    assert.ok([null, '5100'].includes(first.headers.get('x-total-count')))
    assert.match(first.headers.get('link') ?? '', /&page=2&stat=false>; rel="next"(?:,|$)/)
    await waitFor(async () => (await list()).headers.get('x-total-count') === '5100')
  })

  it('of a long history have their number at once after a push, also one that takes commits away', async () => {
    const at = `/repos/ann/long`
    const list = async () =>
      (await allot.as(ann, 'GET', `${at}/commits?limit=5&stat=false&files=false`)).headers.get(
        'x-total-count',
      )
    const more = { content: 'b25l', message: 'More' }
    await allot.done(ann, 'POST', `${at}/contents/more.txt`, more)
    assert.equal(await list(), '5101')
    await git(await allot.folderOf('ann/long'), 'update-ref', 'refs/heads/main', 'main~3')
    await allot.done(ann, 'POST', `${at}/contents/other.txt`, more)
    assert.equal(await list(), '5099')
  })

  it('have the shape that Gitea sends, with what they changed', async () => {
    const { author, committer, parents, ...commit } = await body(`/git/commits/${ids.third}`)
    const url = `${allot.api}${at}/git/commits/${ids.third}`
    assert.equal(author ?? committer, null)
    assert.equal(commit.url, url)
    assert.equal(commit.html_url, `${allot.base}/ann/app/commit/${ids.third}`)
    assert.deepEqual(commit.files, [{ filename: 'README.md', status: 'modified' }])
    assert.deepEqual(commit.stats, { total: 2, additions: 2, deletions: 0 })
    assert.deepEqual(
      parents.map(({ sha }: { sha: string }) => sha),
      [ids.second],
    )
    const { verification, tree, ...rest } = commit.commit
    assert.equal(verification.reason, 'gpg.error.not_signed_commit')
    assert.equal(tree.sha, await idOf(`${ids.third}^{tree}`))
    const person = { name: 'Ada', email: 'ada@example.test', date: commit.created }
    assert.match(commit.created, RFC3339)
    assert.deepEqual(rest, { url, author: person, committer: person, message: 'Change the readme\n' })
    const bare = await body(`/git/commits/main?stat=false&files=false&verification=false`)
    assert.deepEqual([bare.files, bare.stats, bare.commit.verification], [null, null, null])
  })

  it('name a user by the no-reply address, and by the own address only to the user', async () => {
    const kim = await allot.person('kim', { email: 'kim@example.test' })
    const path = await allot.repository(kim, 'named', { auto_init: true })
    const folder = `${checkout}-named`
    await git(checkout, 'clone', '--quiet', urlFor(allot, path, kim), folder)
    const env = ['-c', 'user.name=Kim']
    await git(
      folder,
      ...env,
      'commit',
      '--quiet',
      '--allow-empty',
      '-m',
      'own',
      '--author',
      'Kim <Kim@Example.test>',
    )
    await git(folder, 'push', '--quiet')
    const authors = async (who: Person | undefined) =>
      (await allot.as(who, 'GET', `/repos/${path}/commits`)).body.map(
        ({ author }: { author: { login: string } | null }) => author?.login,
      )
    assert.deepEqual(await authors(kim), ['kim', 'kim'])
    for (const who of [undefined, ben]) assert.deepEqual(await authors(who), [undefined, 'kim'])
  })

  it('are downloaded as a diff and as a patch that git applies', async () => {
    const diff = await download(`/git/commits/${ids.first}.diff`)
    assert.equal(diff.headers.get('content-type'), 'text/plain')
    assert.equal(
      diff.bytes.toString(),
      'diff --git a/README.md b/README.md\nnew file mode 100644\nindex 0000000..3a3ba39\n--- /dev/null\n+++ b/README.md\n@@ -0,0 +1 @@\n+# app\n'.replace(
        '3a3ba39',
        (await idOf(`${ids.first}:README.md`)).slice(0, 7),
      ),
    )
    const patch = (await download('/git/commits/main.patch')).bytes.toString()
    assert.match(
      patch,
      /^From [0-9a-f]{40} .*\nFrom: Ada <ada@example.test>\n.*\nSubject: \[PATCH\] Change the readme\n/s,
    )
    for (const path of [`/git/commits/${ids.first}.diff`, '/git/commits/main.patch'])
      assert.equal((await get(path)).status, 200)
    for (const path of ['/git/commits/nope.diff', '/git/commits/nope.patch']) assertNotFound(await get(path))
  })

  it('of an empty repository are answered 409, as by a Forgejo', async () => {
    const path = await allot.repository(ann, 'empty')
    assertError(await allot.as(ann, 'GET', `/repos/${path}/commits`), 409, /Git Repository is empty/)
    for (const list of ['branches', 'tags', 'git/refs'])
      assert.deepEqual((await allot.as(ann, 'GET', `/repos/${path}/${list}`)).body, [])
    assertNotFound(await allot.as(ann, 'GET', `/repos/${path}/contents`))
  })
})
