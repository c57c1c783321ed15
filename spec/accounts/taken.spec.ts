import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { openAllot } from '../../lib/allot.ts'
import { generateOpenPgpKey, generateSshKey } from '../support/keygen.ts'

const allot = await openAllot({ driver: memory(), repositories: false })
after(() => allot.close())
const { accounts, organizations, repositories, tokens, sshKeys, gpgKeys, quota, hosting } = allot

const ann = await accounts.createUser({ name: 'ann', email: 'ann@example.org' })
const bob = await accounts.createUser({ name: 'bob' })
const { id: acme } = await organizations.create(ann.id, { name: 'acme' })
const owner = { id: ann.id, username: 'ann', admin: false, scopes: new Set(['all'] as const) }
const team = { description: '', permission: 'read', allRepositories: true } as const
const app = await repositories.create(ann, ann, { name: 'app' })
await repositories.create(ann, ann, { name: 'library' })
await tokens.create(ann.id, 'ci', ['all'])
const { key } = generateSshKey('ed25519')
await sshKeys.add(ann.id, { title: 'laptop', key })
const armored = await generateOpenPgpKey('ann@example.org')
await gpgKeys.add(ann.id, { armored })
await hosting.teams.create(owner, 'acme', { name: 'staff', ...team })
const small = { name: 'small', limit: 1, subjects: ['size:all'] } as const
await quota.rules.create(small)
await quota.groups.create({ name: 'free', rules: [] })

/** Calls of services for what another record has, and the member that the error names. */
const TAKEN: [what: string, call: () => Promise<unknown>, field: string][] = [
  ['the name of a user', () => accounts.createUser({ name: 'ANN' }), 'name'],
  [
    'the name of a user, with a password',
    () => accounts.createUser({ name: 'ann', password: 'a long one' }),
    'name',
  ],
  ['the address of a user', () => accounts.createUser({ name: 'eve', email: 'Ann@example.org' }), 'email'],
  ['the address of a user, in an edit', () => accounts.edit(bob.id, { email: 'ann@example.org' }), 'email'],
  ['the name of a user, in a renaming', () => accounts.rename(acme, 'ann'), 'name'],
  ['the name of a user, for an organization', () => organizations.create(ann.id, { name: 'bob' }), 'name'],
  ['the name of a team', () => hosting.teams.create(owner, 'acme', { name: 'STAFF', ...team }), 'name'],
  ['the name of a repository', () => repositories.create(ann, ann, { name: 'App' }), 'name'],
  ['the name of a repository, in an edit', () => repositories.edit(app.id, { name: 'library' }), 'name'],
  ['the name of a token', () => tokens.create(ann.id, 'ci', ['all']), 'name'],
  ['an SSH key', () => sshKeys.add(ann.id, { title: 'other', key }), 'key'],
  [
    'the title of an SSH key',
    () => sshKeys.add(ann.id, { title: 'laptop', key: generateSshKey('ed25519').key }),
    'title',
  ],
  ['a GPG key', () => gpgKeys.add(ann.id, { armored }), 'armored'],
  ['the name of a rule', () => quota.rules.create(small), 'name'],
  ['the name of a group', () => quota.groups.create({ name: 'free', rules: [] }), 'name'],
]

describe('A service refuses as a conflict, and not as invalid, what is taken:', () => {
  for (const [what, call, field] of TAKEN)
    it(what, () => assert.rejects(call, { name: 'AllotError', code: 'conflict', field }))
})
