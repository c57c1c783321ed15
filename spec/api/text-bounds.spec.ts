import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as v from 'valibot'
import { routes } from '../../lib/api/index.ts'
import type { Route } from '../../lib/http/index.ts'
import { assertError, assertList } from '../support/expectations.ts'
import { startBefore } from '../support/test-server.ts'

const allot = startBefore({ repositories: false, webhooks: true })

/** Longer than every maximum. */
const LONG = 'x'.repeat(200_000)

/** Members that the domain bounds with its own message, and texts that only the size of the body bounds. */
const ELSEWHERE = new Set([
  ...['orgCreate', 'adminCreateOrg', 'adminCreateUser'].map((id) => `${id} username`),
  ...['createOrgRepoDeprecated', 'createOrgRepo', 'createCurrentUserRepo', 'repoEdit'].map(
    (id) => `${id} name`,
  ),
  ...['Text', 'text'].map((member) => `renderMarkdown ${member}`),
  ...['repoCreateFile', 'repoUpdateFile'].map((id) => `${id} content`),
])

const membersOf = ({ body }: Route<never, never>): [name: string, schema: v.GenericSchema][] =>
  body !== undefined && 'entries' in body
    ? Object.entries(body.entries as Record<string, v.GenericSchema>)
    : []

describe('Every text of every body', () => {
  const all = routes as unknown as Route<never, never>[]
  for (const route of all)
    for (const [name, schema] of membersOf(route)) {
      if (!v.is(schema, '') && !v.is(schema, 'x')) continue
      const known = `${route.operationId} ${name}`
      it(`has a maximum length: ${known}`, () => {
        assert.equal(v.is(schema, LONG), ELSEWHERE.has(known))
      })
    }

  it('that the domain bounds is answered 422 when it is too long, and nothing is created', async () => {
    const { root } = allot
    for (const [path, member] of [
      ['/orgs', 'username'],
      ['/admin/users', 'username'],
      ['/admin/users/root/orgs', 'username'],
      ['/user/repos', 'name'],
    ] as const)
      assertError(await allot.as(root, 'POST', path, { [member]: LONG }), 422, /^name: must have 1 to/)
    assertList(await allot.as(root, 'GET', '/admin/users'), 'login', ['root'])
  })

  it('and every list of a body has a maximum length', async () => {
    const { root } = allot
    const subjects = Array.from({ length: 101 }, () => 'size:all')
    assertError(await allot.as(root, 'POST', '/admin/quota/rules', { name: 'r', limit: 1, subjects }), 422)
    const scopes = Array.from({ length: 51 }, () => 'all')
    assertError(await allot.as(root, 'POST', '/users/root/tokens', { name: 't', scopes }), 422, /^scopes: /)
    const groups = Array.from({ length: 101 }, (_, at) => `g${at}`)
    assertError(await allot.as(root, 'POST', '/admin/users/root/quota/groups', { groups }), 422, /^groups: /)
  })
})
