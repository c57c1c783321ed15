import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as v from 'valibot'
import { Empty, NotFound } from '../../lib/http/index.ts'
import { madeBefore } from '../support/test-server.ts'
import { plain, reply, route, serve } from './fixture.ts'

const floor = madeBefore(() =>
  serve([
    route({
      ...plain,
      method: 'POST',
      path: '/admin/{id}',
      operationId: 'administer',
      auth: 'admin',
      scope: ['write:admin', 'read:user'],
      params: v.object({ id: v.pipe(v.number(), v.integer()) }),
      body: v.object({ name: v.string() }),
      responses: { 204: Empty, 404: NotFound },
      handle: async ({ params }) => (params.id === 1 ? reply(204) : reply(404)),
    }),
    route({
      ...plain,
      method: 'GET',
      path: '/open',
      operationId: 'open',
      auth: 'optional',
      scope: 'read:user',
      responses: { 200: v.string() },
      handle: async ({ user }) => reply(200, user?.username ?? 'nobody'),
    }),
  ]),
)

interface Sent {
  method?: string
  path?: string
  as?: string
  type?: string
  body?: string
}

/** The status and message of a request that fails every check except those that its arguments satisfy. */
const sent = async ({ method = 'POST', path = '/admin/1', as, type = 'application/json', body }: Sent) => {
  const headers = { 'content-type': type, ...(as === undefined ? {} : { authorization: as }) }
  const answer = await fetch(floor.api + path, { method, headers, ...(body === undefined ? {} : { body }) })
  const text = await answer.text()
  return `${answer.status} ${text === '' ? '' : JSON.parse(text).message}`.trim()
}

describe('Checks run in a fixed order', () => {
  const tooLong = 'x'.repeat(2000)
  const cases: [why: string, Sent, expected: RegExp][] = [
    ['wrong credentials before an unknown path', { as: 'bad', path: '/nothing' }, /^401 .*wrong/],
    ['wrong credentials before a wrong method', { as: 'bad', method: 'PATCH' }, /^401 /],
    ['wrong credentials where none are needed', { as: 'bad', method: 'GET', path: '/open' }, /^401 /],
    ['an unknown path before credentials that are missing', { path: '/nothing' }, /^404$/],
    [
      'a wrong method before credentials that are missing',
      { method: 'PATCH' },
      /^405 this path takes POST, OPTIONS, not PATCH$/,
    ],
    ['the scope before administration', { as: 'ann read:user' }, /^403 .*\[write:admin\]$/],
    ['all scopes that are missing are named', { as: 'ann read:misc' }, /\[write:admin, read:user\]$/],
    ['credentials that are missing before the body', { type: 'text/css', body: tooLong }, /^401 token is/],
    ['administration before the body', { as: 'ann', type: 'text/css', body: tooLong }, /^403 .*admin/],
    ['a path of nothing before the body', { as: 'root', path: '/admin/x', body: '?' }, /^404$/],
    ['the content type before the size', { as: 'root', type: 'text/css', body: tooLong }, /^415 /],
    ['the size before the content of the body', { as: 'root', body: tooLong }, /^413 /],
    [
      'the content of the body before whether the resource exists',
      { as: 'root', path: '/admin/2', body: '{}' },
      /^422 Name/,
    ],
    ['whether the resource exists', { as: 'root', path: '/admin/2', body: '{"name":"x"}' }, /^404$/],
    ['and then it is done', { as: 'root', body: '{"name":"x"}' }, /^204$/],
  ]
  for (const [why, request, expected] of cases)
    it(`${why}: ${expected.source}`, async () => assert.match(await sent(request), expected))
})

describe('Scopes', () => {
  const cases: [scopes: string, status: number][] = [
    ['all', 200],
    ['read:user', 200],
    ['write:user', 200],
    ['read:user,read:misc', 200],
    ['write:admin', 403],
    ['read:users', 403],
    ['none', 403],
  ]
  for (const [scopes, status] of cases)
    it(`"${scopes}" answer ${status} on a route that needs read:user`, async () => {
      const headers = { authorization: `ann ${scopes}` }
      assert.equal((await fetch(`${floor.api}/open`, { headers })).status, status)
    })

  it('are not checked for anonymous requests', async () => {
    assert.equal(await (await fetch(`${floor.api}/open`)).text(), '"nobody"')
  })
})
