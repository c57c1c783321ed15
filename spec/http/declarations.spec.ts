import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as v from 'valibot'
import { type Caller, Empty, Html, NotFound, SerializedJson } from '../../lib/http/index.ts'
import { pageOf, plain, reply, route } from './fixture.ts'

const open = { ...plain, method: 'GET', path: '/x/{id}', operationId: 'x', auth: 'optional' } as const
const Id = v.object({ id: v.number() })
const responses = { 200: Id, 204: Empty, 404: NotFound } as const

/** The compiler takes these; each of the refused ones below differs from one of them in a single thing. */
const taken = [
  route({ ...open, responses, handle: async () => reply(200, { id: 1 }) }),
  route({ ...open, responses, handle: async () => reply(200, new SerializedJson({ id: 1 })) }),
  route({ ...open, responses, handle: async () => reply(204) }),
  route({
    ...open,
    responses,
    handle: async ({ params }) => (params.id === '' ? reply(404) : reply(200, { id: 1 })),
  }),
  route({ ...open, responses: { 200: Html }, handle: async () => reply(200, '<p>') }),
  route({
    ...open,
    paging: 'pages',
    responses: { 200: v.array(Id) },
    handle: async () => pageOf([{ id: 1 }], 1),
  }),
  route({ ...open, auth: 'required', responses, handle: async ({ user }) => signedIn(user) }),
  route({ ...open, params: Id, responses, handle: async ({ params }) => reply(200, { id: params.id + 1 }) }),
  route({
    ...open,
    query: Id,
    body: Id,
    responses,
    handle: async ({ query, body }) => reply(200, query ?? body),
  }),
]

const signedIn = ({ username }: Caller) => (username === '' ? reply(404) : reply(204))

const refused = [
  // @ts-expect-error a status that is not declared
  route({ ...open, responses, handle: async () => reply(201, { id: 1 }) }),
  // @ts-expect-error a body that the schema does not describe
  route({ ...open, responses, handle: async () => reply(200, { id: 'one' }) }),
  // @ts-expect-error serialized JSON that the schema does not describe
  route({ ...open, responses, handle: async () => reply(200, new SerializedJson({ id: 'one' })) }),
  // @ts-expect-error no body where there must be one
  route({ ...open, responses, handle: async () => reply(200) }),
  // @ts-expect-error a body where there must be none
  route({ ...open, responses, handle: async () => reply(204, { id: 1 }) }),
  // @ts-expect-error a segment that the path does not have
  route({ ...open, responses, handle: async ({ params }) => (params.name === '' ? reply(404) : reply(204)) }),
  // @ts-expect-error JSON where the answer is a page
  route({ ...open, responses: { 200: Html }, handle: async () => reply(200, { id: 1 }) }),
  // @ts-expect-error items of another kind
  route({ ...open, paging: 'pages', responses: { 200: v.array(Id) }, handle: async () => pageOf(['x'], 1) }),
  // @ts-expect-error nobody may be signed in here
  route({ ...open, responses, handle: async ({ user }) => signedIn(user) }),
  // @ts-expect-error there is no page where the list does not page
  route({ ...open, responses, handle: async ({ page }) => reply(200, { id: page.limit }) }),
  // @ts-expect-error no query was declared
  route({ ...open, responses, handle: async ({ query }) => reply(200, { id: query.id }) }),
]

describe('A route declaration', () => {
  it('does not compile with an undeclared status, body or parameter', () => {
    assert.equal(taken.length, 9)
    assert.equal(refused.length, 11)
  })

  it('is a plain object that the router and the documents read, which also says whether its path may have a former name', () => {
    const declared = [...Object.keys(open), 'responses', 'handle']
    assert.deepEqual(Object.keys(taken[0]!), [...declared, 'mayHaveMoved'])
  })
})
