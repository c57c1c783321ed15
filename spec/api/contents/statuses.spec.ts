import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { assertError, assertList, assertNotFound, RFC3339 } from '../../support/expectations.ts'
import { temporaryDirectory } from '../../support/folder.ts'
import { peopleBefore, start, startBefore } from '../../support/test-server.ts'

/** A repository of ann's whose commit has no statuses. */
let untouched: { at: string; sha: string }
const allot = startBefore()
const [ann, ben] = peopleBefore(allot, 'ann', 'ben')
before(async () => {
  untouched = await aRepository()
})

let repositories = 0
/** @returns the path of a new repository of ann's with one commit, and the commit's id */
const aRepository = async (): Promise<{ at: string; sha: string }> => {
  const { full_name } = await allot.made(ann, '/user/repos', { name: `r${++repositories}`, auto_init: true })
  const at = `/repos/${full_name}`
  return { at, sha: (await allot.as(ann, 'GET', `${at}/branches/main`)).body.commit.id }
}

const set = (at: string, ref: string, body: object, by = ann) => allot.made(by, `${at}/statuses/${ref}`, body)
const combined = async (at: string, ref: string, query = '') => {
  const { status, body } = await allot.as(undefined, 'GET', `${at}/commits/${ref}/status${query}`)
  assert.equal(status, 200)
  return body
}

describe('A commit status', () => {
  it('has the shape that Forgejo sends, and `default` as its context when none is given', async () => {
    const { at, sha } = await aRepository()
    const given = {
      state: 'failure',
      context: 'ci/test',
      description: 'two fail',
      target_url: 'http://ci.test/1',
    }
    const { id, creator, created_at, updated_at, ...rest } = await set(at, sha, given)
    const { state, ...texts } = given
    assert.deepEqual(rest, { status: state, ...texts, url: `${allot.api}${at}/statuses/${sha}` })
    assert.deepEqual([creator.login, typeof id, updated_at], ['ann', 'number', created_at])
    assert.match(created_at, RFC3339)
    const blank = await set(at, 'main', { state: 'pending', target_url: null })
    assert.deepEqual([blank.context, blank.description, blank.target_url], ['default', '', ''])
    assert.equal(blank.url, rest.url)
  })

  it('is listed with those that it replaced, the newest first, by either path and by any name of the commit', async () => {
    const { at, sha } = await aRepository()
    for (const state of ['pending', 'error', 'success']) await set(at, sha, { state })
    await set(at, sha, { state: 'warning', context: 'lint' })
    const all = ['warning', 'success', 'error', 'pending']
    for (const path of [`statuses/${sha}`, `commits/${sha}/statuses`, 'commits/main/statuses'])
      assertList(await allot.as(undefined, 'GET', `${at}/${path}`), 'status', all)
    const list = (query: string) => allot.as(undefined, 'GET', `${at}/statuses/${sha}?${query}`)
    assertList(await list('sort=oldest'), 'status', all.toReversed())
    assertList(await list('state=error'), 'status', ['error'])
    assertList(await list('state=skipped'), 'status', [])
    assertList(await list('limit=3&page=2'), 'status', ['pending'], 4)
    assertList(await list('sort=&state='), 'status', all)
  })

  it('is set by users who may push, and read by everyone who can read the repository', async () => {
    const { at, sha } = await aRepository()
    const body = { state: 'success' }
    assertError(await allot.as(ben, 'POST', `${at}/statuses/${sha}`, body), 403, /write permission/)
    assertError(await allot.as(undefined, 'POST', `${at}/statuses/${sha}`, body), 401)
    await allot.as(ann, 'PUT', `${at}/collaborators/ben`, { permission: 'write' })
    assert.equal((await set(at, sha, body, ben)).creator.login, 'ben')
    await allot.as(ann, 'DELETE', `${at}/collaborators/ben`)
    await allot.as(ann, 'PATCH', at, { private: true })
    for (const path of [`statuses/${sha}`, 'commits/main/statuses', 'commits/main/status'])
      for (const who of [undefined, ben]) assertNotFound(await allot.as(who, 'GET', `${at}/${path}`))
    assertNotFound(await allot.as(ben, 'POST', `${at}/statuses/${sha}`, body))
    await allot.as(ann, 'PATCH', at, { archived: true })
    assertError(await allot.as(ann, 'POST', `${at}/statuses/${sha}`, body), 403, /archived/)
    assertList(await allot.as(ann, 'GET', `${at}/statuses/${sha}`), 'status', ['success'])
  })

  it('shows Ghost as the creator to those who may not see the user, and once the user is deleted', async () => {
    const { at, sha } = await aRepository()
    const ci = await allot.person('ci')
    await allot.as(ann, 'PUT', `${at}/collaborators/ci`, { permission: 'write' })
    await set(at, sha, { state: 'success' }, ci)
    await allot.as(allot.root, 'PATCH', '/admin/users/ci', { visibility: 'private' })
    const creators = async () => {
      const [one] = (await allot.as(ben, 'GET', `${at}/statuses/${sha}`)).body
      return [one.creator.login, (await combined(at, sha)).statuses[0].creator.login]
    }
    assert.deepEqual(await creators(), ['Ghost', 'Ghost'])
    assert.equal((await allot.as(allot.root, 'DELETE', '/admin/users/ci')).status, 204)
    assert.deepEqual(await creators(), ['Ghost', 'Ghost'])
  })

  for (const ref of ['0'.repeat(40), 'nothing', 'refs%2Fheads%2Fnone', '..%2Fx'])
    it(`answers 404 for ${ref}, which is not a commit of the repository`, async () => {
      const { at } = untouched
      assertNotFound(await allot.as(ann, 'POST', `${at}/statuses/${ref}`, { state: 'success' }))
      for (const path of [`statuses/${ref}`, `commits/${ref}/statuses`, `commits/${ref}/status`])
        assertNotFound(await allot.as(ann, 'GET', `${at}/${path}`))
    })

  for (const [what, body, message] of [
    ['no state', {}, /State is required/],
    ['an unknown state', { state: 'done' }, /^state: /],
    ['a number as the context', { state: 'success', context: 5 }, /^context: /],
    ['a context that is too long', { state: 'success', context: 'x'.repeat(256) }, /^context: /],
    ['a description that is too long', { state: 'success', description: 'x'.repeat(1025) }, /^description: /],
    ['a script as the URL', { state: 'success', target_url: 'javascript:alert(1)' }, /^target_url: .*http/],
    [
      'a URL that is too long',
      { state: 'success', target_url: `http://x.test/${'x'.repeat(2048)}` },
      /^target_url: /,
    ],
  ] as const)
    it(`is refused with 422 for ${what}, and nothing is stored`, async () => {
      const { at, sha } = untouched
      assertError(await allot.as(ann, 'POST', `${at}/statuses/${sha}`, body), 422, message)
      assertList(await allot.as(ann, 'GET', `${at}/statuses/${sha}`), 'status', [])
    })

  it('counts as text that its creator writes in a day, of which there is a limit', async () => {
    const guarded = await start({ repositories: { directory: temporaryDirectory() }, maxTextPerDay: 100 })
    try {
      const { root } = guarded
      await guarded.made(root, '/user/repos', { name: 'app', auto_init: true })
      const write = (description: string, context?: string) =>
        guarded.as(root, 'POST', '/repos/root/app/statuses/main', { state: 'success', context, description })
      assert.equal((await write('x'.repeat(80), 'ci')).status, 201)
      assertError(await write('x'.repeat(17), 'ci'), 413, /100 bytes of text a day .* commit statuses/)
      // The context `default` is not what the client has written.
      assert.equal((await write('x'.repeat(18))).status, 201)
    } finally {
      await guarded.stop()
    }
  })

  it('stays with the repository when that is renamed, and goes with it when it is deleted', async () => {
    const { at, sha } = await aRepository()
    await set(at, sha, { state: 'success' })
    await allot.as(ann, 'PATCH', at, { name: 'renamed' })
    const path = `/repos/ann/renamed/statuses/${sha}`
    assertList(await allot.as(ann, 'GET', path), 'status', ['success'])
    assert.equal((await allot.as(ann, 'DELETE', '/repos/ann/renamed')).status, 204)
    assertNotFound(await allot.as(ann, 'GET', path))
    await allot.as(ann, 'POST', '/user/repos', { name: 'renamed', auto_init: true })
    assert.equal((await combined('/repos/ann/renamed', 'main')).total_count, 0)
  })
})

describe('The combined status of a commit', () => {
  it('has the newest status of each context, the repository and its URLs', async () => {
    const { at, sha } = await aRepository()
    for (const [context, state] of [
      ['b', 'pending'],
      ['a', 'success'],
      ['b', 'success'],
    ])
      await set(at, 'main', { state, context })
    const { state, statuses, repository, ...rest } = await combined(at, 'main')
    const api = `${allot.api}${at}`
    assert.deepEqual(rest, {
      ...{ sha, total_count: 2 },
      ...{ commit_url: `${api}/git/commits/${sha}`, url: `${api}/commits/${sha}/status` },
    })
    type Status = { context: string; status: string }
    assert.deepEqual(
      [state, statuses.map(({ context, status }: Status) => [context, status])],
      [
        'success',
        [
          ['a', 'success'],
          ['b', 'success'],
        ],
      ],
    )
    assert.equal(repository.full_name, at.slice('/repos/'.length))
    const paged = await combined(at, 'main', '?limit=1&page=2')
    assert.deepEqual([paged.total_count, paged.statuses.length, paged.statuses[0].context], [2, 1, 'b'])
  })

  it('is what the newest statuses of all contexts say together', async () => {
    const { at } = await aRepository()
    assert.equal((await combined(at, 'main')).state, 'pending')
    for (const [context, state, expected] of [
      ['build', 'success', 'success'],
      ['docs', 'skipped', 'success'],
      ['test', 'pending', 'pending'],
      ['docs', 'failure', 'failure'],
      ['test', 'success', 'failure'],
      ['docs', 'error', 'failure'],
      ['docs', 'warning', 'failure'],
      ['docs', 'success', 'success'],
    ]) {
      await set(at, 'main', { state, context })
      assert.equal((await combined(at, 'main')).state, expected, `${context} ${state}`)
    }
  })
})

it('Commit statuses are left out with `statuses = false` and `contents = false`', async () => {
  for (const option of ['statuses', 'contents']) {
    const other = await start({ [option]: false })
    const owner = await other.person('owner')
    await other.as(owner, 'POST', '/user/repos', { name: 'app', auto_init: true })
    for (const path of ['statuses/main', 'commits/main/status'])
      assertNotFound(await other.as(owner, 'GET', `/repos/owner/app/${path}`))
    await other.stop()
  }
})
