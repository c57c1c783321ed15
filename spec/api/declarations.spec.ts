import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as v from 'valibot'
import { number } from '../../lib/api/fields.ts'
import { Otherwise } from '../../lib/api/kit.ts'
import { at } from '../../lib/api/route.ts'
import { resource } from '../../lib/api/view.ts'
import { Empty, Html, SerializedJson } from '../../lib/http/index.ts'

const things = at('/things/{id}', { tag: 'spec', ids: { id: v.number() } })
const own = at('/things', { tag: 'spec', reads: 'required' })
const Thing = v.object({ id: v.number() })
const view = resource<{ readonly key: number }>()({ id: [number(1), ({ key }) => key] })
const of = { summary: 'A thing', of: view }

/** The compiler takes these; each of the refused ones below differs from one of them in a single thing. */
const taken = [
  things.get('thing', '', { ...of, run: async ({ params }) => ({ key: params.id + 1 }) }),
  things.get('thing', '', { ...of, run: async () => undefined }),
  things.list('things', '/parts', {
    ...of,
    run: async ({ page }) => ({ items: [{ key: page.limit }], total: 1 }),
  }),
  things.get('thing', '', { summary: '', of: Thing, run: async () => new SerializedJson({ id: 1 }) }),
  things.get('thing', '', { summary: '', of: Html, run: async () => '<p>' }),
  things.put('thing', '', { ...of, status: [200, 201], run: async () => new Otherwise({ key: 1 }) }),
  things.delete('thing', '', { summary: '', run: async ({ user }) => user.admin }),
  own.get('thing', '', { ...of, query: Thing, run: async ({ query }) => ({ key: query.id }) }),
  own.post('thing', '', {
    ...of,
    body: Thing,
    also: { 200: Empty },
    run: async ({ body }) => ({ key: body.id }),
  }),
]

const refused = [
  // @ts-expect-error something else than the view takes
  things.get('thing', '', { ...of, run: async () => ({ id: 1 }) }),
  // @ts-expect-error a segment that the path does not have
  things.get('thing', '', { ...of, run: async ({ params }) => ({ key: params.name }) }),
  // @ts-expect-error items of another kind
  things.list('things', '/parts', { ...of, run: async () => ({ items: ['x'], total: 1 }) }),
  // @ts-expect-error serialized JSON that the schema does not describe
  things.get('thing', '', { summary: '', of: Thing, run: async () => new SerializedJson({ id: 'one' }) }),
  // @ts-expect-error JSON where the answer is a page
  things.get('thing', '', { summary: '', of: Html, run: async () => ({ id: 1 }) }),
  // @ts-expect-error something else than the view takes, for the other status
  things.put('thing', '', { ...of, status: [200, 201], run: async () => new Otherwise({ id: 1 }) }),
  // @ts-expect-error nobody may be signed in here
  things.get('thing', '', { ...of, run: async ({ user }) => ({ key: user.id }) }),
  // @ts-expect-error nothing is missing at a path without parameters
  own.get('thing', '', { ...of, run: async () => undefined }),
  // @ts-expect-error no query was declared
  own.get('thing', '', { ...of, run: async ({ query }) => ({ key: query.id }) }),
  // @ts-expect-error there is no page where a route does not page
  own.get('thing', '', { ...of, run: async ({ page }) => ({ key: page.limit }) }),
]

describe('The declaration of a route', () => {
  it('does not compile with an undeclared parameter, or a result that its view does not take', () => {
    assert.equal(taken.length, 9)
    assert.equal(refused.length, 10)
  })

  it('gives the methods, the scopes, the statuses and the usual refusals of its verb', () => {
    const [get, , list, , , put, remove, , post] = taken.map((route) => ({
      page: route.paging,
      access: `${route.method} ${route.auth}`,
      statuses: Object.keys(route.responses).join(),
    }))
    assert.deepEqual(get, { page: undefined, access: 'GET optional', statuses: '200,404' })
    assert.deepEqual(list, { page: 'pages', access: 'GET optional', statuses: '200,404' })
    assert.deepEqual(put, { page: undefined, access: 'PUT required', statuses: '200,201,404' })
    assert.deepEqual(remove, { page: undefined, access: 'DELETE required', statuses: '204,404' })
    assert.deepEqual(post, { page: undefined, access: 'POST required', statuses: '200,201,422' })
  })
})
