import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { QuotaRule, Subject } from '../../lib/index.ts'
import { start, startBefore } from '../support/test-server.ts'

const allot = startBefore({ repositories: false })

const rule = { name: 'r', limit: 1, subjects: ['size:all'] } satisfies QuotaRule
const wrongly = (given: object) => ({ ...rule, ...given }) as unknown as QuotaRule

const BAD: [what: string, rule: QuotaRule, message: RegExp][] = [
  [
    'an unknown subject',
    wrongly({ subjects: ['size:all', 'size:everything'] }),
    /^subjects\[1\]: unknown subject "size:everything"/,
  ],
  ['what every object has for a subject', wrongly({ subjects: ['constructor'] }), /^subjects\[0\]: /],
  ['subjects that are not a list', wrongly({ subjects: 'size:all' }), /^subjects: /],
  ['too many subjects', wrongly({ subjects: Array(101).fill('size:all') }), /^subjects: /],
  ...[1.5, 2 ** 53, Number.NaN, null, true, '', '1', '-1', '2 GB', '2gib', '1,5 GiB', '8 PiB'].map(
    (limit): [string, QuotaRule, RegExp] => [
      `the limit ${JSON.stringify(limit)}`,
      wrongly({ limit }),
      /^limit: expected bytes, as a whole number or as in "2 GiB", received /,
    ],
  ),
  ['no name', wrongly({ name: '' }), /^name: /],
  ['half a character for a name', wrongly({ name: '\ud800' }), /^name: /],
  ['a name of 256 characters', wrongly({ name: 'x'.repeat(256) }), /^name: /],
]

describe('A host that keeps rules in process', () => {
  for (const [what, bad, message] of BAD)
    it(`gets an error for ${what}, and nothing is stored`, async () => {
      const { quota } = allot.allot
      const refused = { code: 'invalid', message }
      await assert.rejects(quota.rules.create(bad), refused)
      await assert.rejects(quota.groups.create({ name: 'g', rules: [bad] }), refused)
      await assert.rejects(quota.apply({ rules: [bad] }), refused)
      assert.deepEqual((await quota.rules.list({ offset: 0, limit: 10 })).items, [])
      assert.deepEqual((await quota.groups.list({ offset: 0, limit: 10 })).items, [])
    })

  for (const [limit, bytes] of [
    ['2 GiB', 2 ** 31],
    ['1.5KiB', 1536],
    ['7 B', 7],
    [-1, -1],
    [-5, -5],
    [2 ** 53 - 1, 2 ** 53 - 1],
  ] as const)
    it(`writes the limit ${limit} in rules, edits, groups and plans, and reads it as bytes`, async () => {
      const { rules, groups, apply } = allot.allot.quota
      const named = (name: string) => ({ ...rule, name, limit })
      assert.equal((await rules.create(named('created'))).limit, bytes)
      await rules.create({ ...rule, name: 'edited' })
      assert.equal((await rules.edit('edited', { limit }))?.limit, bytes)
      assert.equal((await groups.create({ name: 'g', rules: [named('grouped')] })).rules[0]?.limit, bytes)
      assert.equal((await apply({ rules: [named('planned')] })).rules[0]?.after?.limit, bytes)
      assert.deepEqual((await apply({ rules: [named('planned')] })).rules, [])
      const { items } = await rules.list({ offset: 0, limit: 10 })
      assert.deepEqual(
        items.map((item) => [item.name, item.limit]),
        ['created', 'edited', 'grouped', 'planned'].map((name) => [name, bytes]),
      )
      for (const { name } of items) await rules.remove(name)
      await groups.remove('g')
    })

  it('applies a plan again without a change, whatever the order of members, names and other members', async () => {
    const { quota } = allot.allot
    const planned = { limit: 5, note: 'ours', name: 'again', subjects: ['size:all'] } as QuotaRule
    const groups = ['b', 'a'].map((name) => ({ name, rules: ['again'] }))
    const plan = { rules: [planned], groups, assignments: { root: ['b', 'a'] } }
    assert.equal((await quota.apply(plan)).rules.length, 1)
    assert.deepEqual(await quota.apply(plan), { rules: [], groups: [], assignments: [] })
    const { affected } = await allot.allot.hosting.plans.effectsOf(plan, { limit: 1 })
    assert.equal(affected, 0, 'nor does it say that owners would have other groups')
    for (const name of ['a', 'b']) await quota.groups.remove(name)
    await quota.rules.remove('again')
  })

  it('has in the audit log the changes for which it says who makes them, and no others', async () => {
    const { rules, groups, apply } = allot.allot.quota
    const by = { id: allot.root.id, username: 'root', admin: true }
    const logged = async () =>
      (await allot.as(allot.root, 'GET', '/admin/audit')).body.map(({ action }: { action: string }) => action)
    const change = async (who?: typeof by) => {
      await rules.create({ ...rule, name: 'mine' }, who)
      await rules.edit('mine', { limit: 2 }, who)
      await groups.create({ name: 'g' }, who)
      await groups.addRule('g', 'mine', who)
      await groups.removeRule('g', 'mine', who)
      await groups.assign('root', 'g', who)
      await groups.unassign('root', 'g', who)
      await groups.setFor('root', ['g'], who)
      await groups.remove('g', who)
      await rules.remove('mine', who)
      await apply({ groups: [{ name: 'planned', rules: [] }] }, who && { by: who })
      await groups.remove('planned')
    }
    const before: string[] = await logged()
    await change()
    assert.deepEqual(await logged(), before)
    await change(by)
    const after = await logged()
    assert.deepEqual(after.slice(0, after.length - before.length).reverse(), [
      ...['rule created', 'rule changed', 'group created', 'group changed', 'group changed'],
      ...['groups assigned', 'groups assigned', 'groups assigned', 'group deleted', 'rule deleted'],
      'group created',
    ])
  })

  it('affects nobody with a plan that names the groups of an owner in another order', async () => {
    const { quota, hosting } = allot.allot
    for (const name of ['a', 'b', '\u{1f600}', '\uffee']) await quota.groups.create({ name })
    await quota.groups.setFor('root', ['\u{1f600}', '\uffee', 'b', 'a'])
    for (const groups of [
      ['b', 'a', '\uffee', '\u{1f600}'],
      ['\u{1f600}', 'a', 'b', '\uffee'],
    ]) {
      const plan = { assignments: { root: groups } }
      assert.equal((await hosting.plans.effectsOf(plan, { limit: 1 })).affected, 0)
      assert.deepEqual((await quota.apply(plan)).assignments, [])
    }
    for (const name of ['a', 'b', '\u{1f600}', '\uffee']) await quota.groups.remove(name)
  })

  it('gets an error when it says wrongly who makes a change, and nothing changes', async () => {
    const { rules, groups } = allot.allot.quota
    const refused = { code: 'invalid', message: /^by: expected an account, such as .*, received / }
    for (const by of [0, 'root', null, {}, { id: '1', username: 'root' }, { id: 1 }] as never[]) {
      await assert.rejects(rules.create({ ...rule, name: 'mine' }, by), refused)
      await assert.rejects(groups.create({ name: 'g' }, by), refused)
      await assert.rejects(groups.setFor('root', [], by), refused)
    }
    const named = ['one', 'two'].map((name) => ({ ...rule, name }))
    await assert.rejects(
      Promise.all(named.map(rules.create as (one: QuotaRule) => Promise<unknown>)),
      refused,
    )
    assert.deepEqual((await rules.list({ offset: 0, limit: 10 })).items, [])
    assert.deepEqual((await groups.list({ offset: 0, limit: 10 })).items, [])
  })
})

describe('over and simulate', () => {
  const slice = { offset: 0, limit: 10 }

  it('find what the HTTP API finds, with the names of owners', async () => {
    const own = await start({ repositories: false })
    const { quota, ledger } = own.allot
    for (const [owner, size] of [
      ['ann', 30],
      ['bob', 9],
      ['cy', 1],
    ] as const) {
      await own.person(owner)
      await own.allot.repositories.create(
        (await own.allot.accounts.byName(owner))!,
        (await own.allot.accounts.byName(owner))!,
        { name: 'r' },
      )
      const entry = { kind: 'artifacts', key: owner, repository: `${owner}/r`, name: 'a', run: 1 } as const
      await ledger.put({ ...entry, size })
    }
    const assignments = { ann: ['g'], bob: ['g'], cy: ['g'] }
    const rules = [{ name: 'r', limit: 10, subjects: ['size:all'] as Subject[] }]
    const plan = { rules, groups: [{ name: 'g', rules: ['r'] }], assignments }
    const simulated = await quota.simulate(plan, slice)
    const asked = await own.as(own.root, 'POST', '/admin/quota/simulate', plan)
    const loginsOf = ({ body }: { body: { owner: { login: string } }[] }) =>
      body.map(({ owner }) => owner.login)
    assert.deepEqual([simulated.items.map(({ owner }) => owner), simulated.total], [['ann'], 1])
    assert.deepEqual(loginsOf(asked), ['ann'])
    assert.deepEqual((await quota.over(slice)).items, [], 'nothing is stored')
    await quota.apply(plan)
    for (const [query, path, names] of [
      [{}, '/admin/quota/over', ['ann']],
      [{ within: 0.2 }, '/admin/quota/over?within=20%25', ['ann', 'bob']],
      [
        { within: 1, subject: 'size:all' },
        '/admin/quota/over?within=100%25&subject=size:all',
        ['ann', 'bob', 'cy'],
      ],
    ] as const) {
      const { items, total } = await quota.over(slice, query)
      assert.deepEqual([items.map(({ owner }) => owner), total], [names, names.length])
      assert.deepEqual(loginsOf(await own.as(own.root, 'GET', path)), names)
    }
    const [first] = (await quota.over({ offset: 1, limit: 1 }, { within: 0.2 })).items
    assert.deepEqual([first?.owner, first?.over, first?.used], ['bob', false, 9])
  })
})
