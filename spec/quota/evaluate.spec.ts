import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  bindingLimits,
  bindingSubject,
  explain,
  isWithin,
  type QuotaGroup,
  type QuotaRule,
  ruleBytes,
} from '../../lib/quota/evaluate.ts'
import { type Subject, subjects, type Usage, usedBy, withAncestors } from '../../lib/quota/subjects.ts'

const usage: Usage = {
  reposPublic: 1,
  reposPrivate: 20,
  lfs: 300,
  issues: 4000,
  releases: 50_000,
  artifacts: 600_000,
  packages: 7_000_000,
}

describe('Each subject', () => {
  const USED: [Subject, number][] = [
    ['size:all', 7_654_321],
    ['size:repos:all', 21],
    ['size:repos:public', 1],
    ['size:repos:private', 20],
    ['size:git:all', 321],
    ['size:git:lfs', 300],
    ['size:assets:all', 7_654_000],
    ['size:assets:attachments:all', 54_000],
    ['size:assets:attachments:issues', 4000],
    ['size:assets:attachments:releases', 50_000],
    ['size:assets:artifacts', 600_000],
    ['size:assets:packages:all', 7_000_000],
    ['size:wiki', 0],
  ]
  it('is one of those that docs/quota.md lists', () => {
    assert.deepEqual(USED.map(([subject]) => subject).sort(), [...subjects].sort())
  })
  for (const [subject, bytes] of USED)
    it(`${subject} counts its categories`, () => {
      assert.equal(usedBy(subject, usage), bytes)
    })
})

describe('Laws of the evaluation', () => {
  const subject = fc.constantFrom(...subjects)
  const bytes = fc.nat({ max: 1000 })
  const anyUsage = fc.record({
    reposPublic: bytes,
    reposPrivate: bytes,
    lfs: bytes,
    issues: bytes,
    releases: bytes,
    artifacts: bytes,
    packages: bytes,
  })
  const anyRule = fc.record({
    name: fc.string(),
    limit: fc.integer({ min: -3, max: 5000 }),
    subjects: fc.array(subject, { maxLength: 3 }),
  })
  const anyGroups = fc.array(fc.record({ name: fc.string(), rules: fc.array(anyRule, { maxLength: 3 }) }), {
    maxLength: 3,
  })

  /** What the user's document says, word for word. */
  const isAllowed = (groups: readonly QuotaGroup[], asked: Subject, used: Usage): boolean => {
    if (asked === 'size:wiki') return true
    const covering = groups
      .map(({ rules }) =>
        rules.filter((one) => one.subjects.some((listed) => withAncestors(asked).includes(listed))),
      )
      .filter((rules) => rules.length > 0)
    const isBelow = ({ limit, subjects }: QuotaRule) =>
      limit === -1 || subjects.map((one) => Number(usedBy(one, used))).reduce((a, b) => a + b, 0) < limit
    return covering.length === 0 || covering.some((rules) => rules.every(isBelow))
  }

  it('a subject is allowed where any group that limits it stands, or none limits it', () => {
    fc.assert(
      fc.property(anyGroups, subject, anyUsage, (groups, asked, used) => {
        assert.equal(isWithin(groups, asked, used), isAllowed(groups, asked, used))
      }),
    )
  })
  it('the usage of a subject is the sum of the subjects below it', () => {
    fc.assert(
      fc.property(anyUsage, subject, (used, asked) => {
        const leaves = subjects.filter(
          (one) =>
            withAncestors(one).includes(asked) && !subjects.some((other) => withAncestors(other)[1] === one),
        )
        assert.equal(
          usedBy(asked, used),
          leaves.reduce((sum, leaf) => sum + usedBy(leaf, used), 0),
        )
      }),
    )
  })
  it('the binding limits begin with one that is over if any subject is, and each is that of its rule', () => {
    fc.assert(
      fc.property(anyGroups, anyUsage, (groups, used) => {
        const limits = bindingLimits(groups, used)
        const isOver = subjects.some((asked) => !isWithin(groups, asked, used))
        assert.equal(limits.length > 0 && limits[0]!.left <= 0, isOver)
        assert.equal(bindingSubject(groups, used), limits[0]?.subject ?? 'size:all')
        for (const [index, { subject, rule, limit, left }] of limits.entries()) {
          const rules = groups.flatMap((one) => one.rules).filter((one) => one.name === rule)
          assert.ok(rules.some((one) => one.limit === limit && limit - Number(ruleBytes(one, used)) === left))
          assert.equal(isWithin(groups, subject, used), left > 0)
          if (index > 0) assert.ok(left >= limits[index - 1]!.left)
        }
      }),
    )
  })
  it('an explanation has the same result, with a limit that binds', () => {
    fc.assert(
      fc.property(anyGroups, subject, anyUsage, (groups, asked, used) => {
        const { over, groups: explained, limit, left } = explain(groups, asked, used)
        assert.equal(over, !isWithin(groups, asked, used))
        const limiting = explained.filter(({ limits }) => limits)
        assert.equal(over, limiting.length > 0 && limiting.every(({ stands }) => stands === false))
        assert.ok(explained.every(({ limits, stands }) => limits === (stands !== null)))
        if (limit !== null) assert.equal(over, left! <= 0)
        else assert.equal(over, false)
      }),
    )
  })
})
