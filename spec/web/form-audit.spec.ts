import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Router } from '../../lib/http/router.ts'
import { pageRoutes } from '../../lib/web/page-routes.ts'
import { generateOpenPgpKey } from '../support/keygen.ts'
import { mountPages, start, type TestServer } from '../support/test-server.ts'
import { createPageClient, type FormFields } from './browser.ts'
import { PASSWORD, SSH_KEY } from './fixture.ts'

interface Entry {
  actor: { login: string }
  action: string
  subject: string
}
/** A form, and the actions that the log has of it when the administrator `boss` sends it. */
type Row = [path: string, fields: FormFields, ...(readonly [action: string, subject: string])[]]

const BOSS = { 'x-host-user': 'boss' }
const NOT_LOGGED = {}

/** Forms that users send about themselves, and about what they own. */
const OWN: readonly Row[] = [
  ['/-/account/tokens', { name: 'ci', scope: ['read:user'] }, ['token created', 'ann']],
  ['/-/account/revoke', { token: '1', confirmed: 'yes' }, ['token revoked', 'ann']],
  [
    '/-/settings',
    { fullName: 'Ann B', description: '', website: '', location: '' },
    ['account changed', 'ann'],
  ],
  ['/-/settings/keys/ssh', { title: 'laptop', key: SSH_KEY }],
  ['/-/settings/keys/gpg', { armored: await generateOpenPgpKey('ann@example.test') }],
  ['/-/settings/keys/delete', { kind: 'ssh', id: '1', confirmed: 'yes' }],
  ['/-/storage/ann/repositories/site/gc', {}],
  ['/-/storage/ann/remove', { item: 'repositories:1', confirmed: 'yes', confirmation: 'site' }],
]

const ACCOUNT = { kind: 'user', visibility: 'public' }

/** Forms of administrators. */
const ADMIN: readonly Row[] = [
  ['/-/admin/rules', { name: 'r', limit: '5', subject: ['size:all'] }, ['rule created', 'r']],
  ['/-/admin/rule', { name: 'r', limit: '7', subject: ['size:all'] }, ['rule changed', 'r']],
  ['/-/admin/groups', { name: 'g' }, ['group created', 'g']],
  ['/-/admin/group', { name: 'g', rule: ['r'] }, ['group changed', 'g']],
  ['/-/admin/group/members', { name: 'g', owner: 'ann' }, ['groups assigned', 'ann']],
  ['/-/admin/group/members', { name: 'g', remove: 'ann' }, ['groups assigned', 'ann']],
  ['/-/admin/owners', { owner: ['ann'], change: 'add', group: 'g' }, ['groups assigned', 'ann']],
  ['/-/admin/group/delete', { name: 'g', confirmed: 'yes' }, ['group deleted', 'g']],
  ['/-/admin/rule/delete', { name: 'r', confirmed: 'yes' }, ['rule deleted', 'r']],
  ['/-/admin/accounts/new', { ...ACCOUNT, name: 'eve' }, ['account created', 'eve']],
  ['/-/admin/account', { ...ACCOUNT, name: 'eve', fullName: 'Eve' }, ['account changed', 'eve']],
  ['/-/admin/account/active', { name: 'eve', active: '' }, ['account changed', 'eve']],
  ['/-/admin/account/password', { name: 'eve', password: PASSWORD }, ['password changed', 'eve']],
  ['/-/admin/account/password-link', { name: 'eve' }, ['password link created', 'eve']],
  ['/-/admin/account/token', { name: 'eve', token: 'ci', scope: ['read:user'] }, ['token created', 'eve']],
  ['/-/admin/account/delete', { name: 'eve', confirmation: 'eve' }, ['account deleted', 'eve']],
]

const startHost = (): Promise<TestServer> => {
  const authenticate = ({ headers }: { headers: NodeJS.Dict<string | string[]> }) =>
    headers['x-host-user'] === 'boss' ? { id: 'boss', admin: true } : { id: 'ann' }
  return start({ authenticate }, { mount: mountPages })
}

const CASES: readonly [title: string, rows: readonly Row[], headers: Record<string, string>][] = [
  ['is in the audit log when an administrator sends it with Sudo', OWN, { ...BOSS, sudo: 'ann' }],
  ['is not in the audit log when users send it about what is their own', OWN, NOT_LOGGED],
  ['is in the audit log when it is one for administrators', ADMIN, BOSS],
]

const router = new Router(pageRoutes)

describe('A form of a host that signs users in', () => {
  for (const [title, rows, headers] of CASES)
    it(title, async () => {
      const host = await startHost()
      await host.request('POST', '/user/repos', { body: { name: 'site' } })
      const log = async (): Promise<Entry[]> =>
        (await host.request('GET', '/admin/audit', { headers: BOSS })).body
      const browser = createPageClient(host.base)
      await browser.get('/-/settings', headers)
      for (const [path, fields, ...changes] of rows) {
        const { length } = await log()
        const { status, text } = await browser.post(path, fields, headers)
        assert.ok(status < 400, `${path}: ${status} ${text}`)
        const entries = (await log()).reverse().slice(length)
        assert.deepEqual(
          entries.map(({ actor, action, subject }) => [actor.login, action, subject]),
          headers === NOT_LOGGED ? [] : changes.map((change) => ['boss', ...change]),
          path,
        )
      }
    })

  it('is in OWN or ADMIN of this file, with what the log has of it', () =>
    assert.deepEqual(
      [...new Set([...OWN, ...ADMIN].map(([path]) => router.match('POST', path).route?.path))].sort(),
      pageRoutes.flatMap(({ method, path }) => (method === 'POST' ? [path] : [])).sort(),
    ))
})
