import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { before, describe, it } from 'node:test'
import { routes } from '../../lib/api/index.ts'
import type { Route } from '../../lib/http/index.ts'
import { type Person, startBefore } from '../support/test-server.ts'
import { filled, MARK } from './filled.ts'

let alice: Person
let outsider: Person
let hidden: Person

const made: typeof allot.done = (...sent) => allot.done(...sent)

/** Public content of every kind, by a member of the organization who hides afterwards. */
const allot = startBefore({ repositories: false, webhooks: true })
before(async () => {
  ;[alice, outsider] = [await allot.person('alice'), await allot.person('outsider')]
  hidden = await allot.person(`${MARK}-user`, { email: `${MARK}@example.test` })
  await made(alice, 'POST', '/orgs', { username: 'acme' })
  await made(alice, 'PUT', `/orgs/acme/members/${hidden.name}`)
  await made(hidden, 'POST', '/orgs/acme/repos', { name: 'open' })
  const at = '/repos/acme/open'
  await made(hidden, 'POST', `${at}/issues`, { title: 'crash' })
  await made(hidden, 'POST', `${at}/issues/1/comments`, { body: 'again' })
  await made(hidden, 'POST', `${at}/releases`, { tag_name: 'v1' })
  for (const target of ['issues/1', 'issues/comments/1', 'releases/1'])
    await allot.attach(hidden, `${at}/${target}`, 'x', 'screen.png')
  const viewer = { id: hidden.id, admin: false }
  const version = { owner: 'acme', type: 'generic', name: 'tool', version: '1' }
  await allot.allot.hosting.packages.add(viewer, version, 'file', Readable.from([Buffer.from('x')]))
  await made(hidden, 'PUT', '/user/starred/acme/open')
  await made(hidden, 'PUT', '/user/following/alice')
  const profile = { full_name: `${MARK} full`, description: MARK, visibility: 'private' }
  await made(allot.root, 'PATCH', `/admin/users/${hidden.name}`, profile)
})

const gets = (routes as unknown as Route<never, never>[]).filter(
  ({ method, auth }) => method === 'GET' && auth !== 'admin',
)

/** Responses that name the author of something. */
const NAMED: [path: string, of: (body: never) => { login: string; full_name: string; id: number }][] = [
  ['/repos/acme/open/issues', ([one]: [{ user: never }]) => one.user],
  ['/repos/acme/open/issues/1', ({ user }: { user: never }) => user],
  ['/repos/acme/open/issues/1/comments', ([one]: [{ user: never }]) => one.user],
  ['/repos/acme/open/issues/comments/1', ({ user }: { user: never }) => user],
  ['/repos/acme/open/issues/comments', ([one]: [{ user: never }]) => one.user],
  ['/repos/acme/open/issues/1/timeline', ([one]: [{ user: never }]) => one.user],
  ['/repos/acme/open/releases', ([one]: [{ author: never }]) => one.author],
  ['/repos/acme/open/releases/1', ({ author }: { author: never }) => author],
  ['/repos/acme/open/releases/latest', ({ author }: { author: never }) => author],
  ['/packages/acme', ([one]: [{ creator: never }]) => one.creator],
  ['/packages/acme/generic/tool/1', ({ creator }: { creator: never }) => creator],
]

describe('A user whom the viewer may not see', () => {
  for (const [who, of] of [
    ['somebody who has not signed in', () => undefined],
    ['another user', () => outsider],
    ['an owner of the repository', () => alice],
  ] as const)
    it(`is in no response to a GET of ${who}, whatever the user has created`, async () => {
      for (const route of gets)
        for (const path of filled(route.path).filter((one) => !one.includes(MARK))) {
          const { text } = await allot.as(of(), 'GET', path)
          assert.ok(!text.includes(MARK), `${path}: ${text}`)
        }
    })

  for (const [path, of] of NAMED)
    it(`is Ghost in ${path}, and is named to administrators and to the user`, async () => {
      const named = async (who: Person | undefined) => of((await allot.as(who, 'GET', path)).body as never)
      for (const who of [undefined, outsider, alice]) {
        const { login, full_name, id } = await named(who)
        assert.deepEqual([login, full_name, id], ['Ghost', '', -1])
      }
      for (const who of [hidden, allot.root]) assert.equal((await named(who)).login, hidden.name)
    })

  it("is Ghost also in the response to another user's change", async () => {
    const edited = await allot.as(alice, 'PATCH', '/repos/acme/open/issues/1', { title: 'crashes' })
    assert.deepEqual([edited.status, edited.body.user.login], [201, 'Ghost'])
  })

  it('is named again after becoming visible', async () => {
    await made(allot.root, 'PATCH', `/admin/users/${hidden.name}`, { visibility: 'limited' })
    for (const [path, of] of NAMED) {
      const login = async (who?: Person) => of((await allot.as(who, 'GET', path)).body as never).login
      assert.deepEqual([await login(), await login(outsider)], ['Ghost', hidden.name])
    }
  })
})
