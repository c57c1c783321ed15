import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { assertError, assertList, assertNoContent, assertNotFound, RFC3339 } from '../support/expectations.ts'
import { type Person, peopleBefore, start, startBefore } from '../support/test-server.ts'

const allot = startBefore({ repositories: false })
const [ann, ben] = peopleBefore(allot, 'ann', 'ben')

let repositories = 0
/** @returns the path of a new repository of ann's */
const aRepository = async (more = {}): Promise<string> => {
  const { full_name } = await allot.made(ann, '/user/repos', { name: `r${++repositories}`, ...more })
  return `/repos/${full_name}`
}

const open = (repository: string, title: string, more = {}, by = ann) =>
  allot.made(by, `${repository}/issues`, { title, ...more })
const openCount = async (repository: string) =>
  (await allot.as(ann, 'GET', repository)).body.open_issues_count

describe('POST /repos/{owner}/{repo}/issues', () => {
  it('opens an issue for every reader of the repository, in the shape that Forgejo sends', async () => {
    const at = await aRepository()
    const issue = await open(at, 'It breaks', { body: 'when *x*' }, ben)
    const page = `${allot.base}/ann/${at.split('/').at(-1)}`
    const { id, user, created_at, updated_at, repository, ...rest } = issue
    assert.ok(id > 0)
    assert.equal(user.login, 'ben')
    assert.match(created_at, RFC3339)
    assert.equal(updated_at, created_at)
    assert.deepEqual([repository.owner, repository.full_name], ['ann', at.slice('/repos/'.length)])
    assert.deepEqual(rest, {
      url: `${allot.api}${at}/issues/1`,
      html_url: `${page}/issues/1`,
      number: 1,
      ...{ original_author: '', original_author_id: 0, title: 'It breaks', body: 'when *x*', ref: '' },
      ...{ assets: [], labels: [], milestone: null, assignee: null, assignees: [], state: 'open' },
      ...{ is_locked: false, comments: 0, closed_at: null, due_date: null, pull_request: null, pin_order: 0 },
    })
    assert.deepEqual((await allot.as(undefined, 'GET', `${at}/issues/1`)).body.title, 'It breaks')
  })

  it('numbers the issues of each repository from 1 without repeating a number, also when several are opened at once', async () => {
    const [one, other] = [await aRepository(), await aRepository()]
    const made = await Promise.all(Array.from({ length: 12 }, (_, at) => open(one, `t${at}`)))
    assert.deepEqual(
      made.map(({ number }) => number).sort((a, b) => a - b),
      Array.from({ length: 12 }, (_, at) => at + 1),
    )
    assert.equal((await open(other, 'first here')).number, 1)
    assertNoContent(await allot.as(ann, 'DELETE', `${one}/issues/12`))
    assert.equal((await open(one, 'after')).number, 13)
    assert.equal(await openCount(one), 12)
  })

  it('can create a closed issue', async () => {
    const at = await aRepository()
    const issue = await open(at, 'was done', { closed: true })
    assert.equal(issue.state, 'closed')
    assert.match(issue.closed_at, RFC3339)
    assert.equal(await openCount(at), 0)
  })

  const BAD: [what: string, body: unknown, message: RegExp][] = [
    ['no title', {}, /Title is required/],
    ['an empty title', { title: '' }, /^title: /],
    ['a title of 256 characters', { title: 'x'.repeat(256) }, /^title: /],
    ['a title that is a number', { title: 1 }, /^title: /],
    ['a body that is an object', { title: 'x', body: {} }, /^body: /],
    ['a body that is too long', { title: 'x', body: 'x'.repeat(131_073) }, /^body: /],
    ['a text instead of closed', { title: 'x', closed: 'yes' }, /^closed: /],
    ['an array', [], /JSON object/],
  ]
  for (const [what, body, message] of BAD)
    it(`answers 422 to ${what}, and opens nothing`, async () => {
      const at = await aRepository()
      assertError(await allot.as(ann, 'POST', `${at}/issues`, body), 422, message)
      assertList(await allot.as(ann, 'GET', `${at}/issues?state=all`), 'title', [])
      assert.equal((await open(at, 'x')).number, 1)
    })
})

describe('An issue', () => {
  it('can be changed, closed and reopened by its author and by users who may write, and is counted', async () => {
    const at = await aRepository()
    await open(at, 'one', {}, ben)
    const edit = (by: Person, body: unknown) => allot.as(by, 'PATCH', `${at}/issues/1`, body)
    const closed = await edit(ben!, { state: 'closed', title: 'uno' })
    assert.deepEqual([closed.status, closed.body.state, closed.body.title], [201, 'closed', 'uno'])
    assert.match(closed.body.closed_at, RFC3339)
    assert.equal(await openCount(at), 0)
    const opened = await edit(ann!, { state: 'open', body: 'more' })
    assert.deepEqual([opened.body.state, opened.body.closed_at, opened.body.body], ['open', null, 'more'])
    assert.equal(await openCount(at), 1)
    assert.equal((await edit(ann!, {})).body.title, 'uno')
    const stranger = await allot.person()
    assertError(await edit(stranger, { title: 'mine' }), 403, /only the author/)
    for (const body of [{ state: 'gone' }, { title: '' }, { body: 3 }])
      assertError(await edit(ann!, body), 422)
    assert.equal((await allot.as(undefined, 'GET', `${at}/issues/1`)).body.title, 'uno')
  })

  it('can be deleted by an administrator of the repository, with its comments', async () => {
    const at = await aRepository()
    await open(at, 'one', {}, ben)
    const { body: comment } = await allot.as(ben, 'POST', `${at}/issues/1/comments`, { body: 'c' })
    assertError(await allot.as(ben, 'DELETE', `${at}/issues/1`), 403)
    assertNoContent(await allot.as(ann, 'DELETE', `${at}/issues/1`))
    assertNotFound(await allot.as(ann, 'DELETE', `${at}/issues/1`))
    assertNotFound(await allot.as(ann, 'GET', `${at}/issues/1`))
    assertNotFound(await allot.as(ann, 'GET', `${at}/issues/comments/${comment.id}`))
    assert.equal(await openCount(at), 0)
  })

  it('of a deleted user is shown with the author Ghost', async () => {
    const at = await aRepository()
    const gone = await allot.person()
    await open(at, 'stays', {}, gone)
    assertNoContent(await allot.as(allot.root, 'DELETE', `/admin/users/${gone.name}`))
    const { body } = await allot.as(undefined, 'GET', `${at}/issues/1`)
    assert.deepEqual([body.user.login, body.user.id], ['Ghost', -1])
  })

  it('of an archived repository can be read but not changed', async () => {
    const at = await aRepository()
    await open(at, 'one')
    await allot.as(ann, 'PATCH', at, { archived: true })
    assertError(await allot.as(ann, 'POST', `${at}/issues`, { title: 'x' }), 403, /archived/)
    assertError(await allot.as(ann, 'PATCH', `${at}/issues/1`, { title: 'x' }), 403, /archived/)
    assertError(await allot.as(ann, 'DELETE', `${at}/issues/1`), 403, /archived/)
    assertList(await allot.as(ben, 'GET', `${at}/issues`), 'title', ['one'])
  })

  it('follows its repository when that turns private, gets another owner or is deleted', async () => {
    const at = await aRepository()
    await open(at, 'one')
    await allot.as(ann, 'PATCH', at, { private: true })
    for (const who of [undefined, ben]) {
      assertNotFound(await allot.as(who, 'GET', `${at}/issues/1`))
      assertNotFound(await allot.as(who, 'GET', `${at}/issues`))
    }
    assertNotFound(await allot.as(ben, 'POST', `${at}/issues`, { title: 'x' }))
    assertNotFound(await allot.as(ben, 'PATCH', `${at}/issues/1`, { title: 'x' }))
    assertNotFound(await allot.as(ben, 'DELETE', `${at}/issues/1`))
    await allot.as(allot.root, 'POST', `${at}/transfer`, { new_owner: 'ben' })
    const moved = at.replace('ann', 'ben')
    const { body } = await allot.as(ben, 'GET', `${moved}/issues/1`)
    assert.equal(body.url, `${allot.api}${moved}/issues/1`)
    assertNoContent(await allot.as(ben, 'DELETE', moved))
    const again = await allot.as(ben, 'POST', '/user/repos', { name: moved.split('/').at(-1) })
    assert.equal(again.body.open_issues_count, 0)
    assertList(await allot.as(ben, 'GET', `${moved}/issues?state=all`), 'title', [])
    assert.equal((await open(moved, 'new', {}, ben)).number, 1)
  })

  for (const number of ['2', '0', '-1', 'x', '1.5', '9'.repeat(20), '..%2Fx', '1e0', '__proto__'])
    for (const method of ['GET', 'PATCH', 'DELETE'])
      it(`${method} answers 404 for the number ${number}, which does not exist`, async () => {
        const at = await aRepository()
        await open(at, 'one')
        const body = method === 'PATCH' ? { title: 'x' } : undefined
        assertNotFound(await allot.as(ann, method, `${at}/issues/${number}`, body))
      })
})

describe('GET /repos/{owner}/{repo}/issues', () => {
  it('lists open issues newest first, in complete pages, and closed or all issues on request', async () => {
    const at = await aRepository()
    for (let n = 1; n <= 7; n++) await open(at, `t${n}`, { closed: n % 3 === 0 })
    assertList(await allot.as(ben, 'GET', `${at}/issues`), 'number', [7, 5, 4, 2, 1])
    assertList(await allot.as(ben, 'GET', `${at}/issues?state=`), 'number', [7, 5, 4, 2, 1])
    assertList(await allot.as(ben, 'GET', `${at}/issues?state=closed`), 'number', [6, 3])
    const seen: number[] = []
    for (let page = 1; page <= 4; page++) {
      const { body, headers } = await allot.as(ben, 'GET', `${at}/issues?state=all&limit=2&page=${page}`)
      assert.equal(headers.get('x-total-count'), '7')
      seen.push(...body.map((one: { number: number }) => one.number))
    }
    assert.deepEqual(seen, [7, 6, 5, 4, 3, 2, 1])
    assertList(await allot.as(ben, 'GET', `${at}/issues?page=9`), 'number', [], 5)
  })

  it('finds issues by words of the title and by the author', async () => {
    const at = await aRepository()
    await open(at, 'Crash on login: Ä')
    await open(at, 'Login page is SLOW', {}, ben)
    await open(at, 'crash, again', { closed: true }, ben)
    const find = (query: string) => allot.as(undefined, 'GET', `${at}/issues?${query}`)
    assertList(await find('q=login'), 'number', [2, 1])
    assertList(await find('q=LOGIN%20crash'), 'number', [1])
    assertList(await find('q=%C3%A4'), 'number', [1])
    assertList(await find('q=crash&state=all'), 'number', [3, 1])
    assertList(await find('q=crash&state=all&created_by=ben'), 'number', [3])
    assertList(await find('created_by=BEN&state=all'), 'number', [3, 2])
    for (const query of ['q=logi', 'q=nothing', 'q=!!', 'created_by=nobody', 'created_by=root'])
      assertList(await find(query), 'number', [])
    for (const query of ['type=pulls', 'labels=bug', 'milestones=1', 'assigned_by=ann', 'mentioned_by=ann'])
      assertList(await find(query), 'number', [])
    for (const query of ['type=issues', 'type=', 'labels=', 'q=', 'q=%20'])
      assertList(await find(query), 'number', [2, 1])
    for (const query of ['state=gone', 'type=x', `q=${'x'.repeat(256)}`]) assertError(await find(query), 422)
    assertNotFound(await allot.as(ann, 'GET', '/repos/ann/nothing/issues'))
  })

  it('finds by any words and state the same issues as a scan of all titles', async () => {
    const words = ['ab', 'b', 'ß', 'x1', 'ünder']
    const aTitle = fc.array(fc.constantFrom(...words, 'B', '-'), { minLength: 1, maxLength: 4 })
    const state = fc.constantFrom('open', 'closed', 'all')
    const titles = fc.array(fc.tuple(aTitle, fc.boolean()), { minLength: 5, maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(titles, fc.subarray(words, { minLength: 1 }), state, async (issues, asked, which) => {
        const at = await aRepository()
        for (const [title, closed] of issues) await open(at, title.join(' '), { closed })
        const query = new URLSearchParams({ q: asked.join(' '), state: which, limit: '50' })
        const expected = issues
          .map(([title, closed], n) => ({
            title: title.map((one) => one.toLowerCase()),
            closed,
            number: n + 1,
          }))
          .filter(({ closed }) => which === 'all' || closed === (which === 'closed'))
          .filter(({ title }) => asked.every((word) => title.includes(word)))
          .map(({ number }) => number)
        assertList(await allot.as(ann, 'GET', `${at}/issues?${query}`), 'number', expected.reverse())
      }),
      { numRuns: 12 },
    )
  })
})

describe('A host that keeps issues and releases itself', () => {
  it('turns their routes off: the paths are 404, and not in the OpenAPI document', async () => {
    const without = await start({ repositories: false, issues: false })
    await without.as(without.root, 'POST', '/user/repos', { name: 'demo' })
    for (const path of [
      'issues',
      'issues/1',
      'issues/1/comments',
      'issues/comments/1',
      'releases',
      'releases/1',
    ])
      assert.equal((await fetch(`${without.api}/repos/root/demo/${path}`)).status, 404)
    const { body } = await without.request('GET', '/openapi.json')
    assert.ok(Object.keys(body.paths).every((path) => !/issues|releases/.test(path)))
    assert.ok(body.paths['/repos/{owner}/{repo}'])
  })
})

describe('Texts of issues, comments and releases', () => {
  it('are limited for each person and day, changes and deleted ones included', async () => {
    const guarded = await start({ repositories: false, maxTextPerDay: 100 }, { root: 'texts' })
    try {
      const [one, two] = [await guarded.person('one'), await guarded.person('two')]
      await guarded.as(one, 'POST', '/user/repos', { name: 'app' })
      const at = '/repos/one/app'
      const write = (method: string, path: string, body: object, by = one) =>
        guarded.as(by, method, at + path, body)
      const status = async (answer: Promise<{ status: number }>) => (await answer).status
      assert.equal(await status(write('POST', '/issues', { title: 't', body: 'x'.repeat(39) })), 201)
      const unchanged = { title: 't', body: 'x'.repeat(39) }
      assert.equal(await status(write('PATCH', '/issues/1', unchanged)), 201)
      assert.equal(await status(write('PATCH', '/issues/1', { ...unchanged, state: 'closed' })), 201)
      assert.equal(await status(write('PATCH', '/issues/1', { body: 'é'.repeat(10) })), 201)
      assert.equal(await status(write('POST', '/issues/1/comments', { body: 'x'.repeat(30) })), 201)
      assert.equal(await status(write('DELETE', '/issues/1', {})), 204)
      const over = { tag_name: 'v1', name: 'n', body: 'x'.repeat(10) }
      assertError(await write('POST', '/releases', over), 413, /100 bytes of text a day/)
      assert.equal(await status(write('POST', '/releases', { ...over, body: 'x'.repeat(9) })), 201)
      assertError(await write('PATCH', '/releases/1', { body: 'y' }), 413, /100 bytes of text a day/)
      assert.equal(await status(write('POST', '/issues', { title: 'x'.repeat(100) }, two)), 201)
      assertError(await write('PATCH', '/issues/2', { title: 'y' }, two), 413, /try again tomorrow/)
    } finally {
      await guarded.stop()
    }
  })
})
