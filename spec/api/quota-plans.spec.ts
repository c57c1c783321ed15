import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import fc from 'fast-check'
import { subjects } from '../../lib/index.ts'
import { assertError } from '../support/expectations.ts'
import { times } from '../support/long.ts'
import { type Person, start, type TestServer } from '../support/test-server.ts'

let allot: TestServer
let alice: Person
let bob: Person
const asRoot = (method: string, path: string, body?: unknown) => allot.as(allot.root, method, path, body)

beforeEach(async () => {
  allot = await start({ repositories: false })
  alice = await allot.person('alice')
  bob = await allot.person('bob')
  for (const [owner, size] of [
    ['alice', 100],
    ['bob', 50],
  ] as const) {
    const entry = { owner, name: 'p', size, type: 'npm', version: '1' }
    await asRoot('PUT', `/admin/ledger/packages/${owner}`, entry)
  }
})
afterEach(() => allot.stop())

const total = (limit: number) => ({ name: 'total', limit, subjects: ['size:all'] })
const PLAN = {
  rules: [total(80), { name: 'lfs', limit: -1, subjects: ['size:git:lfs'] }],
  groups: [{ name: 'free', rules: ['total', 'lfs'] }],
  assignments: { Alice: ['free'], bob: ['free'] },
}

/** Everything that a plan can change, read over the API. */
const state = async () => ({
  rules: (await asRoot('GET', '/admin/quota/rules')).body,
  groups: (await asRoot('GET', '/admin/quota/groups')).body,
  members: await Promise.all(
    ['alice', 'bob', 'root'].map(
      async (name) => (await asRoot('GET', `/admin/users/${name}/quota`)).body.groups,
    ),
  ),
})

const summaries = (answer: { body: { action: string; kind: string; name: string }[] }) =>
  answer.body.map(({ action, kind, name }) => `${action} ${kind} ${name}`)

const over = async (person: Person, subject = 'size:all'): Promise<boolean> =>
  (await allot.as(person, 'GET', `/user/quota/check?subject=${subject}`)).body

describe('POST /admin/quota/apply', () => {
  it('makes rules, groups and assignments equal to the body, and answers what changed', async () => {
    const answer = await asRoot('POST', '/admin/quota/apply', PLAN)
    assert.deepEqual(answer.body, [
      {
        action: 'create',
        kind: 'rule',
        name: 'total',
        before: null,
        after: { limit: 80, subjects: ['size:all'] },
      },
      {
        action: 'create',
        kind: 'rule',
        name: 'lfs',
        before: null,
        after: { limit: -1, subjects: ['size:git:lfs'] },
      },
      { action: 'create', kind: 'group', name: 'free', before: null, after: { rules: ['total', 'lfs'] } },
      { action: 'create', kind: 'assignment', name: 'alice', before: null, after: { groups: ['free'] } },
      { action: 'create', kind: 'assignment', name: 'bob', before: null, after: { groups: ['free'] } },
    ])
    assert.deepEqual([await over(alice), await over(bob)], [true, false])
    assert.deepEqual((await asRoot('GET', '/admin/quota/rules')).body, PLAN.rules)
  })

  it('answers what would change, without changing it, with dry_run', async () => {
    const before = await state()
    const dry = await asRoot('POST', '/admin/quota/apply?dry_run=true', PLAN)
    assert.deepEqual(await state(), before)
    assert.deepEqual(dry.body, (await asRoot('POST', '/admin/quota/apply', PLAN)).body)
  })

  it('keeps what the body does not name, unless prune is set', async () => {
    await asRoot('POST', '/admin/quota/apply', PLAN)
    const next = {
      rules: [total(200)],
      groups: [{ name: 'paid', rules: ['total'] }],
      assignments: { bob: ['paid'] },
    }
    const path = '/admin/quota/apply'
    assert.deepEqual(summaries(await asRoot('POST', path, next)), [
      'update rule total',
      'create group paid',
      'update assignment bob',
    ])
    assert.equal(await over(alice), false)
    assert.deepEqual(summaries(await asRoot('POST', path, { ...next, prune: true })), [
      'delete rule lfs',
      'delete group free',
      'delete assignment alice',
    ])
    const { rules, groups, members } = await state()
    assert.deepEqual([rules, groups], [[total(200)], [{ name: 'paid', rules: [total(200)] }]])
    assert.deepEqual(
      members.map((list) => list.map((group: { name: string }) => group.name)),
      [[], ['paid'], []],
    )
    assert.deepEqual(summaries(await asRoot('POST', path, { prune: true })).length, 3)
  })

  const WRONG: [what: string, plan: unknown, message: RegExp][] = [
    [
      'an unknown subject',
      { rules: [{ ...total(1), subjects: ['size:none'] }] },
      /^rules\[0\]\.subjects\[0\]/,
    ],
    ['a limit that is not a whole number', { rules: [total(1.5)] }, /^rules\[0\]\.limit/],
    ['a rule without a limit', { rules: [{ name: 'x' }] }, /limit is required/i],
    ['a rule named twice', { rules: [total(1), total(2)] }, /^rules: total is named twice/],
    ['a group named twice', { groups: [{ name: 'g' }, { name: 'g' }] }, /^groups: g is named twice/],
    ['a group with an unknown rule', { groups: [{ name: 'g', rules: ['x'] }] }, /no rule named x/],
    ['a group with a rule twice', { ...PLAN, groups: [{ name: 'g', rules: ['lfs', 'lfs'] }] }, /twice/],
    ['an unknown owner', { ...PLAN, assignments: { nobody: ['free'] } }, /named nobody/],
    ['an owner named twice', { ...PLAN, assignments: { bob: ['free'], BOB: [] } }, /bob is named twice/],
    ['an unknown group', { ...PLAN, assignments: { bob: ['paid'] } }, /no group named paid/],
    ['a group assigned twice', { ...PLAN, assignments: { bob: ['free', 'free'] } }, /twice/],
    ['assignments that are a list', { assignments: ['free'] }, /^assignments.0: expected an array/],
    ['no object', [], /must be a JSON object/],
  ]
  for (const [what, plan, message] of WRONG)
    it(`answers 422 to ${what}, and changes nothing`, async () => {
      const before = await state()
      assertError(await asRoot('POST', '/admin/quota/apply', plan), 422, message)
      assertError(await asRoot('POST', '/admin/quota/apply?dry_run=true', plan), 422, message)
      assertError(await asRoot('POST', '/admin/quota/simulate', plan), 422, message)
      assert.deepEqual(await state(), before)
    })
})

describe('POST /admin/quota/simulate', () => {
  it('answers for whom the check would change, and stores nothing', async () => {
    const before = await state()
    const answer = await asRoot('POST', '/admin/quota/simulate', PLAN)
    assert.equal(answer.status, 200, answer.text)
    assert.deepEqual(
      answer.body.map((one: Simulated) => [one.owner.login, one.subjects.map(({ subject }) => subject)]),
      [['alice', subjects.filter((subject) => subject !== 'size:wiki')]],
    )
    assert.deepEqual(answer.body[0].subjects[0], {
      subject: 'size:all',
      used: 100,
      before: { over: false, limit: null, left: null },
      after: { over: true, limit: 80, left: -20 },
    })
    assert.equal(answer.headers.get('x-total-count'), '1')
    assert.deepEqual(await state(), before)
  })

  it('accepts other default groups than the configured ones', async () => {
    const plan = { rules: [total(60)], groups: [{ name: 'free', rules: ['total'] }] }
    assert.deepEqual((await asRoot('POST', '/admin/quota/simulate', plan)).body, [])
    const answer = await asRoot('POST', '/admin/quota/simulate', { ...plan, default_groups: ['free'] })
    assert.deepEqual(
      answer.body.map((one: Simulated) => one.owner.login),
      ['alice'],
    )
  })

  it('refuses default groups that would not exist', async () => {
    const answer = await asRoot('POST', '/admin/quota/simulate', { ...PLAN, default_groups: ['fere'] })
    assert.equal(answer.status, 422, answer.text)
    assert.equal(answer.body.message, 'default_groups: there is no group named fere')
  })

  it('has the pages that limit and page ask for', async () => {
    const plan = { ...PLAN, rules: [total(10), PLAN.rules[1]] }
    for (const [page, login] of ['alice', 'bob'].entries()) {
      const answer = await asRoot('POST', `/admin/quota/simulate?limit=1&page=${page + 1}`, plan)
      assert.deepEqual([answer.body.length, answer.body[0].owner.login], [1, login])
      assert.equal(answer.headers.get('x-total-count'), '2')
    }
  })

  it('agrees with what applying the same plan changes', async () => {
    const someSubjects = fc.uniqueArray(fc.constantFrom(...subjects), { minLength: 1, maxLength: 3 })
    const limit = fc.constantFrom(-1, 0, 49, 50, 51, 99, 100, 101, 1000)
    const names = (...of: string[]) => fc.uniqueArray(fc.constantFrom(...of))
    const plans = fc.record({
      rules: fc.tuple(
        fc.record({ name: fc.constant('r1'), limit, subjects: someSubjects }),
        fc.record({ name: fc.constant('r2'), limit, subjects: someSubjects }),
      ),
      groups: fc.tuple(
        fc.record({ name: fc.constant('g1'), rules: names('r1', 'r2') }),
        fc.record({ name: fc.constant('g2'), rules: names('r1', 'r2') }),
      ),
      assignments: fc.record({ alice: names('g1', 'g2'), bob: names('g1', 'g2') }, { requiredKeys: [] }),
      prune: fc.boolean(),
    })
    const answers = async () =>
      Promise.all(
        [alice, bob].map(async (person) => ({
          login: person.name,
          over: await Promise.all(subjects.map((subject) => over(person, subject))),
        })),
      )
    const property = fc.asyncProperty(plans, async (plan) => {
      const before = await answers()
      const told = (await asRoot('POST', '/admin/quota/simulate', plan)).body as Simulated[]
      assert.deepEqual(await answers(), before)
      await asRoot('POST', '/admin/quota/apply', plan)
      const changed = (await answers()).flatMap(({ login, over }, at) => {
        const list = subjects.filter((_, one) => over[one] !== before[at]!.over[one])
        return list.length === 0 ? [] : [[login, list]]
      })
      assert.deepEqual(
        told.map((one) => [one.owner.login, one.subjects.map(({ subject }) => subject)]),
        changed,
      )
      assert.deepEqual((await asRoot('POST', '/admin/quota/apply', plan)).body, [])
    })
    await fc.assert(property, { numRuns: times(10, 40) })
  })
})

interface Simulated {
  owner: { login: string }
  subjects: { subject: string }[]
}
