import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { postgres } from '../../drivers/postgres/index.ts'
import { routes } from '../../lib/api/index.ts'
import { atEnd } from '../support/cleanup.ts'
import { basic, type Person, start, type TestServer } from '../support/test-server.ts'
import { missing } from './cluster.ts'
import { countTrips, type TripCounter } from './count-queries.ts'
import { emptyStore } from './empty-store.ts'

/**
 * Round trips that a whole request may take. They were measured, and stray by one. A request that is not
 * listed may take those of its kind.
 */
const [READ, WRITE] = [14, 17]
const FURTHER: Record<string, number> = {
  '/repos/{owner}/{repo}/collaborators/{collaborator}': 25,
  '/repos/{owner}/{repo}/collaborators/{collaborator}/permission': 26,
  '/repos/{owner}/{repo}/hooks/{id}': 22,
  '/repos/{owner}/{repo}/hooks/{id}/deliveries': 22,
  '/repos/{owner}/{repo}/issues/comments/{id}/assets/{attachment_id}': 22,
  '/repos/{owner}/{repo}/issues/{index}/assets/{attachment_id}': 22,
  '/repos/{owner}/{repo}/releases/{id}/assets/{attachment_id}': 21,
  '/repos/{owner}/{repo}/teams/{team}': 21,
  'DELETE /admin/users/x#': 44,
  'DELETE /repos/alice/x#': 32,
  'POST /orgs/org#/repos': 23,
  'POST /repos/acme/demo/transfer': 32,
  'POST /repos/alice/demo/transfer': 32,
  'POST /user/repos': 21,
}
const TIMES = 6
const PASSWORD = 'a long enough secret'

/** Sets and clears something. */
const set = (path: string, body?: object): [method: string, path: string, body?: () => unknown][] => [
  body === undefined ? ['PUT', path] : ['PUT', path, () => body],
  ['DELETE', path],
]

let allot: TestServer
let alice: Person
let queries: TripCounter
/** Of the reads since they were cleared. */
const names = new Set<string | undefined>()

/** Values of path parameters. */
const NAMES: Record<string, string> = {
  username: 'alice',
  owner: 'alice',
  repo: 'demo',
  reponame: 'demo',
  target: 'bob',
  org: 'acme',
  quotarule: 'rule',
  quotagroup: 'group',
  kind: 'artifacts',
  key: 'k',
  id: '1',
  index: '1',
  attachment_id: '1',
  tag: 'v1',
}
const QUERIES: Record<string, string> = {
  check: '?subject=size:all',
  explain: '?subject=size:all',
  over: '?subject=size:all',
}

const pathOf = (path: string): string => {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => NAMES[name] ?? name)
  return filled + (QUERIES[filled.split('/').at(-1)!] ?? '')
}

/**
 * Each sequence runs several times, because background jobs may send statements in between. The fewest
 * count, as for reads.
 */
const WRITES: [what: string, requests: [method: string, path: string, body?: (time: number) => unknown][]][] =
  [
    ['a star', set('/user/starred/alice/demo')],
    ['a watch', set('/repos/alice/demo/subscription')],
    ['a follow', set('/user/following/bob')],
    ['a member', set('/orgs/acme/members/bob')],
    ['an assignment', set('/admin/quota/groups/group/users/bob')],
    ['a ledger entry', set('/admin/ledger/lfs/x', { repository: 'alice/demo', name: 'x', size: 5 })],
    [
      'a rule',
      [
        ['POST', '/admin/quota/rules', () => ({ name: 'x', limit: 1, subjects: ['size:all'] })],
        ['PATCH', '/admin/quota/rules/x', () => ({ limit: 2 })],
        ['DELETE', '/admin/quota/rules/x'],
      ],
    ],
    [
      'a group',
      [
        ['POST', '/admin/quota/groups', () => ({ name: 'x' })],
        ['PUT', '/admin/quota/groups/x/rules/rule'],
        ['DELETE', '/admin/quota/groups/x/rules/rule'],
        ['DELETE', '/admin/quota/groups/x'],
      ],
    ],
    [
      'a token',
      [
        ['POST', '/users/alice/tokens', () => ({ name: 'x', scopes: ['all'] })],
        ['DELETE', '/users/alice/tokens/x'],
      ],
    ],
    [
      'a user',
      [
        ['POST', '/admin/users', (time) => ({ username: `x${time}` })],
        ['PATCH', '/admin/users/x#', () => ({ full_name: 'X' })],
        ['DELETE', '/admin/users/x#'],
      ],
    ],
    [
      'a repository',
      [
        ['POST', '/user/repos', (time) => ({ name: `x${time}` })],
        ['DELETE', '/repos/alice/x#'],
      ],
    ],
    [
      'a change of a repository',
      [
        ['PATCH', '/repos/alice/demo', (time) => ({ private: time % 2 === 1, description: `${time}` })],
        ['POST', '/repos/alice/demo/transfer', () => ({ new_owner: 'acme' })],
        ['POST', '/repos/acme/demo/transfer', () => ({ new_owner: 'alice' })],
      ],
    ],
    [
      'an issue and its comments',
      [
        ['POST', '/repos/alice/demo/issues', () => ({ title: 'one' })],
        ['PATCH', '/repos/alice/demo/issues/1', (time) => ({ body: `${time}` })],
        ['POST', '/repos/alice/demo/issues/1/comments', () => ({ body: 'c' })],
        ['PATCH', '/repos/alice/demo/issues/comments/1', (time) => ({ body: `${time}` })],
      ],
    ],
    [
      'a release',
      [
        ['POST', '/repos/alice/demo/releases', (time) => ({ tag_name: `t${time}` })],
        ['PATCH', '/repos/alice/demo/releases/1', (time) => ({ body: `${time}` })],
        ['DELETE', '/repos/alice/demo/releases/tags/t#'],
      ],
    ],
    [
      'an organization',
      [
        ['POST', '/orgs', (time) => ({ username: `org${time}` })],
        ['POST', '/orgs/org#/repos', () => ({ name: 'y' })],
      ],
    ],
  ]

const listed = (sent: readonly string[]) => `${sent.length}: ${sent.join(', ')}`

describe('A request to a server on PostgreSQL', { skip: missing }, () => {
  before(async () => {
    queries = countTrips()
    atEnd(queries.restore)
    const { url } = await emptyStore()
    const driver = postgres(url)
    const { read } = driver
    driver.read = (body, name) => {
      names.add(name)
      return read(body, name)
    }
    allot = await start({ driver, repositories: false, webhooks: true })
    alice = await allot.person('alice', { admin: true, password: PASSWORD })
    await allot.person('bob')
    const as = (method: string, path: string, body?: unknown) => allot.done(alice, method, path, body)
    await as('POST', '/orgs', { username: 'acme' })
    await as('POST', '/user/repos', { name: 'demo' })
    await as('PUT', '/user/following/bob')
    await as('PUT', '/user/starred/alice/demo')
    await as('POST', '/admin/quota/rules', { name: 'rule', limit: 100, subjects: ['size:all'] })
    await as('POST', '/admin/quota/groups', { name: 'group', rules: [{ name: 'rule' }] })
    await as('PUT', '/admin/quota/groups/group/users/alice')
    await as('POST', '/repos/alice/demo/issues', { title: 'one' })
    await as('POST', '/repos/alice/demo/issues/1/comments', { body: 'one' })
    await as('POST', '/repos/alice/demo/releases', { tag_name: 'v1' })
    const item = { repository: 'alice/demo', name: 'k', size: 5, run: 1 }
    await as('PUT', '/admin/ledger/artifacts/k', item)
  })

  for (const { path } of routes.filter(({ method, path }) => method === 'GET' && path !== '/admin/export')) {
    const limit = FURTHER[path] ?? READ
    it(`GET ${path} takes at most ${limit} round trips`, async () => {
      const ask = () => allot.as(alice, 'GET', pathOf(path))
      await ask()
      let fewest = await queries.during(ask)
      for (let time = 1; time < TIMES && fewest.length > limit; time++) {
        const sent = await queries.during(ask)
        if (sent.length < fewest.length) fewest = sent
      }
      assert.ok(fewest.length <= limit, listed(fewest))
    })
  }

  for (const [who, headers] of [
    ['with a token', () => ({ authorization: `token ${alice.token}` })],
    ['with a password', () => basic('alice', PASSWORD)],
  ] as const)
    it(`GET /user/quota ${who} takes at most 3 round trips when it was sent before`, async () => {
      const ask = () => allot.request('GET', '/user/quota', { headers: headers() })
      const { body: before } = await ask()
      let fewest = await queries.during(ask)
      for (let time = 1; time < TIMES && fewest.length > 3; time++) fewest = await queries.during(ask)
      assert.ok(fewest.length <= 3, listed(fewest))
      await allot.done(alice, 'PUT', `/admin/ledger/lfs/${who.length}`, {
        repository: 'alice/demo',
        name: 'x',
        size: 7,
      })
      const { body: after } = await ask()
      assert.equal(after.used.size.git.LFS, before.used.size.git.LFS + 7)
    })

  it('has no credential in the names of its reads, which the driver keeps', async () => {
    names.clear()
    for (const headers of [{ authorization: `token ${alice.token}` }, basic('alice', PASSWORD)])
      await allot.request('GET', `/user/quota?token=${alice.token}`, { headers })
    names.delete(undefined)
    const given = [...names].join(' ')
    assert.equal(names.size, 3, given)
    assert.doesNotMatch(given, new RegExp(`${alice.token}|${PASSWORD}`))
  })

  for (const [what, requests] of WRITES)
    it(`${what}: each write takes few round trips`, async () => {
      const fewest = new Map<string, string[]>()
      for (let time = 1; time <= TIMES; time++)
        for (const [method, path, body] of requests) {
          const sent = await queries.during(async () => {
            const { status, text } = await allot.as(
              alice,
              method,
              path.replace('#', String(time)),
              body?.(time),
            )
            assert.ok(status < 300, `${method} ${path}: ${status} ${text}`)
          })
          const before = fewest.get(`${method} ${path}`)
          if (before === undefined || sent.length < before.length) fewest.set(`${method} ${path}`, sent)
        }
      for (const [request, sent] of fewest)
        assert.ok(sent.length <= (FURTHER[request] ?? WRITE), `${request}: ${listed(sent)}`)
    })
})
