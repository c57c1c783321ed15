import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertError, assertList, assertNoContent, assertNotFound, RFC3339 } from '../support/expectations.ts'
import { type Person, peopleBefore, startBefore } from '../support/test-server.ts'

const allot = startBefore({ repositories: false })
const [ann, ben] = peopleBefore(allot, 'ann', 'ben')

let repositories = 0
/** @returns the path of a new repository of ann's with one issue */
const aRepository = async (more = {}): Promise<string> => {
  const { full_name } = await allot.made(ann, '/user/repos', { name: `r${++repositories}`, ...more })
  await allot.made(ann, `/repos/${full_name}/issues`, { title: 'one' })
  return `/repos/${full_name}`
}

const comment = (at: string, body: string, by = ben) => allot.made(by, `${at}/issues/1/comments`, { body })

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

describe('GET /repos/{owner}/{repo}/issues/comments', () => {
  const openIssue = (at: string, title: string) => allot.made(ann, `${at}/issues`, { title })

  it('lists the comments of all issues, oldest first, in pages, each with its issue', async () => {
    const at = await aRepository()
    await openIssue(at, 'two')
    for (const [index, body] of ['1', '2', '3', '4'].entries())
      await allot.as(ben, 'POST', `${at}/issues/${(index % 2) + 1}/comments`, { body })
    const all = await allot.as(undefined, 'GET', `${at}/issues/comments`)
    assertList(all, 'body', ['1', '2', '3', '4'])
    assert.deepEqual(
      all.body.map(({ issue_url }: { issue_url: string }) => issue_url.slice(-1)),
      ['1', '2', '1', '2'],
    )
    assertList(await allot.as(undefined, 'GET', `${at}/issues/comments?limit=3&page=2`), 'body', ['4'], 4)
  })

  it('follows changes and deletions of comments and issues, and is not there for users who cannot read the repository', async () => {
    const at = await aRepository()
    await openIssue(at, 'two')
    const [one] = [await comment(at, '1'), await comment(at, '2')]
    await allot.as(ben, 'POST', `${at}/issues/2/comments`, { body: '3' })
    await allot.as(ben, 'PATCH', `${at}/issues/comments/${one.id}`, { body: 'changed' })
    assertList(await allot.as(ann, 'GET', `${at}/issues/comments`), 'body', ['changed', '2', '3'])
    assertNoContent(await allot.as(ben, 'DELETE', `${at}/issues/comments/${one.id}`))
    assertNoContent(await allot.as(ann, 'DELETE', `${at}/issues/2`))
    assertList(await allot.as(ann, 'GET', `${at}/issues/comments`), 'body', ['2'])
    await allot.as(ann, 'PATCH', at, { private: true })
    for (const who of [undefined, ben]) assertNotFound(await allot.as(who, 'GET', `${at}/issues/comments`))
  })
})

describe('`since` and `before`', () => {
  const paths = ['issues/1/comments', 'issues/comments', 'issues/1/timeline']

  it('leave only comments that were changed in that time, in all lists of comments', async () => {
    const at = await aRepository()
    for (const body of ['1', '2', '3']) await comment(at, body)
    const hour = (hours: number) => encodeURIComponent(new Date(Date.now() + hours * 3_600_000).toISOString())
    for (const path of paths) {
      const list = (query: string) => allot.as(undefined, 'GET', `${at}/${path}?limit=2&${query}`)
      assertList(await list(`since=${hour(-1)}&before=${hour(1)}`), 'body', ['1', '2'], 3)
      assertList(await list(`since=${hour(-1)}&page=2`), 'body', ['3'], 3)
      assertList(await list(`since=${hour(1)}`), 'body', [])
      assertList(await list(`before=${hour(-1)}`), 'body', [])
      assertList(await list('since=&before='), 'body', ['1', '2'], 3)
    }
  })

  it('are joined with the id of the first comment, for a host that gives both', async () => {
    const at = await aRepository()
    const ids: number[] = []
    for (const body of ['1', '2', '3']) ids.push((await comment(at, body)).id)
    const viewer = { id: ann!.id, admin: false }
    const path = { owner: 'ann', name: at.split('/').at(-1)! }
    for (const time of [{ since: 0 }, { before: Date.now() }, {}]) {
      const query = { ...time, from: ids[1] }
      const list = await allot.allot.hosting.comments.list(viewer, path, 1, { offset: 0, limit: 9 }, query)
      assert.deepEqual(
        list?.page.items.map(({ body }) => body),
        ['2', '3'],
        JSON.stringify(query),
      )
    }
  })

  for (const time of ['yesterday', '2026-13-01', '12', '2026-11-21T25:00:00Z'])
    it(`are refused with 422 for ${time}`, async () => {
      const at = await aRepository()
      for (const path of paths)
        for (const member of ['since', 'before'])
          assertError(
            await allot.as(ann, 'GET', `${at}/${path}?${member}=${time}`),
            422,
            new RegExp(`^${member}: `),
          )
    })
})

describe('GET /repos/{owner}/{repo}/issues/{index}/timeline', () => {
  it('has comments and what was done to the issue, in the order in which it happened', async () => {
    const at = await aRepository()
    await comment(at, 'first')
    await allot.as(ann, 'PATCH', `${at}/issues/1`, { state: 'closed' })
    await allot.as(ann, 'PATCH', `${at}/issues/1`, { title: 'another', state: 'open' })
    const { id } = await comment(at, 'last')
    const { body, headers } = await allot.as(undefined, 'GET', `${at}/issues/1/timeline`)
    type Item = { type: string; body: string; user: { login: string }; old_title: string; new_title: string }
    assert.deepEqual(
      body.map((item: Item) => [item.type, item.body, item.user.login, item.old_title, item.new_title]),
      [
        ['comment', 'first', 'ben', '', ''],
        ['close', '', 'ann', '', ''],
        ['change_title', '', 'ann', 'one', 'another'],
        ['reopen', '', 'ann', '', ''],
        ['comment', 'last', 'ben', '', ''],
      ],
    )
    assert.equal(headers.get('x-total-count'), '5')
    assert.equal(body.at(-1).id, id)
    assertList(
      await allot.as(undefined, 'GET', `${at}/issues/1/timeline?limit=2&page=2`),
      'type',
      [...['change_title', 'reopen']],
      5,
    )
  })

  it('has nothing for an edit that changes neither title nor state, and 404 where the issue is not found', async () => {
    const at = await aRepository()
    await allot.as(ann, 'PATCH', `${at}/issues/1`, { title: 'one', state: 'open', body: 'text' })
    assertList(await allot.as(ann, 'GET', `${at}/issues/1/timeline`), 'type', [])
    assertNotFound(await allot.as(ann, 'GET', `${at}/issues/2/timeline`))
    await allot.as(ann, 'PATCH', at, { private: true })
    assertNotFound(await allot.as(ben, 'GET', `${at}/issues/1/timeline`))
  })
})

describe('Subscriptions of an issue', () => {
  const subscribed = async (at: string, who: Person) => {
    const { status, body } = await allot.as(who, 'GET', `${at}/issues/1/subscriptions/check`)
    assert.equal(status, 200)
    return body.subscribed
  }
  const set = async (method: 'PUT' | 'DELETE', at: string, who: Person, name = who.name) => {
    const { status, text } = await allot.as(who, method, `${at}/issues/1/subscriptions/${name}`)
    assert.equal(text, '')
    return status
  }

  it('are those of its author and its commentators, until they unsubscribe', async () => {
    const at = await aRepository()
    assert.deepEqual([await subscribed(at, ann!), await subscribed(at, ben!)], [true, false])
    await comment(at, 'c')
    assertList(await allot.as(undefined, 'GET', `${at}/issues/1/subscriptions`), 'login', ['ann', 'ben'])
    assert.equal(await set('DELETE', at, ben!), 201)
    assert.equal(await set('DELETE', at, ben!), 200)
    await comment(at, 'again')
    assert.equal(await subscribed(at, ben!), false)
    assertList(await allot.as(undefined, 'GET', `${at}/issues/1/subscriptions`), 'login', ['ann'])
  })

  it('answer 201 when they change something, 200 when they exist, and have the shape that Forgejo sends', async () => {
    const at = await aRepository()
    assert.deepEqual([await set('PUT', at, ben!), await set('PUT', at, ben!)], [201, 200])
    const { created_at, ...rest } = (await allot.as(ben, 'GET', `${at}/issues/1/subscriptions/check`)).body
    assert.match(created_at, RFC3339)
    const api = `${allot.api}${at}`
    assert.deepEqual(rest, {
      ...{ subscribed: true, ignored: false, reason: null },
      ...{ url: `${api}/issues/1/subscriptions`, repository_url: api },
    })
    const list = `${at}/issues/1/subscriptions?limit=1&page=2`
    assertList(await allot.as(undefined, 'GET', list), 'login', ['ben'], 2)
  })

  it('follow from watching the repository, unless the user unsubscribed from the issue', async () => {
    const at = await aRepository()
    await allot.as(ben, 'PUT', `${at}/subscription`)
    assert.equal(await subscribed(at, ben!), true)
    await set('DELETE', at, ben!)
    assert.equal(await subscribed(at, ben!), false)
    await allot.as(ben, 'DELETE', `${at}/subscription`)
    await allot.as(ben, 'PUT', `${at}/subscription`)
    assert.equal(await subscribed(at, ben!), false)
  })

  it('are changed by the user alone, and by administrators for others who can read the repository', async () => {
    const at = await aRepository()
    const path = `${at}/issues/1/subscriptions`
    assertError(
      await allot.as(ben, 'PUT', `${path}/ann`),
      403,
      /^only administrators may change the subscription of another user$/,
    )
    assert.equal((await allot.as(allot.root, 'PUT', `${path}/ben`)).status, 201)
    assert.equal(await subscribed(at, ben!), true)
    assertNotFound(await allot.as(allot.root, 'PUT', `${path}/nobody`))
    await allot.as(ann, 'PATCH', at, { private: true })
    assertNotFound(await allot.as(allot.root, 'DELETE', `${path}/ben`))
    for (const name of ['', '/check', '/ben'])
      assertNotFound(await allot.as(ben, name === '/ben' ? 'PUT' : 'GET', `${path}${name}`))
    assertError(await allot.as(undefined, 'GET', `${path}/check`), 401)
  })

  it('leave the list with a deleted account', async () => {
    const at = await aRepository()
    const gone = await allot.person()
    await comment(at, 'c', gone)
    assertNoContent(await allot.as(allot.root, 'DELETE', `/admin/users/${gone.name}?purge=true`))
    assertList(await allot.as(undefined, 'GET', `${at}/issues/1/subscriptions`), 'login', ['ann'])
  })
})
