import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertError } from '../support/expectations.ts'
import { start, startBefore } from '../support/test-server.ts'

const allot = startBefore({ repositories: false, dialect: 'forgejo', quota: { defaultTotal: 100 } })

const ITEM = { owner: 'root', name: 'a', size: 1 }

describe('The dialect `forgejo`', () => {
  const check = async (subject: string) =>
    (await allot.request('GET', `/user/quota/check?subject=${subject}`, { token: allot.root.token })).body

  it('answers true to /user/quota/check when the user is within quota', async () => {
    const { id } = (
      await allot.request('POST', '/user/repos', { token: allot.root.token, body: { name: 'x' } })
    ).body
    assert.equal(await check('size:all'), true)
    await allot.allot.hosting.repositories.resize(id, 100)
    assert.equal(await check('size:all'), false)
    assert.equal(await check('size:wiki'), true)
  })

  it('accepts size:assets:wiki for size:wiki', async () => {
    assert.equal(await check('size:assets:wiki'), true)
    assertError(
      await allot.request('GET', '/user/quota/check?subject=none', { token: allot.root.token }),
      422,
    )
    const body = { name: 'wiki', limit: 5, subjects: ['size:assets:wiki'] }
    const made = await allot.request('POST', '/admin/quota/rules', { token: allot.root.token, body })
    assert.deepEqual([made.status, made.body.subjects], [201, ['size:wiki']])
  })

  for (const dialect of ['specification', 'forgejo'] as const)
    it(`offers the subjects that it takes, in messages and in the OpenAPI document: ${dialect}`, async () => {
      const { request, root } = await start({ repositories: false, dialect })
      const body = { name: 'none', limit: 5, subjects: ['none'] }
      const refused = [
        await request('POST', '/admin/quota/rules', { token: root.token, body }),
        await request('POST', '/admin/quota/apply', { token: root.token, body: { rules: [body] } }),
        await request('GET', '/user/quota/check?subject=none', { token: root.token }),
        await request('GET', '/admin/quota/over?subject=none', { token: root.token }),
        await request('PUT', '/admin/ledger/artifacts/a?within=size:all,none', {
          token: root.token,
          body: ITEM,
        }),
      ]
      for (const answer of refused) assertError(answer, 422, /expected one of "size:all"/)
      const texts = [...refused, await request('GET', '/openapi.json')].map(({ text }) => text)
      for (const text of texts) assert.equal(text.includes('size:assets:wiki'), dialect === 'forgejo')
    })

  it('wraps the results of /users/search', async () => {
    const { body, headers } = await allot.request('GET', '/users/search?q=root')
    assert.equal(body.ok, true)
    assert.deepEqual(
      body.data.map((user: { login: string }) => user.login),
      ['root'],
    )
    assert.equal(headers.get('x-total-count'), '1')
  })

  it('answers 409 to a name that is taken in an organization', async () => {
    const post = (path: string, body: object) =>
      allot.request('POST', path, { token: allot.root.token, body })
    await post('/orgs', { username: 'acme' })
    assert.equal((await post('/org/acme/repos', { name: 'taken' })).status, 201)
    assertError(await post('/org/acme/repos', { name: 'taken' }), 409)
    const { body } = await allot.request('GET', '/openapi.json')
    assert.ok('409' in body.paths['/org/{org}/repos'].post.responses)
  })

  it('sends a body with 404', async () => {
    for (const path of ['/users/nobody', '/orgs/nope', '/orgs/nope/quota'])
      assertError(
        await allot.request('GET', path, { token: allot.root.token }),
        404,
        /^The target couldn't be found\.$/,
      )
    assertError(await allot.request('GET', '/no/such/path'), 404)
  })

  it('names the API level that has names for branches', async () => {
    assert.equal((await allot.request('GET', '/version')).body.version, '1.24.0+allot-0.1.0')
  })
})
