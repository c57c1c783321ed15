import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { after, before, describe, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { openAllot } from '../../lib/allot.ts'
import { routes } from '../../lib/api/index.ts'
import type { AllotOptions, HostIdentity } from '../../lib/index.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { type Listening, listen } from '../support/listen.ts'
import { times } from '../support/long.ts'
import { createSender, type Send } from '../support/request.ts'
import { seededRandom } from '../support/seed.ts'
import { PATIENT, type Person, start, type TestServer } from '../support/test-server.ts'

/*
 * Two servers have the same records: one keeps replies, the other reads each of them. Whatever is written,
 * the same request gets the same reply from both.
 */

const random = seededRandom()
const oneOf = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!

/** The host signs in who has the header `x-identity`; tokens sign in all others. */
const authenticate = ({ headers }: IncomingMessage): HostIdentity | undefined =>
  headers['x-identity'] === undefined ? undefined : JSON.parse(String(headers['x-identity']))

const options = (): Partial<AllotOptions> => ({
  ...PATIENT,
  repositories: false,
  files: { directory: temporaryDirectory() },
  baseUrl: 'http://code.test',
  // A token that does not exist is tried often.
  login: false,
})

let allot: TestServer
let reading: Listening
let cached: Send
let uncached: Send
let root: Person
let people: Readonly<Record<'owner' | 'member' | 'mate' | 'stranger', Person>>
let team: number
/** A token of the member, which comes and goes. */
let spare = ''

const open = async (host: Pick<AllotOptions, 'authenticate'>) => {
  const real = memory()
  const given = { ...options(), ...host }
  allot = await start({ ...given, driver: real })
  const shared = { ...real, shared: true, close: async () => undefined }
  const other = await openAllot({ ...given, driver: shared } as AllotOptions, { isServer: false })
  reading = await listen(other.handler)
  cached = createSender(allot.api)
  uncached = createSender(`${reading.origin}/api/v1`)
  root = host.authenticate === undefined ? allot.root : await allot.person('root', { admin: true })
  const [owner, member, mate, stranger] = await Promise.all(
    ['owner', 'member', 'mate', 'stranger'].map((name) => allot.person(name)),
  )
  people = { owner: owner!, member: member!, mate: mate!, stranger: stranger! }
  await fill()
}

const stop = async () => {
  await reading.stop()
  await allot.stop()
}

const made: typeof allot.done = (...sent) => allot.done(...sent)

const fill = async () => {
  const { owner } = people
  await made(owner, 'POST', '/orgs', { username: 'acme' })
  for (const name of ['open', 'other']) await made(owner, 'POST', '/user/repos', { name })
  for (const name of ['shared', 'plain'])
    await made(owner, 'POST', '/orgs/acme/repos', { name, private: true })
  await made(owner, 'PUT', '/orgs/acme/members/member')
  const { id } = await made(owner, 'POST', '/orgs/acme/teams', { name: 'readers', permission: 'read' })
  team = id
  await made(owner, 'PUT', `/teams/${team}/members/mate`)
  await made(owner, 'PUT', `/teams/${team}/repos/acme/shared`)
  await made(root, 'POST', '/admin/quota/groups', {
    name: 'small',
    rules: [{ name: 'little', limit: 100, subjects: ['size:all'] }],
  })
  limited = [
    await allot.scoped(owner, 'read:user'),
    await allot.scoped(owner, 'read:repository', 'read:organization'),
  ]
  spare = await allot.scoped(people.member, 'all')
}

let limited: string[] = []

const VIEWERS: Readonly<Record<string, () => Record<string, string>>> = {
  nobody: () => ({}),
  owner: () => ({ authorization: `token ${people.owner.token}` }),
  member: () => ({ authorization: `token ${people.member.token}` }),
  'team member': () => ({ authorization: `token ${people.mate.token}` }),
  stranger: () => ({ authorization: `Bearer ${people.stranger.token}` }),
  administrator: () => ({ authorization: `token ${root.token}` }),
  Sudo: () => ({ authorization: `token ${root.token}`, sudo: oneOf(['owner', 'mate', 'stranger']) }),
  'a token for users': () => ({ authorization: `token ${limited[0]}` }),
  'a token for repositories': () => ({ authorization: `token ${limited[1]}` }),
  'a token that comes and goes': () => ({ authorization: `token ${spare}` }),
}

const HOST_VIEWERS: typeof VIEWERS = {
  'a user of the host': () => identity({}),
  'an administrator of the host': () => identity({ admin: true }),
  'a user of the host with one scope': () => identity({ scopes: ['read:user'] }),
}

const identity = (more: object) => ({ 'x-identity': JSON.stringify({ id: 'hosted', ...more }) })

const NAMES = ['owner/open', 'owner/opened', 'owner/other', 'acme/shared', 'acme/plain', 'acme/other']
const PATHS = [
  ...['/version', '/user', '/user/repos', '/user/repos?limit=1&page=2', '/user/repos?order_by=moststars'],
  ...['owner', 'mate', 'renamed', 'none'].flatMap((name) => [`/users/${name}`, `/users/${name}/repos`]),
  ...['/orgs/acme', '/orgs/acme/repos', '/orgs/acme/quota', '/orgs/acme/quota/check?subject=size:all'],
  ...NAMES.map((name) => `/repos/${name}`),
  ...['/repos/search', '/repos/search?q=o', '/repos/search?q=owner/o', '/repos/search?q=shared&limit=1'],
  ...['/user/quota', '/user/quota/explain', '/user/quota/check?subject=size:all', '/orgs/acme/quota/explain'],
  ...['user', 'orgs/acme'].flatMap((owner) =>
    ['artifacts', 'attachments', 'packages'].map((kind) => `/${owner}/quota/${kind}`),
  ),
]

/** Changes: each may be refused, when another one has taken what it changes. */
const CHANGES: Readonly<Record<string, () => Promise<unknown>>> = {
  visibility: () => edit(oneOf(NAMES), { private: oneOf([true, false]) }),
  description: () => edit(oneOf(NAMES), { description: `${random()}` }),
  rename: () => edit(oneOf(['owner/open', 'owner/opened']), { name: oneOf(['open', 'opened']) }),
  removal: () => allot.as(people.owner, 'DELETE', `/repos/${oneOf(NAMES)}`),
  creation: () => allot.as(people.owner, 'POST', '/user/repos', { name: oneOf(['open', 'other']) }),
  'creation in the organization': () =>
    allot.as(people.owner, 'POST', '/orgs/acme/repos', { name: oneOf(['shared', 'plain']), private: true }),
  transfer: () =>
    allot.as(root, 'POST', `/repos/${oneOf(['owner/other', 'acme/other'])}/transfer`, {
      new_owner: oneOf(['owner', 'acme']),
    }),
  membership: () => allot.as(people.owner, oneOf(['PUT', 'DELETE']), '/orgs/acme/members/member'),
  role: () =>
    allot.as(people.owner, 'PUT', '/orgs/acme/members/member', { role: oneOf(['owner', 'member']) }),
  'team member': () => allot.as(people.owner, oneOf(['PUT', 'DELETE']), `/teams/${team}/members/mate`),
  'team repository': () =>
    allot.as(
      people.owner,
      oneOf(['PUT', 'DELETE']),
      `/teams/${team}/repos/acme/${oneOf(['shared', 'plain'])}`,
    ),
  collaborator: () =>
    allot.as(people.owner, oneOf(['PUT', 'DELETE']), `/repos/${oneOf(NAMES)}/collaborators/stranger`),
  star: () => allot.as(people.stranger, oneOf(['PUT', 'DELETE']), `/user/starred/${oneOf(NAMES)}`),
  follow: () => allot.as(people.mate, oneOf(['PUT', 'DELETE']), '/user/following/owner'),
  organization: () => allot.as(people.owner, 'PATCH', '/orgs/acme', { visibility: anyVisibility() }),
  user: () => allot.as(root, 'PATCH', '/admin/users/owner', { visibility: anyVisibility() }),
  profile: () => allot.as(root, 'PATCH', '/admin/users/mate', { full_name: `${random()}` }),
  administrator: () => allot.as(root, 'PATCH', '/admin/users/member', { admin: oneOf([true, false]) }),
  login: () => allot.as(root, 'PATCH', '/admin/users/stranger', { active: oneOf([true, false]) }),
  'name of a user': () => allot.allot.hosting.accounts.rename(people.mate.id, oneOf(['mate', 'renamed'])),
  ledger: () => entry(Math.floor(random() * 200)),
  'end of an entry': () => allot.allot.ledger.delete(ENTRY).catch(() => undefined),
  group: () => allot.as(root, oneOf(['PUT', 'DELETE']), '/admin/quota/groups/small/users/owner'),
  rule: () => allot.as(root, 'PATCH', '/admin/quota/rules/little', { limit: Math.floor(random() * 200) }),
  token: async () => {
    const { tokens } = allot.allot.hosting
    const { items } = await tokens.list(people.member.id, { offset: 0, limit: 50 })
    const [old] = items.filter(({ lastEight }) => spare.endsWith(lastEight))
    if (old !== undefined) await tokens.remove(people.member.id, old.id)
    else spare = await allot.scoped(people.member, oneOf(['all', 'read:user', 'read:repository']))
  },
}

const edit = (name: string, body: object) => allot.as(people.owner, 'PATCH', `/repos/${name}`, body)
const anyVisibility = () => oneOf(['public', 'limited', 'private'])
const ENTRY = { kind: 'artifacts', key: 'entry' } as const
const entry = (size: number) =>
  allot.allot.ledger
    .put({ ...ENTRY, repository: oneOf(['owner/other', 'acme/shared']), name: 'log', size, run: 1 })
    .catch(() => undefined)

interface Asked {
  readonly who: string
  readonly path: string
  readonly headers: Record<string, string>
}

const anyRequest = (viewers: typeof VIEWERS): Asked => {
  const who = oneOf(Object.keys(viewers))
  return { who, path: oneOf(PATHS), headers: viewers[who]!() }
}

const HEADERS = ['location', 'etag', 'link', 'x-total-count']

/** What a server says to each request, as one text. */
const said = (send: Send, asked: readonly Asked[]): Promise<string[]> =>
  Promise.all(
    asked.map(async ({ path, headers }) => {
      const { status, text, headers: sent } = await send('GET', path, { headers })
      return JSON.stringify([status, HEADERS.map((name) => sent.get(name)), text])
    }),
  )

/** The same, one request after the other. */
const inTurn = async (send: Send, asked: readonly Asked[]): Promise<string[]> => {
  const all: string[] = []
  for (const one of asked) all.push(...(await said(send, [one])))
  return all
}

const described = ({ who, path }: Asked) => `${who}: GET ${path}`

const repliesAsRead = async (viewers: typeof VIEWERS) => {
  const all = Object.keys(viewers).flatMap((who) =>
    PATHS.map((path) => ({ who, path, headers: viewers[who]!() })),
  )
  await said(cached, all)
  for (let step = 0; step < times(60, 600); step++) {
    const name = oneOf(Object.keys(CHANGES))
    const asked = Array.from({ length: 25 }, () => anyRequest(viewers))
    const earlier = await said(uncached, asked)
    const [, ...during] = await Promise.all([
      CHANGES[name]!(),
      ...Array.from({ length: 3 }, () => said(cached, asked)),
    ])
    const [later, last] = [await said(uncached, asked), await said(cached, asked)]
    for (const [at, one] of asked.entries()) {
      assert.equal(last[at], later[at], `${described(one)} after step ${step}, ${name}`)
      for (const replies of during)
        assert.ok(
          [earlier[at], later[at]].includes(replies[at]),
          `${described(one)} during step ${step}, ${name}: ${replies[at]}`,
        )
    }
  }
  const kept = await said(cached, all)
  assert.deepEqual(kept, await said(uncached, all))
  assert.deepEqual(await said(cached, all), kept)
  assert.ok(new Set(kept).size > PATHS.length, 'the viewers get different replies')
}

describe('A server that keeps replies', () => {
  before(() => open({}))
  after(stop)

  it('replies at each moment as one that reads all of them, while others write', () => repliesAsRead(VIEWERS))

  it('tells a query from the end of a path', async () => {
    const { owner } = people
    for (const name of ['a', 'ab']) await allot.person(name)
    for (const name of ['one', 'onetwo']) await made(owner, 'POST', '/user/repos', { name })
    const pairs = [
      ['/users/a?b', '/users/ab'],
      ['/users/a?/repos', '/users/a/repos'],
      ['/repos/owner/one?two', '/repos/owner/onetwo'],
      ['/repos/owner/one?three', '/repos/owner/onethree'],
    ] as const
    for (const [first, second] of pairs) {
      const asked = [first, second].map((path) => ({ who: 'nobody', path, headers: {} }))
      assert.deepEqual(await inTurn(cached, asked), await said(uncached, asked))
    }
  })
})

/** Whether the reply of a route is kept: then it asks for that before anything else. */
const isKept = async ({ handle }: (typeof routes)[number]): Promise<boolean> => {
  let isAsked = false
  const cached = async () => {
    isAsked = true
  }
  await handle({ params: {}, query: {}, page: {}, cached } as never, {} as never).catch(() => undefined)
  return isAsked
}

describe('Each route whose reply is kept', () => {
  it('is among PATHS of this file: add a path of it', async () => {
    const missing: string[] = []
    for (const route of routes.filter(({ method }) => method === 'GET')) {
      const pattern = new RegExp(`^${route.path.replaceAll(/\{\w+\}/g, '[^/]+')}(?:\\?|$)`)
      const isHere = PATHS.some((path) => pattern.test(path))
      if (!isHere && (await isKept(route))) missing.push(route.path)
    }
    assert.deepEqual(missing, [])
  })
})

describe('A server with the login of its host that keeps replies', () => {
  before(() => open({ authenticate }))
  after(stop)

  it('replies at each moment as one that reads all of them, while others write', () =>
    repliesAsRead({ ...VIEWERS, ...HOST_VIEWERS }))
})
