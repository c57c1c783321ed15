import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { type AllotClient, createClient, type Schemas } from '../../lib/client/index.ts'
import { startBefore } from '../support/test-server.ts'
import { clientTypes, firstLine } from './client-types.ts'

let client: AllotClient
const allot = startBefore({ repositories: false })
before(async () => {
  client = createClient({ baseUrl: allot.api, token: allot.root.token })
})

describe('allot/client', () => {
  it('has types made from the OpenAPI document', () => {
    assert.ok(clientTypes().startsWith(firstLine()), 'lib/client/types.ts is not current: `npm run openapi`')
  })

  it('resolves to the typed body of a success', async () => {
    const { data, response } = await client.GET('/user')
    const user: Schemas['User'] | undefined = data
    assert.deepEqual([user?.login, response.status], ['root', 200])
    const body = { name: 'small', limit: 1000, subjects: ['size:assets:artifacts' as const] }
    const created = await client.POST('/admin/quota/rules', { body })
    assert.deepEqual(created.data, body)
    const made = await client.POST('/user/repos', { body: { name: 'first' } })
    const repository: Schemas['Repository'] | undefined = made.data
    assert.deepEqual([repository?.full_name, repository?.parent], ['root/first', null])
    const params = { path: { quotarule: 'small' } }
    assert.equal((await client.GET('/admin/quota/rules/{quotarule}', { params })).data?.limit, 1000)
  })

  it('resolves to the typed body of an error', async () => {
    const { data, error, response } = await createClient({ baseUrl: allot.api }).GET('/user')
    const message: string | undefined = error?.message
    assert.deepEqual([data, message, response.status], [undefined, 'token is required', 401])
  })

  it('has an error for each response that is not a success, also for one without a body', async () => {
    const path = { owner: 'root', repo: 'nothing' }
    const missing = await client.GET('/repos/{owner}/{repo}', { params: { path } })
    const error: { message?: string } | undefined = missing.error
    assert.deepEqual([missing.data, error?.message, missing.response.status], [undefined, 'Not Found', 404])
    for (const status of [301, 400, 404, 418, 500, 503])
      for (const body of ['', '{"message":"no"}']) {
        const answer = async () => new Response(body, { status })
        const { data, error } = await createClient({ baseUrl: 'http://x.test', fetch: answer }).GET('/user')
        assert.equal(data, undefined)
        assert.ok(error, `${status} ${body}`)
      }
    const done = await client.DELETE('/admin/quota/rules/{quotarule}', {
      params: { path: { quotarule: 'small' } },
    })
    assert.deepEqual([done.error, done.response.status], [undefined, 204])
  })

  it('pages through a list', async () => {
    for (const name of ['ada', 'bea', 'cleo']) await allot.allot.accounts.createUser({ name })
    const names: string[] = []
    for (let page = 1; ; page++) {
      const { data = [], response } = await client.GET('/admin/users', {
        params: { query: { page, limit: 2 } },
      })
      names.push(...data.map(({ login }) => login))
      if (names.length >= Number(response.headers.get('x-total-count'))) break
    }
    assert.deepEqual(names.sort(), ['ada', 'bea', 'cleo', 'root'])
  })

  it('calls a server in the same process by its fetch', async () => {
    const inProcess = createClient({
      baseUrl: 'http://localhost/api/v1',
      token: allot.root.token,
      fetch: (request) => allot.allot.fetch(request),
    })
    assert.equal((await inProcess.GET('/user')).data?.login, 'root')
  })

  it('does not compile a wrong call', () => {
    // Checked by the compiler; never called.
    const wrong = [
      // @ts-expect-error there is no such path
      () => client.GET('/nowhere'),
      // @ts-expect-error the path has no such method
      () => client.DELETE('/user'),
      // @ts-expect-error the path parameter is required
      () => client.GET('/users/{username}'),
      // @ts-expect-error the limit is required
      () => client.POST('/admin/quota/rules', { body: { name: 'small' } }),
      // @ts-expect-error there is no such subject
      () => client.GET('/user/quota/check', { params: { query: { subject: 'size:nothing' } } }),
    ]
    assert.equal(wrong.length, 5)
  })
})
