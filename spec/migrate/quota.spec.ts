import assert from 'node:assert/strict'
import { afterEach, before, beforeEach, describe, it } from 'node:test'
import type { MigrationOptions } from '../../bin/migrate/migration.ts'
import type { NamedPlan } from '../../lib/quota/plans-by-name.ts'
import { startBefore, type TestServer } from '../support/test-server.ts'
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

let target: Target
const source = startBefore({ dialect: 'forgejo', repositories: false })
before(async () => {
  for (const name of ['ann', 'ben', 'carl']) await source.person(name)
})
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
/** Without the order of the subjects. */
const sorted = ({ rules, ...others }: Awaited<ReturnType<typeof policy>>) => ({
  ...others,
  rules: rules.map((rule) => [...rule].sort()),
})
const assertSame = async () => assert.deepEqual(await policy(target), await policy(source))
const isListed = (text: string, line: string): void => {
  assert.ok(text.split('\n').includes(`  ${line}`), text)
}

const STAY = 'that were removed at the source, and stay, since something that was created here needs them'

describe('Quota rules and groups', () => {
  it('that were removed here exist again, and are listed', async () => {
    const { rules, groups } = target.allot.quota
    await rules.remove('spare')
    await groups.remove('paid')
    const text = await run()
    isListed(text, 'quota rules that were removed here: spare')
    isListed(text, 'quota groups that were removed here: paid')
    isListed(text, 'quota assignments that were removed here: ben (paid)')
    await assertSame()
  })

  it('that were changed here are as at the source again, and are listed', async () => {
    await target.allot.quota.apply({
      rules: [
        { name: 'total', limit: 2000, subjects: ['size:all'] },
        { name: 'files', limit: 100, subjects: ['size:git:lfs'] },
      ],
      groups: [{ name: 'paid', rules: ['total', 'spare'] }],
    })
    const text = await run()
    isListed(text, 'quota rules that were changed here: total (limit), files (subjects)')
    isListed(text, 'quota groups that were changed here: paid (rules)')
    assert.deepEqual(sorted(await policy(target)), sorted(await policy(source)))
  })

  it('that the source has changed follow it', async () => {
    await source.allot.quota.apply({
      rules: [
        { name: 'total', limit: 1000, subjects: ['size:repos:all'] },
        { name: 'files', limit: 50, subjects: ['size:assets:all', 'size:git:lfs', 'size:wiki'] },
      ],
      groups: [{ name: 'free', rules: ['spare', 'total'] }],
    })
    assert.doesNotMatch(await run(), /changed here/)
    await assertSame()
  })

  it('that the source has removed are removed with their assignments, and given again when it has them again', async () => {
    await source.allot.quota.groups.remove('free')
    await source.allot.quota.rules.remove('files')
    const text = await run()
    isListed(text, 'quota groups: free')
    isListed(text, 'quota rules: files')
    await assertSame()
    await source.allot.quota.apply(PLAN)
    await run()
    await assertSame()
    assert.doesNotMatch(
      await run(),
      /[1-9]\d* (copied|updated)|^(revoked|removed)|quota (rule|group|assign)\w* that/m,
    )
  })

  it('that the source has removed stay when something that was created here needs them', async () => {
    await target.allot.quota.rules.edit('spare', { limit: 2 })
    await target.allot.quota.groups.create({ name: 'own', rules: ['files'] })
    await target.allot.quota.groups.assign('carl', 'paid')
    await source.allot.quota.apply({ prune: true })
    const text = await run()
    isListed(text, `quota groups ${STAY}: paid`)
    isListed(text, `quota rules ${STAY}: files, total`)
    isListed(text, 'quota rules that were changed here: spare')
    const { rules, groups, owners } = await policy(target)
    assert.deepEqual(
      rules.map(([name]) => name),
      ['files', 'total'],
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
      'quota rules that were created here, and stay as they are: files (limit and subjects), later (limit)',
    )
    isListed(text, 'quota groups that were created here, and stay as they are: paid (rules)')
    const after = await policy(target)
    assert.deepEqual(after.rules, before.rules)
    assert.deepEqual(after.groups, [['free', 'total', 'files'], ['paid']])
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
    isListed(await run(), 'quota assignments: ben (free)')
    assert.deepEqual((await policy(target)).owners, [
      ['ann', 'free'],
      ['ben', 'paid'],
      ['carl', 'free'],
    ])
  })
})
