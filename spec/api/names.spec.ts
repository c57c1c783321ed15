import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { assertError, assertList } from '../support/expectations.ts'
import { type Answer, peopleBefore, startBefore } from '../support/test-server.ts'

/** Pairs of names that share a key, or run into each other, unless keys of long strings are escaped. */
const [NUL, PAIR] = ['\0'.repeat(63), '\x04\0'.repeat(63)]
const [G, N, Z] = ['g', 'n', 'z'].map((one) => one.repeat(64)) as [string, string, string]

const allot = startBefore({ repositories: false })
const [alice] = peopleBefore(allot, 'alice')
before(async () => {
  await allot.as(alice, 'POST', '/user/repos', { name: 'demo' })
})

const asRoot = (method: string, path: string, body?: unknown) => allot.as(allot.root, method, path, body)
const ledger = (kind: string, key: string, name: string, size = 5) =>
  asRoot('PUT', `/admin/ledger/${kind}/${encodeURIComponent(key)}`, { repository: 'alice/demo', name, size })
const used = async () => (await allot.allot.quota.info('alice')).used.size

describe('A control character', () => {
  for (const character of ['\0', '\x04', '\x1f', '\n', '\x7f', '\x85', '\x1b'])
    it(`such as U+${character.charCodeAt(0).toString(16).padStart(4, '0')} is refused in the names of rules, groups, tokens and ledger keys`, async () => {
      const name = `a${character}b`
      const rule = { name, limit: 1, subjects: [] }
      const named = /^name: must not have control characters/
      assertError(await asRoot('POST', '/admin/quota/rules', rule), 422, named)
      assertError(await asRoot('POST', '/admin/quota/groups', { name, rules: [] }), 422, named)
      assertError(await asRoot('POST', '/admin/quota/groups', { name: 'x', rules: [rule] }), 422, named)
      for (const plan of [{ rules: [rule] }, { groups: [{ name, rules: [] }] }])
        for (const path of ['apply', 'simulate'])
          assertError(await asRoot('POST', `/admin/quota/${path}`, plan), 422, named)
      assertError(await asRoot('POST', '/users/alice/tokens', { name, scopes: ['all'] }), 422, named)
      assertError(await ledger('lfs', name, 'x'), 422, /^key: must not have control characters/)
      const { quota, hosting, ledger: host } = allot.allot
      const refused = (pending: Promise<unknown>) =>
        assert.rejects(pending, { code: 'invalid', message: /control/ })
      await refused(quota.rules.create({ name, limit: 1, subjects: [] }))
      await refused(quota.groups.create({ name }))
      await refused(quota.apply({ rules: [{ name, limit: 1, subjects: [] }] }))
      await refused(hosting.tokens.create(alice.id, name, ['all']))
      await refused(host.put({ kind: 'lfs', key: name, repository: 'alice/demo', name: 'x', size: 1 }))
      assertList(await asRoot('GET', '/admin/quota/rules'), 'name', [])
      assertList(await asRoot('GET', '/admin/quota/groups'), 'name', [])
    })
})

describe('A name that stands in a path', () => {
  const CREATED: Record<string, (name: string) => Promise<Answer>> = {
    rule: (name) => asRoot('POST', '/admin/quota/rules', { name, limit: 1, subjects: [] }),
    group: (name) => asRoot('POST', '/admin/quota/groups', { name, rules: [] }),
    'group of a plan': (name) => asRoot('POST', '/admin/quota/apply', { groups: [{ name, rules: [] }] }),
    token: (name) => asRoot('POST', '/users/alice/tokens', { name, scopes: ['all'] }),
    user: (name) => asRoot('POST', '/admin/users', { username: name }),
    organization: (name) => asRoot('POST', '/orgs', { username: name }),
    team: (name) => asRoot('POST', '/orgs/dots/teams', { name, units: ['repo.code'] }),
    repository: (name) => asRoot('POST', '/user/repos', { name }),
    'ledger key': (key) =>
      allot.request('POST', '/admin/ledger', {
        token: allot.root.token,
        headers: { 'content-type': 'application/x-ndjson' },
        body: JSON.stringify({ op: 'put', kind: 'lfs', key, repository: 'alice/demo', name: 'x', size: 1 }),
      }),
  }
  before(() => asRoot('POST', '/orgs', { username: 'dots' }))

  for (const [what, create] of Object.entries(CREATED))
    it(`is not . or .., which clients take out of a path: ${what}`, async () => {
      for (const name of ['.', '..']) assertError(await create(name), 422)
    })

  it('is reached when it is made of other dots, or looks percent-encoded', async () => {
    for (const name of ['...', '.x', '%2e', '%2e%2e'])
      for (const [what, path] of [
        ['rule', '/admin/quota/rules'],
        ['group', '/admin/quota/groups'],
      ] as const) {
        assert.equal((await CREATED[what]!(name)).status, 201, name)
        assert.equal((await asRoot('GET', `${path}/${encodeURIComponent(name)}`)).body.name, name)
        assert.equal((await asRoot('DELETE', `${path}/${encodeURIComponent(name)}`)).status, 204)
      }
  })
})

describe('Two names of 64 characters and more', () => {
  it('are kept apart: a ledger entry does not replace an entry with another key', async () => {
    const before = await used()
    assertError(await ledger('lfs', NUL, 'x', 1000), 422, /^key: /)
    assertError(await ledger('lfs', PAIR, 'x', 7), 422, /^key: /)
    assert.deepEqual(await used(), before)
    for (const [key, size] of [
      ['\u0600'.repeat(63), 1000],
      ['\u0604\u0600'.repeat(31), 7],
    ] as const)
      assert.equal((await ledger('lfs', key, 'x', size)).status, 201)
    assert.equal((await used()).git.LFS, Number(before.git.LFS) + 1007)
  })

  it('are listed separately, whatever characters the names of artifacts have', async () => {
    assertError(await ledger('artifacts', `y\0artifacts\0${Z}`, N), 422, /^key: /)
    const names = [`${N}\0artifacts\0y`, N, `${N}\0`, `${N}\x04\0`, `${N}\x01artifacts\x01y`]
    for (const [index, name] of names.entries())
      assert.equal((await ledger('artifacts', `${Z}${index}`, name)).status, 201)
    const listed = () => allot.as(alice, 'GET', '/user/quota/artifacts')
    const all = await listed()
    assert.deepEqual([all.headers.get('x-total-count'), all.body.length], ['5', 5])
    await asRoot('DELETE', `/admin/ledger/artifacts/${Z}0`)
    const rest = await listed()
    assert.deepEqual([rest.headers.get('x-total-count'), rest.body.length], ['4', 4])
    assert.deepEqual(
      rest.body.map(({ name }: { name: string }) => name),
      [N, `${N}\0`, `${N}\x01artifacts\x01y`, `${N}\x04\0`],
    )
  })

  it('of groups have separate members', async () => {
    const longer = `${G} h`
    for (const name of [G, longer]) await asRoot('POST', '/admin/quota/groups', { name, rules: [] })
    assertError(await asRoot('POST', '/admin/quota/groups', { name: `${G}\0h`, rules: [] }), 422, /^name: /)
    await asRoot('PUT', `/admin/quota/groups/${encodeURIComponent(longer)}/users/alice`)
    assertList(await asRoot('GET', `/admin/quota/groups/${G}/users`), 'login', [])
    assertList(await asRoot('GET', `/admin/quota/groups/${encodeURIComponent(longer)}/users`), 'login', [
      'alice',
    ])
  })

  it('of tokens are kept apart, and refused when they have control characters', async () => {
    for (const name of [NUL, PAIR])
      assertError(
        await allot.as(alice, 'POST', '/users/alice/tokens', { name, scopes: ['all'] }),
        422,
        /^name: /,
      )
    for (const name of ['t'.repeat(64), `${'t'.repeat(64)} u`])
      assert.equal(
        (await allot.as(alice, 'POST', '/users/alice/tokens', { name, scopes: ['all'] })).status,
        201,
      )
  })

  it('of repositories are refused without a lookup when they are too long', async () => {
    assertError(
      await allot.as(alice, 'PATCH', '/repos/alice/demo', { name: 'x'.repeat(9000) }),
      422,
      /^name: must have 1 to 100/,
    )
  })
})
