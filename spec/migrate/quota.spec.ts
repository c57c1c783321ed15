import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import type { MigrationOptions } from '../../bin/migrate/migration.ts'
import type { NamedPlan } from '../../lib/quota/plans-by-name.ts'
import { start, type TestServer } from '../support/test-server.ts'
import { startTarget, type Target } from './two.ts'

const PLAN: NamedPlan = {
  rules: [
    { name: 'total', limit: 1000, subjects: ['size:all'] },
    { name: 'files', limit: 100, subjects: ['size:git:lfs', 'size:assets:all'] },
    { name: 'spare', limit: 1, subjects: [] },
  ],
  groups: [
    { name: 'free', rules: ['total', 'files'] },
    { name: 'paid', rules: ['total'] },
  ],
  assignments: { ann: ['free'], ben: ['free', 'paid'] },
}

let source: TestServer
let target: Target
before(async () => {
  source = await start({ dialect: 'forgejo', repositories: false })
  for (const name of ['ann', 'ben', 'carl']) await source.person(name)
})
after(() => source.stop())
beforeEach(async () => {
  await source.allot.quota.apply({ ...PLAN, prune: true })
  target = await startTarget({ git: false })
  const report = await run()
  assert.match(report, /^quota rules: 3 copied, 0 already there\nquota groups: 2 copied, 0 already there$/m)
  assert.match(report, /^quota assignments: 3 copied/m)
})
afterEach(() => target.stop())

/**
 * Each run succeeds.
 * @returns its report
 */
const run = async (options: Partial<MigrationOptions> = {}): Promise<string> => {
  const report = await target.from(source, [], options)
  assert.ok(report.isComplete(), report.text)
  return report.text
}
/** The rules, the groups and who has them. */
const policy = async ({ allot: { quota } }: TestServer) => {
  const slice = { offset: 0, limit: 99 }
  const rules = (await quota.rules.list(slice)).items.map(({ name, limit, subjects }) => [
    name,
    limit,
    ...subjects,
  ])
  const groups = (await quota.groups.list(slice)).items.map(({ name, rules }) => [
    name,
    ...rules.map((rule) => rule.name),
  ])
  const owners = []
  for (const name of ['ann', 'ben', 'carl']) owners.push([name, ...(await quota.groups.assignedTo(name))])
  return { rules: rules.sort(), groups: groups.sort(), owners }
}
const assertSame = async () => assert.deepEqual(await policy(target), await policy(source))
const isListed = (text: string, line: string): void => {
  assert.ok(text.split('\n').includes(`  ${line}`), text)
}

describe('Quota rules and groups', () => {
  it('that were removed here stay removed, and are listed in each run, which succeeds', async () => {
    const { rules, groups } = target.allot.quota
    await rules.remove('files')
    await groups.remove('paid')
    const before = await policy(target)
    for (let time = 0; time < 2; time++) {
      const text = await run()
      isListed(text, 'quota rules that were removed here, and stay removed: files')
      isListed(text, 'quota groups that were removed here, and stay removed: paid')
      assert.deepEqual(await policy(target), before)
    }
    await source.allot.quota.apply({ groups: [{ name: 'free', rules: ['files', 'total', 'spare'] }] })
    await run()
    assert.deepEqual((await policy(target)).groups, [['free', 'total', 'spare']])
  })

  it('that were changed here stay so, and are listed in each run, which succeeds', async () => {
    await target.allot.quota.apply({
      rules: [
        { name: 'total', limit: 2000, subjects: ['size:all'] },
        { name: 'files', limit: 100, subjects: ['size:git:lfs'] },
      ],
      groups: [{ name: 'paid', rules: ['total', 'spare'] }],
    })
    const before = await policy(target)
    for (let time = 0; time < 2; time++) {
      const text = await run()
      isListed(text, 'the limit of these quota rules differs from that at the source: total')
      isListed(text, 'the subjects of these quota rules differ from those at the source: files')
      isListed(text, 'the rules of these quota groups differ from those at the source: paid')
      assert.deepEqual(await policy(target), before)
    }
  })

  it('that the source has changed follow it, member by member', async () => {
    await target.allot.quota.rules.edit('total', { limit: 2000 })
    await source.allot.quota.apply({
      rules: [
        { name: 'total', limit: 1000, subjects: ['size:repos:all'] },
        { name: 'files', limit: 50, subjects: ['size:assets:all', 'size:git:lfs', 'size:wiki'] },
      ],
      groups: [{ name: 'free', rules: ['spare', 'total'] }],
    })
    isListed(await run(), 'the limit of these quota rules differs from that at the source: total')
    const { rules, groups } = await policy(target)
    assert.deepEqual(rules, [
      ['files', 50, 'size:assets:all', 'size:git:lfs', 'size:wiki'],
      ['spare', 1],
      ['total', 2000, 'size:repos:all'],
    ])
    assert.deepEqual(groups, [
      ['free', 'spare', 'total'],
      ['paid', 'total'],
    ])
    await source.allot.quota.rules.edit('total', { limit: 3000 })
    isListed(await run(), 'the limit of these quota rules differs from that at the source: total')
    assert.equal((await target.allot.quota.rules.get('total'))?.limit, 2000, 'it was changed on both sides')
  })

  it('that the source has removed are removed with their assignments, and given again when it has them again', async () => {
    await source.allot.quota.groups.remove('free')
    await source.allot.quota.rules.remove('files')
    const text = await run()
    isListed(text, 'these quota groups do not exist any more, and limit no owner: free')
    isListed(text, 'these quota rules do not exist any more: files')
    await assertSame()
    await source.allot.quota.apply(PLAN)
    await run()
    await assertSame()
    assert.doesNotMatch(
      await run(),
      /[1-9]\d* (copied|updated)|^(revoked|removed)|quota (rule|group|assign)\w* that/m,
    )
  })

  it('that the source has removed stay when they were changed here, or something here needs them', async () => {
    await target.allot.quota.rules.edit('spare', { limit: 2 })
    await target.allot.quota.groups.create({ name: 'own', rules: ['files'] })
    await target.allot.quota.groups.assign('carl', 'paid')
    await source.allot.quota.apply({ prune: true })
    const text = await run()
    isListed(
      text,
      'quota rules and groups that were removed at the source, and stay, because they were changed or are used here: paid, files, spare, total',
    )
    const { rules, groups, owners } = await policy(target)
    assert.deepEqual(
      rules.map(([name]) => name),
      ['files', 'spare', 'total'],
    )
    assert.deepEqual(groups, [
      ['own', 'files'],
      ['paid', 'total'],
    ])
    assert.deepEqual(owners, [['ann'], ['ben', 'paid'], ['carl', 'paid']])
  })

  it('that the source has removed stay when they are default groups here', async () => {
    await source.allot.quota.apply({ prune: true })
    await run({ defaultGroups: ['free'] })
    assert.deepEqual((await policy(target)).groups, [['free', 'total', 'files']])
  })

  it('that were created here keep their values, also after a copy of the name was removed, and are listed', async () => {
    const { rules, groups } = target.allot.quota
    await rules.remove('files')
    await rules.create({ name: 'files', limit: 7, subjects: [] })
    await groups.remove('paid')
    await groups.create({ name: 'paid', rules: [] })
    await source.allot.quota.rules.create({ name: 'later', limit: 1, subjects: [] })
    await rules.create({ name: 'later', limit: 2, subjects: [] })
    await source.allot.quota.rules.edit('files', { limit: 8 })
    const before = await policy(target)
    const text = await run()
    isListed(
      text,
      'quota rules and groups that were created here with other values than at the source, and keep these: files, later, paid',
    )
    assert.deepEqual({ ...(await policy(target)), owners: before.owners }, before)
    await source.allot.quota.rules.remove('later')
    await source.allot.quota.rules.remove('files')
    await run()
    assert.deepEqual((await policy(target)).rules, before.rules)
  })
})

describe('Quota assignments', () => {
  it('that the source has withdrawn are withdrawn here, and those of this server stay', async () => {
    await target.allot.quota.groups.assign('carl', 'free')
    await source.allot.quota.groups.unassign('ben', 'free')
    isListed(await run(), 'the quota group in parentheses is no longer assigned to these owners: ben (free)')
    assert.deepEqual((await policy(target)).owners, [
      ['ann', 'free'],
      ['ben', 'paid'],
      ['carl', 'free'],
    ])
  })
})
