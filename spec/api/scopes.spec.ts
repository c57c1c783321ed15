import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { before, describe, it } from 'node:test'
import { routes } from '../../lib/api/index.ts'
import type { Route } from '../../lib/http/index.ts'
import { SCOPES } from '../../lib/scopes.ts'
import { pageRoutes } from '../../lib/web/page-routes.ts'
import { once } from '../support/cleanup.ts'
import { isLong } from '../support/long.ts'
import { madeBefore, type Person } from '../support/test-server.ts'
import { startPages } from '../web/browser.ts'
import { MARK, pathsOf } from './filled.ts'

/** MARK is in the name, the description and the contents of private repositories only. */
let alice: Person
let root: Person

const made: typeof allot.done = (...sent) => allot.done(...sent)

const allot = madeBefore(() => startPages({ quota: { defaultGroups: [] }, webhooks: true }))
before(async () => {
  root = allot.root
  alice = await allot.person('alice')
  await made(alice, 'POST', '/orgs', { username: 'acme' })
  for (const owner of ['alice', 'acme']) {
    const path = owner === 'alice' ? '/user/repos' : '/orgs/acme/repos'
    for (const name of ['open', `${MARK}-repo`])
      await made(alice, 'POST', path, { name, description: name, private: name !== 'open' })
    for (const name of [`${owner}/open`, `${owner}/${MARK}-repo`]) await relate(name)
    await count(`${owner}/${MARK}-repo`)
  }
})

const relate = async (repository: string): Promise<void> => {
  await made(alice, 'PUT', `/user/starred/${repository}`)
  const text = repository.includes(MARK) ? MARK : 'open'
  await made(alice, 'POST', `/repos/${repository}/issues`, { title: text })
  await made(alice, 'POST', `/repos/${repository}/issues/1/comments`, { body: text })
  await made(alice, 'POST', `/repos/${repository}/releases`, { tag_name: text })
}

const count = async (repository: string): Promise<void> => {
  const entry = { repository, name: MARK, size: 5 }
  const { ledger } = allot.allot
  await ledger.put({ ...entry, kind: 'artifacts', key: `a ${repository}`, run: 1 })
  await ledger.put({ ...entry, kind: 'attachments', key: `t ${repository}`, on: 'issue', index: 1 })
  await ledger.put({ ...entry, kind: 'packages', key: `p ${repository}`, type: 'npm', version: '1' })
}

const gets = (routes as unknown as Route<never, never>[]).filter(({ method }) => method === 'GET')

/** Scopes that are not included in another scope. */
const WIDEST = SCOPES.filter(
  (scope) => !SCOPES.some((one) => one === scope.replace(/^read:/, 'write:') && one !== scope),
)

/** A ledger entry has a key that an administrator chose, and an export has a scope of its own. */
const OF_ADMINISTRATORS = ['/admin/ledger/{kind}/{key}', '/admin/export']

const queriesOf = ({ path, query }: Route<never, never>): string[] => {
  if (query !== undefined && 'subject' in query.entries) return ['?subject=size:all']
  return path.endsWith('/search') ? ['?limit=50', `?q=${MARK}&limit=50`] : ['?limit=50']
}

const grants = (scope: string, needed: 'repository' | 'issue') =>
  scope === 'all' || scope === `read:${needed}` || scope === `write:${needed}`

/**
 * Whether a response may show private repositories, by the scope of the token and the purpose of the route.
 */
const mayTell = (scope: string, route: Route<never, never>): boolean =>
  grants(scope, 'repository') || (grants(scope, 'issue') && route.scope === 'read:issue')

describe('The table of scopes in docs/api.md', () => {
  it('has every scope', () => {
    const [, table = ''] = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8').split(
      '## Scopes',
    )
    for (const scope of SCOPES) assert.match(table, new RegExp(`^\\| .*\`${scope}\`.* \\|`, 'm'))
  })
})

/**
 * What a token of a scope asks for: in the long suite everything; otherwise what told a token of all scopes
 * of private repositories, and one path of each other route.
 */
const askedBy = (scope: string, of: string[], told: ReadonlySet<string>): string[] => {
  if (isLong || scope === 'all') return of
  const telling = of.filter((path) => told.has(path))
  return telling.length > 0 ? telling : of.slice(0, 1)
}

describe('A token', () => {
  const asked = gets
    .filter(({ path }) => !OF_ADMINISTRATORS.includes(path))
    .map((route) => ({
      route,
      paths: pathsOf(route.path).flatMap((path) => queriesOf(route).map((query) => path + query)),
    }))
  /** @returns the paths that show private repositories, as `PERSON PATH` */
  const told = async (scope: string, before: ReadonlySet<string>): Promise<Set<string>> => {
    const telling = new Set<string>()
    for (const person of [alice, root]) {
      const token = await allot.scoped(person, scope)
      for (const { route, paths } of asked)
        for (const path of askedBy(scope, paths, before)) {
          const { status, text } = await allot.request('GET', path, { token })
          if (status >= 300 || !text.includes(MARK)) continue
          assert.ok(mayTell(scope, route), `${path} as ${person.name}: ${text}`)
          telling.add(path)
        }
    }
    return telling
  }
  const toldAll = once(() => told('all', new Set()))

  for (const scope of WIDEST)
    it(`with the scope ${scope} gets private repositories only where that scope allows it`, async () => {
      if (scope === 'all') await toldAll()
      else await told(scope, await toldAll())
    })

  it('with the scope all gets them in many responses, which validates the specs above', async () => {
    const telling = await toldAll()
    const marked = asked.filter(({ paths }) => paths.some((path) => telling.has(path)))
    assert.ok(marked.length > 20, marked.map(({ route }) => route.path).join('\n'))
  })

  it('without read:repository gets counts of public repositories only', async () => {
    const counts = async (...scopes: string[]) => {
      const token = await allot.scoped(alice, ...scopes)
      const { body } = await allot.request('GET', '/user', { token })
      const total = async (path: string) =>
        Number((await allot.request('GET', path, { token })).headers.get('x-total-count'))
      return [
        body.starred_repos_count,
        await total('/user/subscriptions'),
        await total('/users/alice/starred'),
        await total('/orgs/acme/repos'),
      ]
    }
    assert.deepEqual(await counts('read:user', 'read:organization'), [2, 2, 2, 1])
    assert.deepEqual(await counts('read:user', 'read:organization', 'read:repository'), [4, 4, 4, 2])
  })

  it('without read:repository gets the sizes of what counts in a private repository, but no names', async () => {
    const token = await allot.scoped(alice, 'read:user')
    const empty = { contained_in: { api_url: '', html_url: '' }, api_url: '' }
    for (const [path, rest] of [
      ['attachments', empty],
      ['artifacts', { html_url: '' }],
      ['packages', { html_url: '', type: '', version: '' }],
    ] as const) {
      const { body, headers } = await allot.request('GET', `/user/quota/${path}`, { token })
      assert.deepEqual(body, [{ name: '', size: 5, ...rest }])
      assert.equal(headers.get('x-total-count'), '1')
    }
  })
})

describe('A session of the pages', () => {
  const pages = pageRoutes.filter(({ method }) => method === 'GET')
  const told = async (scope: string, before: ReadonlySet<string>): Promise<Set<string>> => {
    const telling = new Set<string>()
    for (const person of [alice, root]) {
      const browser = await allot.signedIn('', await allot.scoped(person, scope))
      for (const { path: pattern, scope: needed } of pages)
        for (const path of askedBy(scope, pathsOf(pattern), before)) {
          const { status, text } = await browser.get(path)
          if (status !== 200 || !text.includes(MARK)) continue
          const mayTell = grants(scope, 'repository') || (grants(scope, 'issue') && needed === 'read:issue')
          assert.ok(mayTell, `${path} as ${person.name}`)
          telling.add(path)
        }
    }
    return telling
  }
  const toldAll = once(() => told('all', new Set()))

  for (const scope of WIDEST)
    it(`that began with a token of ${scope} shows private repositories only where that scope allows it`, async () => {
      if (scope === 'all') await toldAll()
      else await told(scope, await toldAll())
    })

  it('that began with a token of all shows them on several pages', async () => {
    const telling = await toldAll()
    const marked = pages.filter(({ path }) => pathsOf(path).some((one) => telling.has(one)))
    assert.ok(marked.length >= 4)
  })
})
