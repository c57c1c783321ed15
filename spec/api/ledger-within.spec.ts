import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import fc from 'fast-check'
import { memory } from '../../drivers/memory/index.ts'
import {
  createQuota,
  type LedgerOperation,
  OverQuotaError,
  type OwnerEntry,
  type PutOptions,
  type Quota,
  type Subject,
} from '../../lib/index.ts'
import { assertError } from '../support/expectations.ts'
import { times } from '../support/long.ts'
import { createSpecStore } from '../support/store.ts'
import { start, type TestServer } from '../support/test-server.ts'

const MIB = 1024 ** 2
const quiet = { error: () => undefined, info: () => undefined }
const artifact = (key: string, size: number, owner = 'alice') =>
  ({ kind: 'artifacts', key, owner, name: key, size }) as const
const lfs = (key: string, size: number, owner = 'alice') => ({
  ...artifact(key, size, owner),
  kind: 'lfs' as const,
})

/** Runs `body` with a quota engine of one limit on everything, unless a plan says otherwise. */
const withQuota = async (defaultTotal: number, body: (quota: Quota) => Promise<void>) => {
  const quota = await createQuota({ driver: memory(), defaultTotal, log: quiet })
  try {
    await body(quota)
    assert.deepEqual((await quota.verify()).messages, [])
  } finally {
    await quota.close()
  }
}
const usedBy = async (quota: Quota, owner = 'alice') => Number((await quota.explain(owner, 'size:all')).used)
const refused = { code: 'over_quota' }

describe('PUT /admin/ledger/{kind}/{key}?within=', () => {
  let allot: TestServer
  before(async () => {
    const { driver } = await createSpecStore()
    allot = await start({ driver, repositories: false, quota: { defaultTotal: 10 * MIB } })
  })
  const put = (owner: string, key: string, size: number, within = 'true') =>
    allot.request('PUT', `/admin/ledger/artifacts/${key}?within=${within}`, {
      token: allot.root.token,
      body: { owner, name: key, size },
    })

  it('answers 413 with the explanation, and stores nothing', async () => {
    const person = await allot.person()
    await put(person.name, `${person.name}-1`, 9 * MIB)
    const answer = await put(person.name, `${person.name}-2`, MIB + 1)
    assert.equal(answer.status, 413, answer.text)
    const { message, url, explanation } = answer.body
    assert.match(message, /^nothing was stored: .* default total, 10485760 bytes, .* by 1 bytes$/)
    assert.match(url, /^http/)
    const path = `/admin/users/${person.name}/quota/explain?subject=${explanation.subject}`
    assert.deepEqual(explanation, (await allot.request('GET', path, { token: allot.root.token })).body)
    assert.deepEqual([explanation.over, explanation.left], [false, MIB])
    assert.equal(await allot.allot.ledger.get({ kind: 'artifacts', key: `${person.name}-2` }), undefined)
  })

  it('checks only the subjects of a list, and none without the parameter', async () => {
    const { name } = await allot.person()
    const narrow = { name: `narrow-${name}`, limit: 100, subjects: ['size:assets:artifacts'] } as const
    const wide = { name: `wide-${name}`, limit: 1000, subjects: ['size:all'] } as const
    await allot.allot.quota.apply({
      rules: [narrow, wide],
      groups: [{ name, rules: [narrow.name, wide.name] }],
    })
    await allot.allot.quota.groups.assign(name, name)
    assert.equal((await put(name, `${name}-1`, 101)).status, 413)
    assert.equal((await put(name, `${name}-1`, 101, 'size:assets:packages:all,size:all')).status, 201)
    assert.equal((await put(name, `${name}-1`, 1001, 'size:git:all,size:all')).status, 413)
    assert.equal((await put(name, `${name}-1`, 1001, 'size:git:all')).status, 200)
    assert.equal((await put(name, `${name}-1`, 1003, 'false')).status, 200)
  })

  for (const within of ['', 'yes', 'size:nope', 'size:all,', 'true,size:all', 'size:assets:wiki'])
    it(`answers 422 to within=${within}, and names it`, async () => {
      const { name } = await allot.person()
      assertError(await put(name, name, 1, within), 422, /^within\[\d\]: /)
    })

  it('applies all lines of a batch or none: each owner must be within afterwards', async () => {
    const [one, two] = [await allot.person(), await allot.person()]
    const send = (...operations: object[]) =>
      allot.request('POST', '/admin/ledger?within=true', {
        token: allot.root.token,
        body: operations.map((operation) => JSON.stringify(operation)).join('\n'),
        headers: { 'content-type': 'application/x-ndjson' },
      })
    const entry = (key: string, size: number, { name } = one) => ({
      op: 'put',
      ...artifact(`${name}-${key}`, size, name),
    })
    assert.equal((await send(entry('a', 10 * MIB), entry('a', 5 * MIB, two))).status, 200)
    const answer = await send(entry('b', 5 * MIB, two), entry('b', 1))
    assert.equal(answer.status, 413)
    assert.match(answer.body.message, new RegExp(`: ${one.name} would exceed`))
    assert.equal((await allot.allot.quota.explain(two.name, 'size:all')).used, 5 * MIB)
    const remove = { op: 'delete', kind: 'artifacts', key: `${one.name}-a` }
    assert.equal((await send(entry('b', 10 * MIB), remove)).status, 200)
  })
})

describe('ledger.put with within', () => {
  const DECISIONS: [limit: number, used: number, size: number, fits: boolean][] = [
    [10, 0, 10, true],
    [10, 0, 11, false],
    [10, 9, 1, true],
    [10, 10, 0, true],
    [10, 10, 1, false],
    [0, 0, 0, true],
    [0, 0, 1, false],
    [10, 11, 0, true],
    [-1, 2 ** 50, 2 ** 50, true],
  ]
  for (const [limit, used, size, fits] of DECISIONS)
    it(`${fits ? 'stores' : 'refuses'} ${size} bytes beside ${used}, with a limit of ${limit}`, () =>
      withQuota(limit, async (quota) => {
        await quota.ledger.put(artifact('before', used))
        const put = quota.ledger.put(artifact('new', size), { within: true })
        await (fits ? put : assert.rejects(put, refused))
        assert.equal(await usedBy(quota), fits ? used + size : used)
      }))

  it('does not refuse what makes no sum grow, also while the owner is over quota', () =>
    withQuota(10, async ({ ledger }) => {
      await ledger.put(artifact('a', 30))
      for (const size of [30, 20, 11, 10]) await ledger.put(artifact('a', size), { within: true })
      await assert.rejects(ledger.put(artifact('a', 11), { within: true }), refused)
      await ledger.batch(
        [
          { op: 'put', ...artifact('b', 10) },
          { op: 'delete', ...artifact('a', 0) },
        ],
        { within: true },
      )
    }))

  it('refuses with an OverQuotaError, whose explanation says what is left; a new owner does not come into being', () =>
    withQuota(10, async ({ ledger, owners }) => {
      await assert.rejects(ledger.put(artifact('a', 11, 'new'), { within: ['size:all'] }), (error) => {
        assert.ok(error instanceof OverQuotaError)
        const { subject, over, used, left } = error.explanation
        assert.deepEqual(
          { subject, over, used, left },
          { subject: 'size:all', over: false, used: 0, left: 10 },
        )
        return true
      })
      assert.deepEqual((await owners.list({ offset: 0, limit: 10 })).items, [])
    }))

  it('accepts exactly what fits of puts at once: 10 of 50, and 1 of 10 that are almost as large as the limit', () =>
    withQuota(10, async (quota) => {
      for (const [owner, count, size, fit] of [
        ['a', 50, 1, 10],
        ['b', 10, 9, 1],
      ] as const) {
        const puts = Array.from({ length: count }, (_, at) =>
          quota.ledger.put(artifact(`${owner}${at}`, size, owner), { within: true }),
        )
        const settled = await Promise.allSettled(puts)
        assert.equal(settled.filter(({ status }) => status === 'fulfilled').length, fit)
        assert.equal(await usedBy(quota, owner), size * fit)
      }
    }))

  const WRONG: [options: unknown, message: RegExp][] = [
    [null, /^options: expected an object, such as \{ within: true \}/],
    [3, /^options: /],
    [{ inside: true }, /^inside: there is no such option/],
    [
      { within: 'size:all' },
      /^within: expected true, or a list of subjects, received the string "size:all"$/,
    ],
    [{ within: [] }, /^within: expected true, or a list of subjects/],
    [{ within: ['size:all', 'size'] }, /^within\[1\]: expected one of size:all, /],
  ]
  for (const [options, message] of WRONG)
    it(`refuses the options ${JSON.stringify(options)}`, () =>
      withQuota(10, async ({ ledger }) => {
        await assert.rejects(ledger.put(artifact('a', 1), options as PutOptions), {
          code: 'invalid',
          message,
        })
        await assert.rejects(ledger.batch([], options as PutOptions), { code: 'invalid', message })
      }))
})

describe('ledger.batch with within', () => {
  const subjects: Subject[] = [
    'size:all',
    'size:git:lfs',
    'size:assets:all',
    'size:assets:artifacts',
    'size:git:all',
  ]
  const rule = fc.record({
    limit: fc.integer({ min: -1, max: 12 }),
    subjects: fc.array(fc.constantFrom(...subjects), { minLength: 1, maxLength: 2 }),
  })
  const groups = fc.array(fc.array(rule, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 2 })
  const operation = fc.record({
    op: fc.constantFrom('put', 'put', 'delete'),
    kind: fc.constantFrom('artifacts', 'lfs'),
    key: fc.constantFrom('a', 'b', 'c'),
    size: fc.integer({ min: 0, max: 8 }),
  })
  const batches = fc.array(fc.array(operation, { minLength: 1, maxLength: 3 }), { maxLength: 8 })

  /** Which entry counts toward which subject. */
  const TOWARD = {
    artifacts: ['size:assets:artifacts', 'size:assets:all', 'size:all'],
    lfs: ['size:git:lfs', 'size:git:all', 'size:all'],
  }
  type Entries = ReadonlyMap<string, { kind: keyof typeof TOWARD; size: number }>
  const sumOf = (entries: Entries, subject: string) =>
    [...entries.values()].reduce(
      (sum, { kind, size }) => sum + (TOWARD[kind].includes(subject) ? size : 0),
      0,
    )
  const covers = (listed: readonly string[], subject: string) =>
    Object.values(TOWARD).some(
      (chain) =>
        chain.includes(subject) && chain.slice(chain.indexOf(subject)).some((one) => listed.includes(one)),
    )

  it('stores exactly the batches that a model of rules and groups lets fit', () =>
    fc.assert(
      fc.asyncProperty(groups, batches, (rules, all) =>
        withQuota(0, async (quota) => {
          const named = rules.map((list, at) => ({
            name: `g${at}`,
            rules: list.map((one, index) => ({ name: `r${at}${index}`, ...one })),
          }))
          await quota.apply({
            rules: named.flatMap((group) => group.rules),
            groups: named.map(({ name, rules: list }) => ({ name, rules: list.map((one) => one.name) })),
            assignments: { alice: named.map(({ name }) => name) },
          })
          const fits = (entries: Entries, subject: string) => {
            const limiting = rules
              .map((list) => list.filter((one) => covers(one.subjects, subject)))
              .filter(({ length }) => length > 0)
            const stands = (one: (typeof rules)[0][0]) =>
              one.limit === -1 ||
              one.subjects.reduce((sum, listed) => sum + sumOf(entries, listed), 0) <= one.limit
            return limiting.length === 0 || limiting.some((list) => list.every(stands))
          }
          let stored: Entries = new Map()
          for (const batch of all) {
            const next = new Map(stored)
            const checked = new Set<string>()
            for (const { op, kind, key, size } of batch) {
              if (op === 'delete') next.delete(kind + key)
              else {
                next.set(kind + key, { kind, size })
                for (const subject of TOWARD[kind]) checked.add(subject)
              }
            }
            const expected = [...checked].every(
              (subject) => fits(next, subject) || sumOf(next, subject) <= sumOf(stored, subject),
            )
            const operations = batch.map(({ op, kind, key, size }) => ({
              op,
              ...(kind === 'lfs' ? lfs(key, size) : artifact(key, size)),
            })) as LedgerOperation<OwnerEntry>[]
            const applied = quota.ledger.batch(operations, { within: true })
            if (expected) await applied
            else await assert.rejects(applied, refused)
            if (expected) stored = next
            assert.equal(await usedBy(quota), sumOf(stored, 'size:all'))
          }
        }),
      ),
      { numRuns: times(25, 1000) },
    ))
})
