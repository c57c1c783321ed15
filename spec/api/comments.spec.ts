import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { assertError, assertList, assertNoContent, assertNotFound, RFC3339 } from '../support/expectations.ts'
import { type Person, start, type TestServer } from '../support/test-server.ts'

let allot: TestServer
let [ann, ben]: Person[] = []
before(async () => {
  allot = await start({ repositories: false })
  ann = await allot.person('ann')
  ben = await allot.person('ben')
})
after(() => allot.stop())

let repositories = 0
/** @returns the path of a new repository of ann's with one issue */
const aRepository = async (more = {}): Promise<string> => {
  const name = `r${++repositories}`
  await allot.as(ann, 'POST', '/user/repos', { name, ...more })
  const made = await allot.as(ann, 'POST', `/repos/ann/${name}/issues`, { title: 'one' })
  assert.equal(made.status, 201, made.text)
  return `/repos/ann/${name}`
}

const comment = async (at: string, body: string, by = ben) => {
  const made = await allot.as(by, 'POST', `${at}/issues/1/comments`, { body })
  assert.equal(made.status, 201, made.text)
  return made.body
}

describe('A comment', () => {
  it('can be created by every reader of the repository, is counted on its issue, and has the shape that Forgejo sends', async () => {
    const at = await aRepository()
    const { id, user, created_at, updated_at, ...rest } = await comment(at, 'c')
    const page = `${allot.base}/${at.slice('/repos/'.length)}/issues/1`
    assert.deepEqual(rest, {
      ...{ html_url: `${page}#issuecomment-${id}`, pull_request_url: '', issue_url: page },
      ...{ original_author: '', original_author_id: 0, body: 'c', assets: [] },
    })
    assert.equal(user.login, 'ben')
    assert.match(created_at, RFC3339)
    assert.equal(updated_at, created_at)
    assert.equal((await allot.as(undefined, 'GET', `${at}/issues/1`)).body.comments, 1)
    assert.equal((await allot.as(undefined, 'GET', `${at}/issues/comments/${id}`)).body.body, 'c')
  })

  it('can be changed and deleted only by its author and by users who may write to the repository', async () => {
    const at = await aRepository()
    const { id } = await comment(at, 'c')
    const path = `${at}/issues/comments/${id}`
    const stranger = await allot.person()
    assertError(await allot.as(stranger, 'PATCH', path, { body: 'x' }), 403)
    assertError(await allot.as(stranger, 'DELETE', path), 403)
    for (const who of [ann, ben]) {
      const edited = await allot.as(who, 'PATCH', path, { body: `by ${who!.name}` })
      assert.deepEqual(
        [edited.status, edited.body.body, edited.body.user.login],
        [200, `by ${who!.name}`, 'ben'],
      )
    }
    assertNoContent(await allot.as(ben, 'DELETE', path))
    for (const method of ['GET', 'DELETE']) assertNotFound(await allot.as(ben, method, path))
    assertNotFound(await allot.as(ben, 'PATCH', path, { body: 'x' }))
    assert.equal((await allot.as(ann, 'GET', `${at}/issues/1`)).body.comments, 0)
  })

  it('is found only in its own repository, and only by readers of that repository', async () => {
    const [at, other] = [await aRepository(), await aRepository()]
    const { id } = await comment(at, 'c')
    for (const method of ['GET', 'DELETE'])
      assertNotFound(await allot.as(ann, method, `${other}/issues/comments/${id}`))
    assertNotFound(await allot.as(ann, 'PATCH', `${other}/issues/comments/${id}`, { body: 'x' }))
    await allot.as(ann, 'PATCH', at, { private: true })
    for (const who of [undefined, ben]) {
      assertNotFound(await allot.as(who, 'GET', `${at}/issues/comments/${id}`))
      assertNotFound(await allot.as(who, 'GET', `${at}/issues/1/comments`))
    }
    assertNotFound(await allot.as(ben, 'POST', `${at}/issues/1/comments`, { body: 'x' }))
    assertNotFound(await allot.as(ben, 'DELETE', `${at}/issues/comments/${id}`))
    assert.equal((await allot.as(ann, 'GET', `${at}/issues/comments/${id}`)).body.body, 'c')
  })

  it('can neither be created nor changed in an archived repository', async () => {
    const at = await aRepository()
    const { id } = await comment(at, 'c')
    await allot.as(ann, 'PATCH', at, { archived: true })
    assertError(await allot.as(ann, 'POST', `${at}/issues/1/comments`, { body: 'x' }), 403, /archived/)
    assertError(await allot.as(ann, 'PATCH', `${at}/issues/comments/${id}`, { body: 'x' }), 403, /archived/)
    assertError(await allot.as(ann, 'DELETE', `${at}/issues/comments/${id}`), 403, /archived/)
  })

  for (const [what, body, message] of [
    ['no body', {}, /Body is required/],
    ['an empty one', { body: '' }, /^body: /],
    ['a number', { body: 5 }, /^body: /],
    ['one that is too long', { body: 'x'.repeat(131_073) }, /^body: /],
    ['an array', [], /JSON object/],
  ] as const)
    it(`is refused with 422 for ${what}, and nothing is created or changed`, async () => {
      const at = await aRepository()
      const { id } = await comment(at, 'c')
      assertError(await allot.as(ann, 'POST', `${at}/issues/1/comments`, body), 422, message)
      assertError(await allot.as(ann, 'PATCH', `${at}/issues/comments/${id}`, body), 422, message)
      assertList(await allot.as(ann, 'GET', `${at}/issues/1/comments`), 'body', ['c'])
    })

  for (const id of ['0', '-1', 'x', '999999', '9'.repeat(20), '..%2Fx'])
    it(`answers 404 for the id ${id}, and for the issue ${id}`, async () => {
      const at = await aRepository()
      assertNotFound(await allot.as(ann, 'GET', `${at}/issues/comments/${id}`))
      assertNotFound(await allot.as(ann, 'GET', `${at}/issues/${id}/comments`))
      assertNotFound(await allot.as(ann, 'POST', `${at}/issues/${id}/comments`, { body: 'x' }))
    })
})

describe('GET /repos/{owner}/{repo}/issues/{index}/comments', () => {
  it('lists comments oldest first, in pages', async () => {
    const at = await aRepository()
    for (const body of ['1', '2', '3', '4', '5']) await comment(at, body)
    assertList(await allot.as(undefined, 'GET', `${at}/issues/1/comments`), 'body', ['1', '2', '3', '4', '5'])
    assertList(
      await allot.as(undefined, 'GET', `${at}/issues/1/comments?limit=2&page=2`),
      'body',
      ['3', '4'],
      5,
    )
  })
})
