import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertError, assertList, assertNoContent, assertNotFound } from '../support/expectations.ts'
import { startBefore } from '../support/test-server.ts'

const allot = startBefore({ repositories: false })

const asRoot = (method: string, path: string, body?: unknown) =>
  allot.request(method, path, { token: allot.root.token, ...(body === undefined ? {} : { body }) })

let made = 0
const aRule = async (limit = 1000) => {
  const name = `rule ${++made}`
  assert.equal(
    (await asRoot('POST', '/admin/quota/rules', { name, limit, subjects: ['size:all'] })).status,
    201,
  )
  return name
}
const aGroup = async (...rules: string[]) => {
  const name = `group ${++made}`
  const body = { name, rules: rules.map((rule) => ({ name: rule })) }
  assert.equal((await asRoot('POST', '/admin/quota/groups', body)).status, 201)
  return { name, path: `/admin/quota/groups/${encodeURIComponent(name)}` }
}

describe('POST /admin/quota/groups', () => {
  it('takes rules by name, among whole rules', async () => {
    const known = await aRule(5)
    const fresh = { name: 'by name', limit: 7, subjects: ['size:git:lfs'] }
    const rules = [known, { name: 'no subjects', limit: 1 }, fresh]
    const { status, body } = await asRoot('POST', '/admin/quota/groups', { name: 'named', rules })
    assert.equal(status, 201)
    assert.deepEqual(body.rules, [
      { name: known, limit: 5, subjects: ['size:all'] },
      { name: 'no subjects', limit: 1, subjects: [] },
      fresh,
    ])
  })

  const BAD: [what: string, body: unknown, message: RegExp][] = [
    ['no name', { rules: [] }, /Name is required/],
    ['an empty name', { name: '' }, /^name: /],
    ['a rule without a name', { name: 'bad', rules: [{ limit: 5 }] }, /rules\[0\]\.name/i],
    [
      'an unknown rule without a limit',
      { name: 'bad', rules: [{ name: 'new', limit: 1 }, { name: 'unknown' }] },
      /there is no rule named unknown: give a limit to create it/,
    ],
    ['the name of an unknown rule', { name: 'bad', rules: ['unknown'] }, /there is no rule named unknown/],
    [
      'the empty name of a rule',
      { name: 'bad', rules: [''] },
      /^rules\[0\]: must have at least 1 character$/,
    ],
    [
      'a number for a rule',
      { name: 'bad', rules: [5] },
      /^rules\[0\]: expected a string or a JSON object, received the number 5/,
    ],
    [
      'a rule with a wrong limit',
      { name: 'bad', rules: [{ name: 'new', limit: '1' }] },
      /^rules\[0\]\.limit: /,
    ],
    ['a rule by name and whole', { name: 'bad', rules: [{ name: 'new', limit: 1 }, 'new'] }, /twice/],
    ['the same rule twice', { name: 'bad', rules: [{ name: 'new', limit: 1 }, { name: 'new' }] }, /twice/],
    [
      'an unknown subject',
      { name: 'bad', rules: [{ name: 'new', limit: 1, subjects: ['x'] }] },
      /rules\[0\]\.subjects\[0\]/,
    ],
    ['rules that are not an array', { name: 'bad', rules: 'new' }, /^rules: /],
  ]
  for (const [what, body, message] of BAD)
    it(`answers 422 to ${what}, and creates neither the group nor a rule`, async () => {
      assertError(await asRoot('POST', '/admin/quota/groups', body), 422, message)
      assertNotFound(await asRoot('GET', '/admin/quota/groups/bad'))
      assertNotFound(await asRoot('GET', '/admin/quota/rules/new'))
    })
})

describe('A quota group', () => {
  it('is assigned to users and organizations, and applies to them at once', async () => {
    const alice = await allot.person()
    await allot.allot.hosting.organizations.create(alice.id, { name: 'acme' })
    const { path } = await aGroup(await aRule(0))
    for (const who of [alice.name.toUpperCase(), 'acme'])
      assertNoContent(await asRoot('PUT', `${path}/users/${who}`))
    assertError(await asRoot('PUT', `${path}/users/acme`), 409, /already/)
    assertList(await asRoot('GET', `${path}/users`), 'login', [alice.name, 'acme'])
    assertList(await asRoot('GET', `${path}/users?limit=1&page=2`), 'login', ['acme'], 2)
    const check = async (of: string) =>
      (await allot.request('GET', `${of}/quota/check?subject=size:all`, { token: alice.token })).body
    assert.deepEqual([await check('/user'), await check('/orgs/acme')], [true, true])
    assertNoContent(await asRoot('DELETE', `${path}/users/${alice.name}`))
    assertNotFound(await asRoot('DELETE', `${path}/users/${alice.name}`))
    assert.deepEqual([await check('/user'), await check('/orgs/acme')], [false, true])
    await asRoot('DELETE', path)
    assert.equal(await check('/orgs/acme'), false)
    assertNotFound(await asRoot('PUT', `${path}/users/${alice.name}`))
    assertNotFound(await asRoot('GET', `${path}/users`))
    assertNotFound(await asRoot('PUT', '/admin/quota/groups/both/users/nobody'))
  })
})

describe('POST /admin/users/{username}/quota/groups', () => {})

describe("An organization's quota", () => {
  it('is shown to its owners and to administrators', async () => {
    const [owner, member, other] = [await allot.person(), await allot.person(), await allot.person()]
    await allot.request('POST', '/orgs', { token: owner.token, body: { username: 'owned' } })
    await allot.request('PUT', `/orgs/owned/members/${member.name}`, { token: owner.token })
    await allot.request('POST', '/org/owned/repos', { token: owner.token, body: { name: 'demo' } })
    const entry = { repository: 'owned/demo', name: 'a', size: 5, run: 1 }
    await asRoot('PUT', '/admin/ledger/artifacts/of-org', entry)
    await asRoot('PUT', '/admin/ledger/attachments/of-org', { ...entry, on: 'issue', index: 1 })
    await asRoot('PUT', '/admin/ledger/packages/of-org', { ...entry, type: 'npm', version: '1' })
    for (const token of [owner.token, allot.root.token]) {
      const ask = (path: string) => allot.request('GET', `/orgs/OWNED/quota${path}`, { token })
      assert.equal((await ask('')).body.used.size.assets.artifacts, 5)
      assert.equal((await ask('/check?subject=size:all')).body, false)
      assert.equal((await ask('/explain?subject=size:assets:artifacts')).body.used, 5)
      for (const list of ['attachments', 'packages', 'artifacts'])
        assertList(await ask(`/${list}`), 'size', [5])
    }
    for (const path of [
      '',
      '/check?subject=size:all',
      '/explain?subject=size:all',
      '/attachments',
      '/packages',
      '/artifacts',
    ]) {
      for (const who of [member, other])
        assertError(
          await allot.request('GET', `/orgs/owned/quota${path}`, { token: who.token }),
          403,
          /owner/,
        )
      assertError(await allot.request('GET', `/orgs/owned/quota${path}`), 401)
      assertNotFound(await asRoot('GET', `/orgs/nothing/quota${path}`))
    }
    for (const path of [
      'check?subject=x',
      'check',
      'explain?subject=',
      'attachments?page=-1',
      'packages?limit=x',
      'artifacts?page=-1',
    ])
      assertError(await asRoot('GET', `/orgs/owned/quota/${path}`), 422)
  })
})

describe('GET /user/quota/explain', () => {
  it('reports the usage, the binding rule and limit, the bytes left, and the state of each group and rule', async () => {
    const alice = await allot.person()
    await allot.request('POST', '/user/repos', { token: alice.token, body: { name: 'demo' } })
    await asRoot('PUT', '/admin/ledger/lfs/explained', {
      repository: `${alice.name}/demo`,
      name: 'x',
      size: 30,
    })
    const [tight, loose] = [await aRule(20), await aRule(100)]
    for (const group of [await aGroup(tight), await aGroup(loose)])
      await asRoot('PUT', `${group.path}/users/${alice.name}`)
    const path = '/quota/explain?subject=size:git:lfs'
    const own = (await allot.request('GET', `/user${path}`, { token: alice.token })).body
    assert.deepEqual(
      [own.subject, own.over, own.used, own.limit, own.left],
      ['size:git:lfs', false, 30, 100, 70],
    )
    const rule = (limit: number, stands: boolean) => ({
      limit,
      subjects: ['size:all'],
      covers: true,
      stands,
      used: 30,
      left: limit - 30,
    })
    assert.deepEqual(own.groups, [
      { limits: true, stands: false, rules: [rule(20, false)] },
      { limits: true, stands: true, rules: [rule(100, true)] },
    ])
    const named = (await asRoot('GET', `/admin/users/${alice.name}${path}`)).body
    assert.deepEqual(
      named.groups.map((group: { rules: { name: string }[] }) => group.rules[0]!.name),
      [tight, loose],
    )
    assert.deepEqual([named.rule, own.rule], [loose, undefined], 'only administrators get names')
    const nothing = (await allot.request('GET', `/user${path}`, { token: allot.root.token })).body
    assert.deepEqual(nothing, {
      subject: 'size:git:lfs',
      over: false,
      used: 0,
      rule: null,
      limit: null,
      left: null,
      groups: [],
    })
    for (const of of ['/user', `/admin/users/${alice.name}`]) {
      assertError(await asRoot('GET', `${of}/quota/explain?subject=none`), 422)
    }
    assertNotFound(await asRoot('GET', '/admin/users/nobody/quota/explain?subject=size:all'))
  })

  it('explains the subject with the fewest bytes left when no subject is named', async () => {
    const { name, token } = await allot.person()
    const explained = async () => (await allot.request('GET', '/user/quota/explain', { token })).body
    assert.deepEqual([(await explained()).subject, (await explained()).limit], ['size:all', null])
    const rules = [
      { name: `${name}-all`, limit: 1000, subjects: ['size:all'] },
      { name: `${name}-packages`, limit: 10, subjects: ['size:assets:packages:all'] },
    ]
    await asRoot('POST', '/admin/quota/groups', { name, rules })
    await asRoot('PUT', `/admin/quota/groups/${name}/users/${name}`)
    const entry = { owner: name, name: 'p', size: 30, type: 'npm', version: '1' }
    await asRoot('PUT', `/admin/ledger/packages/of-${name}`, entry)
    const { subject, over, left } = await explained()
    assert.deepEqual([subject, over, left], ['size:assets:packages:all', true, -20])
    const byName = (await asRoot('GET', `/admin/users/${name}/quota/explain`)).body
    assert.equal(byName.rule, `${name}-packages`)
    assert.deepEqual(await allot.allot.quota.explain(name), byName)
  })
})
