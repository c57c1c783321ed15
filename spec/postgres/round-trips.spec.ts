import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { postgres } from '../../drivers/postgres/index.ts'
import { routes } from '../../lib/routes/index.ts'
import { type Person, type Running, start } from '../running.ts'
import { missing } from './cluster.ts'
import { type Counted, countQueries } from './counted.ts'
import { emptyStore } from './shared.ts'

const [READ, WRITE] = [2, 4]

let allot: Running
let alice: Person
let queries: Counted
let drop: () => Promise<void>

/** What the segments of paths are in these specs. */
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

/** Each of these is done and undone, so that the second time everything is known. */
const WRITES: [what: string, requests: [method: string, path: string, body?: unknown][]][] = [
  [
    'a star',
    [
      ['PUT', '/user/starred/alice/demo'],
      ['DELETE', '/user/starred/alice/demo'],
    ],
  ],
  [
    'a watch',
    [
      ['PUT', '/repos/alice/demo/subscription'],
      ['DELETE', '/repos/alice/demo/subscription'],
    ],
  ],
  [
    'a follow',
    [
      ['PUT', '/user/following/bob'],
      ['DELETE', '/user/following/bob'],
    ],
  ],
  [
    'a ledger entry',
    [
      ['PUT', '/admin/ledger/lfs/x', { repository: 'alice/demo', name: 'x', size: 5 }],
      ['DELETE', '/admin/ledger/lfs/x'],
    ],
  ],
  [
    'a rule',
    [
      ['POST', '/admin/quota/rules', { name: 'x', limit: 1, subjects: ['size:all'] }],
      ['PATCH', '/admin/quota/rules/x', { limit: 2 }],
      ['DELETE', '/admin/quota/rules/x'],
    ],
  ],
  [
    'a group',
    [
      ['POST', '/admin/quota/groups', { name: 'x' }],
      ['PUT', '/admin/quota/groups/x/rules/rule'],
      ['PUT', '/admin/quota/groups/x/users/bob'],
      ['DELETE', '/admin/quota/groups/x/users/bob'],
      ['DELETE', '/admin/quota/groups/x/rules/rule'],
      ['DELETE', '/admin/quota/groups/x'],
    ],
  ],
  [
    'a token',
    [
      ['POST', '/users/alice/tokens', { name: 'x', scopes: ['all'] }],
      ['DELETE', '/users/alice/tokens/x'],
    ],
  ],
  [
    'a member',
    [
      ['PUT', '/orgs/acme/members/bob'],
      ['DELETE', '/orgs/acme/members/bob'],
    ],
  ],
  [
    'a user',
    [
      ['POST', '/admin/users', { username: 'x' }],
      ['PATCH', '/admin/users/x', { full_name: 'X' }],
      ['DELETE', '/admin/users/x'],
    ],
  ],
  [
    'a repository',
    [
      ['POST', '/user/repos', { name: 'x' }],
      ['PATCH', '/repos/alice/x', { private: true }],
      ['POST', '/repos/alice/x/transfer', { new_owner: 'acme' }],
      ['DELETE', '/repos/acme/x'],
    ],
  ],
  [
    'an organization',
    [
      ['POST', '/orgs', { username: 'x' }],
      ['POST', '/orgs/x/repos', { name: 'y' }],
      ['DELETE', '/repos/x/y'],
      ['DELETE', '/admin/users/x'],
    ],
  ],
]

const told = (asked: readonly string[]) => `${asked.length}: ${asked.join(', ')}`

describe('A request to a server on PostgreSQL', { skip: missing }, () => {
  before(async () => {
    queries = countQueries()
    const store = await emptyStore()
    drop = store.drop
    allot = await start({ driver: postgres(store.url), repositories: false })
    alice = await allot.person('alice', { admin: true })
    await allot.person('bob')
    const as = (method: string, path: string, body?: unknown) => allot.as(alice, method, path, body)
    await as('POST', '/orgs', { username: 'acme' })
    await as('POST', '/user/repos', { name: 'demo' })
    await as('PUT', '/user/following/bob')
    await as('PUT', '/user/starred/alice/demo')
    await as('POST', '/admin/quota/rules', { name: 'rule', limit: 100, subjects: ['size:all'] })
    await as('POST', '/admin/quota/groups', { name: 'group', rules: ['rule'] })
    await as('PUT', '/admin/quota/groups/group/users/alice')
    const item = { repository: 'alice/demo', name: 'k', size: 5, run: 1 }
    await as('PUT', '/admin/ledger/artifacts/k', item)
  })
  after(async () => {
    await allot.stop()
    queries.restore()
    await drop()
  })

  for (const { path } of routes.filter(({ method, path }) => method === 'GET' && path !== '/admin/export'))
    it(`GET ${path} takes at most ${READ} round trips`, async () => {
      const ask = () => allot.as(alice, 'GET', pathOf(path))
      await ask()
      const asked = await queries.during(ask)
      console.log('RT', told([...asked]), 'GET', path)
      assert.ok(asked.length <= READ, told(asked))
    })

  for (const [what, requests] of WRITES)
    it(`${what}: each write takes at most ${WRITE} round trips`, async () => {
      for (let time = 1; time <= 3; time++)
        for (const [method, path, body] of requests) {
          const asked = await queries.during(async () => {
            const { status, text } = await allot.as(alice, method, path, body)
            assert.ok(status < 300, `${method} ${path}: ${status} ${text}`)
          })
          if (time === 3) console.log('RT', told(asked), method, path)
          if (time === 3) assert.ok(asked.length <= WRITE, `${method} ${path}: ${told(asked)}`)
        }
    })
})
