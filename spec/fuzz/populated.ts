import { Readable } from 'node:stream'
import type { OpenAllot } from '../../lib/allot.ts'
import { generateOpenPgpKey, generateSshKey } from '../support/keygen.ts'

/** The populated server has `keys`; requests can add those of `another`. */
const keys = { ssh: generateSshKey('ed25519').key, gpg: await generateOpenPgpKey('alice@example.test') }
const another = { ssh: generateSshKey('ecdsa', 256).key, gpg: await generateOpenPgpKey('other@example.test') }

/** Values that exist on the populated server or that it accepts, by the name of the parameter or member. */
export const KNOWN_VALUES: Readonly<Record<string, readonly string[]>> = {
  username: ['alice', 'ALICE', ':alice', ':username', 'bob', 'acme', 'shy', 'fresh'],
  target: ['alice', ':target', 'bob', ':bob'],
  owner: ['alice', 'acme', 'shy'],
  new_owner: ['acme', 'bob', 'alice'],
  org: ['acme', 'Acme', 'alice'],
  index: ['1', '2', '3'],
  attachment_id: ['1', '2'],
  tag: ['v1', 'v2', 'a/b'],
  tag_name: ['v1', 'v3', 'a b', 'a/b'],
  state: ['open', 'closed', 'all', ''],
  type: ['issues', 'pulls', ''],
  created_by: ['alice', 'bob', 'nobody'],
  q: ['crash', 'a', 'crash login'],
  repo: ['demo', 'secret', 'shared', 'Demo'],
  reponame: ['demo', 'secret', 'shared'],
  repository: ['alice/demo', 'alice/secret', 'acme/shared', 'acme'],
  name: ['fresh', 'demo', 'small', 'free', 'spec'],
  id: ['1', '2', '3'],
  token: ['spare', '2', '3'],
  kind: ['attachments', 'artifacts', 'packages', 'lfs'],
  key: ['a1', 'p1', 'l1', 'fresh', another.ssh],
  armored_public_key: [another.gpg, keys.gpg],
  quotarule: ['small', 'much', 'a/b'],
  quotagroup: ['free', 'bare'],
  groups: ['free', 'bare'],
  rules: ['small', 'much'],
  defaultGroups: ['free', 'bare'],
  email: ['fresh@example.test', ''],
  scopes: ['all', 'read:user', 'write:repository'],
  within: ['20%', '0%', '100%'],
  subject: ['size:all', 'size:git:lfs'],
  license: ['MIT'],
  gitignores: ['Go', 'Node,Go'],
  readme: ['Default'],
  Mode: ['gfm', 'markdown', 'comment'],
  Context: ['alice/demo', '/alice/demo'],
  Text: ['**x** @alice #1', '- [ ] x\n\n|a|\n|-|\n|b|'],
  uid: ['1', '2'],
}

/** Ids and tokens of the users. */
export interface People {
  alice: { id: number; token: string }
  bob: { id: number; token: string }
}

/** Creates users, an organization, repositories, relations, keys, rules, groups and ledger entries. */
export const populate = async ({ hosting, quota, ledger }: OpenAllot): Promise<People> => {
  const alice = await hosting.accounts.createUser({ name: 'alice', email: 'alice@example.test' })
  const bob = await hosting.accounts.createUser({ name: 'bob' })
  const shy = await hosting.accounts.createUser({ name: 'shy', visibility: 'private' })
  const acme = await hosting.organizations.create(alice.id, { name: 'acme' })
  await hosting.organizations.setMember(acme.id, bob.id)
  await hosting.repositories.create(alice, alice, { name: 'demo', description: 'a demo' })
  await hosting.repositories.create(alice, alice, { name: 'secret', private: true })
  await hosting.repositories.create(acme, alice, { name: 'shared' })
  await hosting.repositories.create(shy, shy, { name: 'demo' })
  await relate(hosting, [alice, bob])
  await discuss(hosting, [alice, bob])
  await hosting.sshKeys.add(alice.id, { title: 'laptop', key: keys.ssh })
  await hosting.gpgKeys.add(alice.id, { armored: keys.gpg })
  await quota.apply(PLAN)
  for (const entry of ENTRIES) await ledger.put(entry)
  for (const { id } of [alice, bob]) await hosting.tokens.create(id, 'spare', ['read:user'])
  const tokenOf = async ({ id }: Account) => (await hosting.tokens.create(id, 'spec', ['all'])).secret
  return {
    alice: { id: alice.id, token: await tokenOf(alice) },
    bob: { id: bob.id, token: await tokenOf(bob) },
  }
}

type Account = Awaited<ReturnType<OpenAllot['hosting']['accounts']['createUser']>>

const relate = async ({ relations }: OpenAllot['hosting'], [alice, bob]: readonly [Account, Account]) => {
  await relations.follows.follow(alice, 'bob')
  await relations.follows.follow(bob, 'alice')
  for (const user of [alice, bob]) await relations.stars.set(user, { owner: 'acme', name: 'shared' })
  await relations.watches.set(bob, { owner: 'alice', name: 'demo' })
}

const discuss = async (
  { issues, comments, releases, attachments }: OpenAllot['hosting'],
  [alice, bob]: readonly [Account, Account],
) => {
  const demo = { owner: 'alice', name: 'demo' }
  await issues.create(alice, demo, { title: 'crash after login' })
  await issues.create(bob, demo, { title: 'slow', closed: true })
  await comments.create(bob, demo, 1, 'here too')
  await releases.create(alice, demo, { tag: 'v1' })
  await releases.create(alice, demo, { tag: 'v2', draft: true })
  for (const on of [{ issue: 1 }, { comment: 1 }, { release: 1 }]) {
    const content = Readable.from([Buffer.from('content')], { objectMode: false })
    await attachments.add(alice, demo, on, { name: 'a.txt', content, maxSize: 100 })
  }
}

const PLAN: Parameters<OpenAllot['quota']['apply']>[0] = {
  rules: [
    { name: 'small', limit: 10, subjects: ['size:all'] },
    { name: 'much', limit: -1, subjects: ['size:git:all', 'size:git:lfs'] },
    { name: 'a/b', limit: 0, subjects: [] },
  ],
  groups: [
    { name: 'free', rules: ['small'] },
    { name: 'bare', rules: [] },
  ],
  assignments: { alice: ['free'], acme: ['free', 'bare'] },
}

const THING = { repository: 'alice/demo', name: 'thing', size: 7 }
const ENTRIES: readonly Parameters<OpenAllot['ledger']['put']>[0][] = [
  { kind: 'attachments', key: 'a1', ...THING, on: 'issue', index: 1 },
  { kind: 'artifacts', key: 'a1', ...THING, run: 3 },
  { kind: 'packages', key: 'p1', owner: 'acme', name: 'thing', size: 9, type: 'npm', version: '1' },
  { kind: 'lfs', key: 'l1', repository: 'acme/shared', name: 'thing', size: 40 },
]
