import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { SCOPES } from '../../lib/scopes.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { generateSshKey } from '../support/keygen.ts'
import { madeBefore, type Person } from '../support/test-server.ts'
import { type FormFields, startPages, words } from '../web/browser.ts'

let root: Person
const allot = madeBefore(() => startPages({ repositories: { directory: temporaryDirectory() } }))
before(async () => {
  root = allot.root
  const owner = await allot.person('owner')
  for (const name of ['bob', 'carol', 'dave', 'erin']) await allot.person(name)
  for (const [person, method, path, body] of [
    [root, 'POST', '/orgs', { username: 'acme' }],
    [owner, 'POST', '/orgs', { username: 'others' }],
    [root, 'POST', '/user/repos', { name: 'moved' }],
    [root, 'POST', '/user/repos', { name: 'forked', auto_init: true }],
    [owner, 'POST', '/user/repos', { name: 'open', auto_init: true }],
    [owner, 'POST', '/user/repos', { name: 'offered' }],
    [owner, 'POST', '/repos/owner/offered/transfer', { new_owner: 'acme' }],
  ] as const) {
    const { status, text } = await allot.as(person, method, path, body)
    assert.ok(status < 300, `${path}: ${text}`)
  }
})

/** Scopes that are not included in another scope, without `all`. */
const WIDEST = SCOPES.filter(
  (scope) =>
    scope !== 'all' && !SCOPES.some((one) => one === scope.replace(/^read:/, 'write:') && one !== scope),
)

/** Every scope but one: the most that a token can have without it. */
const without = (scope: string): string[] =>
  WIDEST.filter((one) => one !== scope && one !== scope.replace(/^read:/, 'write:'))

const key = () => generateSshKey('ed25519').key

const REQUESTS: [what: string, needed: string[], method: string, path: string, body: () => object][] = [
  [
    'an SSH key',
    ['write:user', 'write:repository'],
    'POST',
    '/user/keys',
    () => ({ title: 'a', key: key() }),
  ],
  [
    'a read-only SSH key',
    ['write:user', 'read:repository'],
    'POST',
    '/user/keys',
    () => ({ title: 'b', key: key(), read_only: true }),
  ],
  [
    'a token',
    ['write:user', 'read:issue', 'write:package'],
    'POST',
    '/users/root/tokens',
    () => ({ name: 'a', scopes: ['read:issue', 'write:package'] }),
  ],
  [
    'the token of another user',
    ['write:user', 'write:admin', 'read:issue'],
    'POST',
    '/users/bob/tokens',
    () => ({ name: 'a', scopes: ['read:issue'] }),
  ],
  [
    'a user with a password',
    ['all'],
    'POST',
    '/admin/users',
    () => ({ username: 'new1', password: 'passw0rd' }),
  ],
  ['a user without a password', ['write:admin'], 'POST', '/admin/users', () => ({ username: 'new2' })],
  ['the password of a user', ['all'], 'PATCH', '/admin/users/bob', () => ({ password: 'passw0rd' })],
  [
    'the password of the own account',
    ['all'],
    'PATCH',
    '/admin/users/root',
    () => ({ password: 'passw0rd' }),
  ],
  ['the right of an administrator', ['all'], 'PATCH', '/admin/users/bob', () => ({ admin: true })],
  ['no right', ['write:admin'], 'PATCH', '/admin/users/bob', () => ({ admin: false, full_name: 'Bob' })],
  [
    'a repository of an organization',
    ['write:organization'],
    'POST',
    '/orgs/acme/repos',
    () => ({ name: 'a' }),
  ],
  ['the same at the older path', ['write:organization'], 'POST', '/org/acme/repos', () => ({ name: 'b' })],
  [
    'a fork in an organization',
    ['write:repository', 'write:organization'],
    'POST',
    '/repos/root/forked/forks',
    () => ({ organization: 'acme' }),
  ],
  ['a fork of the own', ['write:repository'], 'POST', '/repos/owner/open/forks', () => ({})],
  [
    'an offer to an organization',
    ['write:repository', 'write:organization'],
    'POST',
    '/repos/root/forked/transfer',
    () => ({ new_owner: 'others' }),
  ],
  [
    'a transfer into an organization',
    ['write:repository', 'write:organization'],
    'POST',
    '/repos/root/moved/transfer',
    () => ({ new_owner: 'acme' }),
  ],
  [
    'an offer that is accepted for an organization',
    ['write:repository', 'write:organization'],
    'POST',
    '/repos/owner/offered/transfer/accept',
    () => ({}),
  ],
]

describe('A token', () => {
  for (const [what, needed, method, path, body] of REQUESTS)
    it(`that makes or changes ${what} needs ${needed.join(' and ')}: ${method} ${path}`, async () => {
      const send = async (scopes: string[]) =>
        allot.request(method, path, { token: await allot.scoped(root, ...scopes), body: body() })
      for (const scope of needed) {
        const { status, text } = await send(without(scope))
        assert.equal(status, 403, `${scope}: ${text}`)
        assert.ok(text.includes(scope), text)
      }
      const { status, text } = await send(needed)
      assert.ok(status < 300, text)
    })
})

const FORMS: [what: string, needed: string[], path: string, fields: () => FormFields][] = [
  [
    'an SSH key',
    ['write:user', 'write:repository'],
    '/-/settings/keys/ssh',
    () => ({ title: 'c', key: key() }),
  ],
  [
    'a read-only SSH key',
    ['write:user', 'read:repository'],
    '/-/settings/keys/ssh',
    () => ({ title: 'd', key: key(), readOnly: 'yes' }),
  ],
  ['a token', ['write:user', 'read:issue'], '/-/account/tokens', () => ({ name: 'c', scope: 'read:issue' })],
  [
    'the token of another user',
    ['write:admin', 'read:issue'],
    '/-/admin/account/token',
    () => ({ name: 'carol', token: 'c', scope: 'read:issue' }),
  ],
  [
    'the password of a user',
    ['all'],
    '/-/admin/account/password',
    () => ({ name: 'carol', password: 'passw0rd' }),
  ],
  ['a link that sets a password', ['all'], '/-/admin/account/password-link', () => ({ name: 'carol' })],
  [
    'the right of an administrator',
    ['all'],
    '/-/admin/account',
    () => ({ name: 'carol', visibility: 'public', email: '', admin: 'yes' }),
  ],
  ['a text', ['write:admin'], '/-/admin/account', () => ({ name: 'dave', visibility: 'public', email: '' })],
  [
    'a user with a password',
    ['all'],
    '/-/admin/accounts/new',
    () => ({ name: 'new3', visibility: 'public', password: 'passw0rd' }),
  ],
  [
    'an administrator',
    ['all'],
    '/-/admin/accounts/new',
    () => ({ name: 'new4', visibility: 'public', admin: 'yes' }),
  ],
  [
    'a user without a password',
    ['write:admin'],
    '/-/admin/accounts/new',
    () => ({ name: 'new5', visibility: 'public' }),
  ],
]

describe('A session of the pages that began with a token', () => {
  for (const [what, needed, path, fields] of FORMS)
    it(`and makes or changes ${what} needs ${needed.join(' and ')}: ${path}`, async () => {
      const send = async (scopes: string[]) => {
        const browser = await allot.signedIn('', await allot.scoped(root, ...scopes))
        return browser.post(path, fields())
      }
      for (const scope of needed) {
        const { status, text } = await send(without(scope))
        assert.ok(status === 403 || status === 422, `${scope}: ${status}`)
        assert.match(words(text), new RegExp(`scope.*${scope}`))
      }
      const { status, text } = await send(needed)
      assert.ok(status < 400, words(text))
    })
})
