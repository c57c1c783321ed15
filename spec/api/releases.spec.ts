import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertError, assertList, assertNoContent, assertNotFound, RFC3339 } from '../support/expectations.ts'
import { peopleBefore, startBefore } from '../support/test-server.ts'

const allot = startBefore({ repositories: false })
const [ann, ben] = peopleBefore(allot, 'ann', 'ben')

let repositories = 0
/** @returns the path of a new repository of ann's */
const aRepository = async (more = {}): Promise<string> => {
  const { full_name } = await allot.made(ann, '/user/repos', { name: `r${++repositories}`, ...more })
  return `/repos/${full_name}`
}

const release = (at: string, tag: string, more = {}) =>
  allot.made(ann, `${at}/releases`, { tag_name: tag, ...more })
const counter = async (at: string) => (await allot.as(ann, 'GET', at)).body.release_counter

describe('A release', () => {
  it('can be created by a user who may write, has the shape that Forgejo sends, and is counted', async () => {
    const at = await aRepository()
    const { id, author, created_at, published_at, ...rest } = await release(at, 'v1/a', { body: 'notes' })
    const url = `${allot.api}${at}/releases/${id}`
    assert.deepEqual(rest, {
      ...{ tag_name: 'v1/a', target_commitish: 'main', name: 'v1/a', body: 'notes', url },
      html_url: `${allot.base}/${at.slice('/repos/'.length)}/releases/tag/v1/a`,
      ...{ tarball_url: '', zipball_url: '', hide_archive_links: true, upload_url: `${url}/assets` },
      ...{ draft: false, prerelease: false, assets: [], archive_download_count: { zip: 0, tar_gz: 0 } },
    })
    assert.equal(author.login, 'ann')
    for (const time of [created_at, published_at]) assert.match(time, RFC3339)
    assert.equal(await counter(at), 1)
    for (const path of [`${at}/releases/${id}`, `${at}/releases/tags/v1%2Fa`, `${at}/releases/latest`])
      assert.equal((await allot.as(undefined, 'GET', path)).body.id, id)
    assertError(await allot.as(ben, 'POST', `${at}/releases`, { tag_name: 'v2' }), 403)
  })

  it('has a tag of its own in the repository: a second release of a tag is answered 409', async () => {
    const [at, other] = [await aRepository(), await aRepository()]
    await release(at, 'v1')
    const { id } = await release(at, 'v2', { draft: true })
    for (const tag_name of ['v1', 'v2'])
      assertError(await allot.as(ann, 'POST', `${at}/releases`, { tag_name }), 409, /already/)
    assertError(await allot.as(ann, 'PATCH', `${at}/releases/${id}`, { tag_name: 'v1' }), 409)
    assert.equal((await release(other, 'v1')).tag_name, 'v1')
    assert.equal((await allot.as(ann, 'PATCH', `${at}/releases/${id}`, { tag_name: 'v2' })).status, 200)
    const many = await Promise.all(
      [1, 2, 3, 4].map(() => allot.as(ann, 'POST', `${at}/releases`, { tag_name: 'v3' })),
    )
    assert.deepEqual(many.map(({ status }) => status).sort(), [201, 409, 409, 409])
    assert.equal(await counter(at), 2)
  })

  it('that is a draft is visible only to users who may write, until it is published', async () => {
    const at = await aRepository()
    await release(at, 'v1')
    const { id, published_at } = await release(at, 'v2', { draft: true })
    assert.equal(published_at, null)
    for (const who of [undefined, ben]) {
      for (const path of [`releases/${id}`, 'releases/tags/v2'])
        assertNotFound(await allot.as(who, 'GET', `${at}/${path}`))
      for (const query of ['', '?draft=false'])
        assertList(await allot.as(who, 'GET', `${at}/releases${query}`), 'tag_name', ['v1'])
      assertList(await allot.as(who, 'GET', `${at}/releases?draft=true`), 'tag_name', [])
    }
    assertNotFound(await allot.as(ben, 'PATCH', `${at}/releases/${id}`, { name: 'x' }))
    assertNotFound(await allot.as(ben, 'DELETE', `${at}/releases/${id}`))
    assertNotFound(await allot.as(ben, 'DELETE', `${at}/releases/tags/v2`))
    assertList(await allot.as(ann, 'GET', `${at}/releases?draft=true`), 'tag_name', ['v2'])
    assert.deepEqual([await counter(at), (await allot.as(ann, 'GET', `${at}/releases`)).body.length], [1, 2])
    const published = await allot.as(ann, 'PATCH', `${at}/releases/${id}`, { draft: false, name: 'Two' })
    assert.match(published.body.published_at, RFC3339)
    assert.equal((await allot.as(ben, 'GET', `${at}/releases/tags/v2`)).body.name, 'Two')
    assert.equal(await counter(at), 2)
  })

  it('can be changed and deleted by users who may write', async () => {
    const at = await aRepository()
    const { id } = await release(at, 'v1')
    const path = `${at}/releases/${id}`
    assertError(await allot.as(ben, 'PATCH', path, { name: 'x' }), 403)
    assertError(await allot.as(ben, 'DELETE', path), 403)
    const edit = { tag_name: '', name: 'One', body: '', prerelease: true, target_commitish: 'dev' }
    const { body } = await allot.as(ann, 'PATCH', path, edit)
    assert.deepEqual(
      [body.tag_name, body.name, body.body, body.prerelease, body.target_commitish],
      ['v1', 'One', '', true, 'dev'],
    )
    assertNoContent(await allot.as(ann, 'DELETE', path))
    for (const method of ['GET', 'DELETE']) assertNotFound(await allot.as(ann, method, path))
    assertNotFound(await allot.as(ann, 'PATCH', path, { name: 'x' }))
    await release(at, 'a/b')
    assertError(await allot.as(ben, 'DELETE', `${at}/releases/tags/a%2Fb`), 403)
    assertNoContent(await allot.as(ann, 'DELETE', `${at}/releases/tags/a%2Fb`))
    assertNotFound(await allot.as(ann, 'GET', `${at}/releases/tags/a%2Fb`))
    assert.equal(await counter(at), 0)
  })

  it('is found only in its own repository, and is as visible as that', async () => {
    const [at, other] = [await aRepository(), await aRepository()]
    const { id } = await release(at, 'v1')
    assertNotFound(await allot.as(ann, 'GET', `${other}/releases/${id}`))
    assertNotFound(await allot.as(ann, 'DELETE', `${other}/releases/${id}`))
    await allot.as(ann, 'PATCH', at, { private: true })
    for (const path of ['releases', `releases/${id}`, 'releases/latest', 'releases/tags/v1'])
      assertNotFound(await allot.as(ben, 'GET', `${at}/${path}`))
    assertNotFound(await allot.as(ben, 'POST', `${at}/releases`, { tag_name: 'v2' }))
    await allot.as(ann, 'PATCH', at, { archived: true })
    assertError(await allot.as(ann, 'POST', `${at}/releases`, { tag_name: 'v2' }), 403, /archived/)
    assertNoContent(await allot.as(ann, 'DELETE', at))
    const again = await aRepository()
    assertList(await allot.as(ann, 'GET', `${again}/releases`), 'tag_name', [])
  })

  const BAD: [what: string, body: unknown, message: RegExp][] = [
    ['no tag', {}, /Tag_name is required/],
    ['an empty tag', { tag_name: '' }, /^tag_name: /],
    ['a tag of 256 characters', { tag_name: 'x'.repeat(256) }, /^tag_name: /],
    ['a tag with a space', { tag_name: 'a b' }, /^tag_name: /],
    ['a tag that climbs', { tag_name: '../../x' }, /^tag_name: /],
    ['a tag like an option', { tag_name: '--force' }, /^tag_name: /],
    ['a tag with a NUL', { tag_name: 'a\u0000' }, /^tag_name: /],
    ['a tag that ends in .lock', { tag_name: 'a.lock' }, /^tag_name: /],
    ['a text instead of draft', { tag_name: 'x', draft: 'true' }, /^draft: /],
    ['a body that is too long', { tag_name: 'x', body: 'x'.repeat(131_073) }, /^body: /],
    ['an array', [], /JSON object/],
  ]
  for (const [what, body, message] of BAD)
    it(`is refused with 422 for ${what}, and nothing is created`, async () => {
      const at = await aRepository()
      assertError(await allot.as(ann, 'POST', `${at}/releases`, body), 422, message)
      assertList(await allot.as(ann, 'GET', `${at}/releases`), 'id', [])
    })
  it('cannot be changed to a state in which it could not be created', async () => {
    const at = await aRepository()
    const { id } = await release(at, 'v1')
    for (const body of [{ tag_name: 'a b' }, { draft: 1 }, { name: 'x'.repeat(256) }])
      assertError(await allot.as(ann, 'PATCH', `${at}/releases/${id}`, body), 422)
    assert.equal((await allot.as(ann, 'GET', `${at}/releases/${id}`)).body.tag_name, 'v1')
  })

  for (const path of [
    '0',
    '-1',
    'x',
    '999999',
    'tags/none',
    'tags/..%2Fx',
    `tags/${'x'.repeat(300)}`,
    'latest',
  ])
    it(`at releases/${path.slice(0, 30)} of a repository without any is 404`, async () => {
      assertNotFound(await allot.as(ann, 'GET', `${await aRepository()}/releases/${path}`))
    })
})

describe('GET /repos/{owner}/{repo}/releases', () => {
  it('lists releases of every kind newest first, in pages, and one kind on request', async () => {
    const at = await aRepository()
    for (let n = 1; n <= 6; n++) await release(at, `v${n}`, { draft: n % 3 === 0, prerelease: n % 2 === 0 })
    const tags: string[] = []
    for (let page = 1; page <= 3; page++) {
      const { body, headers } = await allot.as(ann, 'GET', `${at}/releases?limit=2&page=${page}`)
      assert.equal(headers.get('x-total-count'), '6')
      tags.push(...body.map((one: { tag_name: string }) => one.tag_name))
    }
    assert.deepEqual(tags, ['v6', 'v5', 'v4', 'v3', 'v2', 'v1'])
    assertList(await allot.as(ben, 'GET', `${at}/releases`), 'tag_name', ['v5', 'v4', 'v2', 'v1'])
    assertList(await allot.as(ben, 'GET', `${at}/releases?pre-release=true`), 'tag_name', ['v4', 'v2'])
    assertList(await allot.as(ann, 'GET', `${at}/releases?draft=true&pre-release=false`), 'tag_name', ['v3'])
    assert.equal((await allot.as(ben, 'GET', `${at}/releases/latest`)).body.tag_name, 'v5')
    assertNotFound(await allot.as(ann, 'GET', '/repos/ann/nothing/releases'))
  })
})
