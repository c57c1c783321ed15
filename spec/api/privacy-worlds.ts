import { Readable } from 'node:stream'
import { routes } from '../../lib/api/index.ts'
import type { Route } from '../../lib/http/index.ts'
import type { AllotOptions } from '../../lib/index.ts'
import { temporaryDirectory } from '../support/folder.ts'
import type { Answer, Person, TestServer } from '../support/test-server.ts'
import { type PageServer, startPages } from '../web/browser.ts'
import { MARK } from './filled.ts'

/** As long as the names of hidden content, and the name of nothing. */
export const NOTHING = 'none'

export interface World {
  allot: PageServer
  /** Signed in, has a repository, and does not belong to hidden content. */
  outsider: Person
}

export const all = routes as unknown as Route<never, never>[]

/** Asserts that a step of the preparation succeeds. */
const made = ({ done }: TestServer, ...sent: Parameters<TestServer['done']>): Promise<unknown> =>
  done(...sent)

/** Visible content. It is created first, so that it has the same ids in both instances. */
export const openWorld = async (options: Partial<AllotOptions> = {}): Promise<World & { alice: Person }> => {
  const allot = await startPages({
    repositories: { directory: temporaryDirectory() },
    webhooks: true,
    ...options,
  })
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
export const worldWithSecrets = async (options?: Partial<AllotOptions>): Promise<World> => {
  const { allot, alice, outsider } = await openWorld(options)
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
    await allot.attach(person, `${at}/${target}`, MARK, MARK)
}

/**
 * The whole response, without times, the port, random values, and the number of forks, which includes private
 * ones (SECURITY.md). A use of a token is saved some time after it.
 */
export const saidBy = ({ status, headers, text }: Answer) => {
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

export const VIEWERS: [who: string, of: (world: World) => Person | undefined, admitted: readonly Auth[]][] = [
  ['nobody', () => undefined, ['optional']],
  ['another user', ({ outsider }) => outsider, ['optional', 'required']],
]

/** What to ask a route for: one path of many when it refuses the viewer before it looks at the path. */
export const askable = <T>(values: T[], { auth }: Route<never, never>, admitted: readonly Auth[]): T[] =>
  admitted.includes(auth) ? values : values.slice(0, 1)
