import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { before, describe, it } from 'node:test'
import { routes } from '../../lib/api/index.ts'
import type { Route } from '../../lib/http/index.ts'
import { pageRoutes } from '../../lib/web/page-routes.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { isLong } from '../support/long.ts'
import type { Answer, Person, TestServer } from '../support/test-server.ts'
import { type PageServer, startPages } from '../web/browser.ts'
import { MARK, pathsOf } from './filled.ts'

/** As long as the names of hidden content, and the name of nothing. */
const NOTHING = 'none'

interface World {
  allot: PageServer
  /** Signed in, has a repository, and does not belong to hidden content. */
  outsider: Person
}

const all = routes as unknown as Route<never, never>[]

/** Asserts that a step of the preparation succeeds. */
const made = async ({ as }: TestServer, ...asked: Parameters<TestServer['as']>): Promise<void> => {
  const { status, text } = await as(...asked)
  assert.ok(status < 300, `${asked.slice(1, 3).join(' ')}: ${status} ${text}`)
}

/** Visible content. It is created first, so that it has the same ids in both instances. */
const openWorld = async (): Promise<World & { alice: Person }> => {
  const allot = await startPages({ repositories: { directory: temporaryDirectory() }, webhooks: true })
  const [alice, outsider] = [await allot.person('alice'), await allot.person('outsider')]
  await made(allot, alice, 'POST', '/orgs', { username: 'acme' })
  for (const path of ['/user/repos', '/orgs/acme/repos'])
    await made(allot, alice, 'POST', path, { name: 'open', description: 'for all to see' })
  await made(allot, outsider, 'POST', '/user/repos', { name: 'own' })
  await made(allot, outsider, 'POST', '/orgs', { username: 'owned' })
  await made(allot, outsider, 'PUT', '/user/following/alice')
  await made(allot, outsider, 'PUT', '/user/starred/alice/open')
  return { allot, alice, outsider }
}

/**
 * The same instance with a hidden user, a hidden organization and private repositories, related to the
 * visible content.
 */
const worldWithSecrets = async (): Promise<World> => {
  const { allot, alice, outsider } = await openWorld()
  const hidden = await allot.person(`${MARK}-user`, { email: `${MARK}@example.test` })
  const profile = { full_name: `${MARK} full`, description: MARK, location: MARK, website: MARK }
  await made(allot, allot.root, 'PATCH', `/admin/users/${hidden.name}`, profile)
  await made(allot, allot.root, 'PATCH', '/admin/users/alice', { email: `alice-${MARK}@example.test` })
  await made(allot, hidden, 'POST', '/orgs', {
    username: `${MARK}-org`,
    visibility: 'private',
    description: MARK,
  })
  await made(allot, hidden, 'PUT', `/orgs/${MARK}-org/members/alice`)
  await made(allot, alice, 'PUT', `/orgs/acme/members/${hidden.name}`)
  const repository = { name: `${MARK}-repo`, description: MARK, private: true }
  await made(allot, alice, 'POST', '/user/repos', repository)
  await made(allot, alice, 'POST', '/orgs/acme/repos', repository)
  await made(allot, hidden, 'POST', `/orgs/${MARK}-org/repos`, { ...repository, private: false })
  await made(allot, hidden, 'POST', '/user/repos', { ...repository, private: false })
  const fork = { organization: 'acme', name: `${MARK}-fork` }
  await made(allot, alice, 'POST', '/repos/alice/open/forks', fork)
  await made(allot, alice, 'PATCH', `/repos/acme/${MARK}-fork`, { private: true })
  for (const [one, other] of [
    [hidden, 'alice'],
    [hidden, 'outsider'],
    [alice, hidden.name],
  ] as const)
    await made(allot, one, 'PUT', `/user/following/${other}`)
  for (const path of [`alice/${MARK}-repo`, `acme/${MARK}-repo`, `${MARK}-org/${MARK}-repo`])
    for (const relation of ['/user/starred/*', '/repos/*/subscription'])
      await made(allot, alice, 'PUT', relation.replace('*', path))
  await allot.allot.ledger.put({
    kind: 'artifacts',
    key: MARK,
    repository: `alice/${MARK}-repo`,
    name: MARK,
    size: 5,
    run: 1,
  })
  await made(allot, alice, 'POST', '/orgs/acme/teams', { name: `${MARK}-team`, permission: 'read' })
  for (const shared of [`alice/${MARK}-repo`, 'alice/open'])
    await made(allot, alice, 'PUT', `/repos/${shared}/collaborators/${hidden.name}`, {})
  await withContents(allot, alice, `alice/${MARK}-repo`)
  const viewer = { id: hidden.id, admin: false }
  const at = { owner: hidden.name, type: 'generic', name: MARK, version: '1' }
  await allot.allot.hosting.packages.add(viewer, at, 'file', Readable.from([Buffer.from(MARK)]))
  const rule = { name: `${MARK} rule`, limit: 1, subjects: ['size:all'] }
  await made(allot, allot.root, 'POST', '/admin/quota/groups', { name: `${MARK}-group`, rules: [rule] })
  await made(allot, allot.root, 'PUT', `/admin/quota/groups/${MARK}-group/users/alice`)
  // Hidden last, so that others could be related to them before.
  await made(allot, allot.root, 'PATCH', `/admin/users/${hidden.name}`, { visibility: 'private' })
  return { allot, outsider }
}

/** An issue, a comment and a release, each with an attachment. */
const withContents = async (allot: TestServer, person: Person, repository: string): Promise<void> => {
  const at = `/repos/${repository}`
  await made(allot, person, 'POST', `${at}/issues`, { title: MARK, body: MARK })
  await made(allot, person, 'POST', `${at}/issues/1/comments`, { body: MARK })
  await made(allot, person, 'POST', `${at}/releases`, { tag_name: MARK, name: MARK })
  for (const target of ['issues/1', 'issues/comments/1', 'releases/1'])
    await attached(allot, person, `${at}/${target}`)
}

const attached = async (allot: TestServer, person: Person, target: string): Promise<void> => {
  const form = new FormData()
  form.set('attachment', new Blob([MARK]), MARK)
  const authorization = `token ${person.token}`
  const { status } = await fetch(`${allot.api}${target}/assets`, {
    ...{ method: 'POST', body: form, headers: { authorization } },
  })
  assert.equal(status, 201, target)
}

let secretive: World
let open: World
before(async () => {
  secretive = await worldWithSecrets()
  open = await openWorld()
})

const QUERIES = ['', '?limit=1', '?limit=1&page=2', '?q=o', `?q=${MARK}`, '?uid=2', '?uid=6', '?uid=7']
const SUBJECT = '?subject=size:all'

const queriesOf = (route: Route<never, never>): string[] => {
  if (route.query !== undefined && 'subject' in route.query.entries) return [SUBJECT]
  if (route.path.endsWith('/search')) return QUERIES
  return route.paging === undefined ? [''] : QUERIES.slice(0, 3)
}

/**
 * The whole response, without times, the port, random values, and the number of forks, which includes private
 * ones (SECURITY.md). A use of a token is saved some time after it.
 */
const saidBy = ({ status, headers, text }: Answer) => {
  const body = text
    .replace(/"last_used_at":(?:null|"[^"]*")/g, '"last_used_at":""')
    .replace(/"forks_count":\d+/g, '"forks_count":0')
  const kept = [...headers]
    .filter(([name]) => !['date', 'etag', 'keep-alive', 'connection'].includes(name))
    .map(([name, value]) => [
      name,
      name === 'content-length' ? Number(value) - text.length + body.length : value,
    ])
  return JSON.stringify([status, kept, body])
    .replace(/127\.0\.0\.1:\d+/g, 'host')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, 'then')
    .replace(/(token_last_eight\W+)[0-9a-f]{8}/g, '$1')
}

type Auth = Route<never, never>['auth']

const VIEWERS: [who: string, of: (world: World) => Person | undefined, admitted: readonly Auth[]][] = [
  ['nobody', () => undefined, ['optional']],
  ['another user', ({ outsider }) => outsider, ['optional', 'required']],
]

/** What to ask a route for: one path of many when it refuses the viewer before it looks at the path. */
const askable = <T>(values: T[], { auth }: Route<never, never>, admitted: readonly Auth[]): T[] =>
  admitted.includes(auth) ? values : values.slice(0, 1)

describe('Private content', () => {
  for (const route of all.filter(({ method }) => method === 'GET'))
    for (const [who, of, admitted] of VIEWERS)
      it(`is in no answer of GET ${route.path} to ${who}, and in no count of it`, async () => {
        // Pages of the first list; of the others, the whole list.
        for (const [at, path] of askable(pathsOf(route.path), route, admitted).entries())
          for (const query of queriesOf(route).slice(0, at === 0 || isLong ? undefined : 1)) {
            const ask = ({ allot }: World, person: Person | undefined) =>
              allot.as(person, 'GET', path + query)
            const answer = await ask(secretive, of(secretive))
            const said = saidBy(answer)
            // Links repeat the request, and only lists of visible content have links.
            assert.ok(!said.replaceAll(query, '').includes(MARK), `${path}${query}: ${said}`)
            assert.equal(said, saidBy(await ask(open, of(open))), `${path}${query}`)
            if (path.includes(MARK)) assert.ok(answer.status >= 400, `${path}${query}: ${said}`)
            // No page of a list that is refused is shown.
            if (answer.status >= 400) break
          }
      })
})

/** A valid body for each method, so that only the path decides. */
const BODIES: Record<string, object> = {
  repoEdit: { description: 'x' },
  repoTransfer: { new_owner: 'owned' },
  orgAddMember: { role: 'member' },
  orgCreateTeam: { name: 'x', permission: 'read' },
  createOrgRepo: { name: 'x' },
  createOrgRepoDeprecated: { name: 'x' },
  userCreateToken: { name: 'x', scopes: ['read:user'] },
}

/** Paths of hidden content, each with the same path of missing content. */
const hiddenPaths = (path: string): [hidden: string, missing: string][] =>
  pathsOf(path)
    .filter((one) => one.includes(MARK))
    .map((one) => [one, one.replaceAll(MARK, NOTHING)])

describe('A private thing', () => {
  const named = all.filter(({ path, auth }) => auth !== 'admin' && hiddenPaths(path).length > 0)
  it('has paths to compare', () => assert.ok(named.length > 30))

  for (const route of named) {
    const { method, path: pattern, operationId, body } = route
    it(`is answered by ${method} ${pattern} like a missing one, byte for byte`, async () => {
      // Of GET, the specs above compare the others with the instance that does not have them.
      const compared = hiddenPaths(pattern).slice(0, method === 'GET' && !isLong ? 1 : undefined)
      const given = body && (BODIES[operationId] ?? {})
      for (const [who, of, admitted] of VIEWERS)
        for (const [hidden, missing] of askable(compared, route, admitted)) {
          const { allot } = secretive
          const [one, other] = [
            await allot.as(of(secretive), method, hidden, given),
            await allot.as(of(secretive), method, missing, given),
          ]
          assert.equal(saidBy(one), saidBy(other).replaceAll(NOTHING, MARK), `${method} ${hidden} as ${who}`)
          assert.ok(one.status >= 400, `${method} ${hidden} as ${who}: ${one.status}`)
        }
    })
  }

  it('is answered to every other method like a missing one', async () => {
    for (const [hidden, missing] of ['/repos/{owner}/{repo}', '/users/{username}', '/orgs/{org}'].flatMap(
      hiddenPaths,
    ))
      for (const method of ['HEAD', 'OPTIONS', 'PUT', 'POST', 'PATCH', 'DELETE']) {
        const { allot, outsider } = secretive
        const [one, other] = [
          await allot.as(outsider, method, hidden, method === 'HEAD' ? undefined : {}),
          await allot.as(outsider, method, missing, method === 'HEAD' ? undefined : {}),
        ]
        assert.equal(saidBy(one), saidBy(other).replaceAll(NOTHING, MARK), `${method} ${hidden}`)
      }
  })

  it('that is named in a body is answered like a missing one', async () => {
    const { allot, outsider } = secretive
    const transfer = (owner: string) =>
      allot.as(outsider, 'POST', '/repos/outsider/own/transfer', { new_owner: owner })
    for (const one of [`${MARK}-user`, `${MARK}-org`])
      assert.equal(saidBy(await transfer(one)), saidBy(await transfer(one.replace(MARK, NOTHING))))
    const mention = (text: string) => allot.as(outsider, 'POST', '/markdown', { Text: text, Mode: 'gfm' })
    for (const one of [`@${MARK}-user`, `${MARK}-user/${MARK}-repo#1`, `alice/${MARK}-repo#1`])
      assert.equal(
        saidBy(await mention(one)),
        saidBy(await mention(one.replaceAll(MARK, NOTHING))).replaceAll(NOTHING, MARK),
      )
  })

  it('is refused before any lookup when the token lacks the scope', async () => {
    const { allot, outsider } = secretive
    const token = await allot.scoped(outsider, 'read:misc')
    for (const name of [MARK, NOTHING])
      for (const method of ['GET', 'PATCH', 'DELETE'])
        assert.equal((await allot.request(method, `/repos/alice/${name}-repo`, { token })).status, 403)
  })
})

describe('The pages of people and repositories', () => {
  const said = ({ status, text }: { status: number; text: string }): string =>
    `${status} ${text}`
      .replace(/127\.0\.0\.1:\d+/g, 'host')
      .replace(/name="form" value="[^"]*"/g, '')
      .replace(/>\d+ forks?</g, '><')
      .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:Z| UTC)/g, 'then')

  for (const who of ['a visitor', 'an outsider'])
    it(`tell ${who} nothing of what is hidden`, async () => {
      const [first, second] = [secretive.allot.browser(), open.allot.browser()]
      if (who === 'an outsider') {
        await first.signIn('', secretive.outsider.token)
        await second.signIn('', open.outsider.token)
      }
      const paths = pageRoutes.filter(({ kind }) => kind !== undefined).flatMap(({ path }) => pathsOf(path))
      assert.ok(paths.length > 80)
      for (const path of paths) assert.equal(said(await first.get(path)), said(await second.get(path)), path)
    })
})
