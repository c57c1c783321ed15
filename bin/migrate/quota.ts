import * as v from 'valibot'
import { checkSubjects } from '../../lib/quota/rules.ts'
import type { Subject } from '../../lib/quota/subjects.ts'
import { apiPath, ifAvailable, type Migration, OPERATOR, reportErrors } from './migration.ts'
import { SourceUser } from './shapes.ts'
import { type ExistenceSubject, synchronize } from './synchronize.ts'

export const SourceRule = v.object({
  name: v.string(),
  limit: v.number(),
  subjects: v.nullish(v.array(v.string()), []),
})
export type SourceRule = v.InferOutput<typeof SourceRule>
export const SourceGroup = v.object({
  name: v.string(),
  rules: v.nullish(v.array(v.object({ name: v.string() })), []),
})
export type SourceGroup = v.InferOutput<typeof SourceGroup>

const NO_QUOTA = 'quota, which the source does not have, or has turned off'
const NOT_HERE = 'quota groups of owners who do not exist here'

/** Subjects that Forgejo names differently. */
const SUBJECTS: Readonly<Record<string, string>> = { 'size:assets:wiki': 'size:wiki' }

/** The name here of a subject of the source. */
export const subjectHere = (name: string): string => (Object.hasOwn(SUBJECTS, name) ? SUBJECTS[name]! : name)

/** Copies rules, groups and their assignments. Rules and groups that exist here stay unchanged; differences are reported. */
export const copyQuota = async (migration: Migration): Promise<void> => {
  const { source, report } = migration
  const rules = await ifAvailable(source.list(SourceRule, '/admin/quota/rules'))
  const groups = await ifAvailable(source.list(SourceGroup, '/admin/quota/groups'))
  if (rules === undefined || groups === undefined) return report.note('notCopied', NO_QUOTA, source.base)
  for (const { name, limit, subjects } of rules)
    await reportErrors(report, `the quota rule ${name}`, () =>
      copyRule(migration, name, limit, parseSubjects(subjects)),
    )
  for (const { name, rules } of groups)
    await reportErrors(report, `the quota group ${name}`, async () => {
      const names = rules.map((rule) => rule.name)
      await copyGroup(migration, name, names)
      await copyAssignments(migration, name)
    })
}

/** @throws AllotError invalid when a subject is unknown here */
const parseSubjects = (names: readonly string[]): Subject[] => {
  const subjects = names.map(subjectHere)
  checkSubjects(subjects)
  return subjects as Subject[]
}

const copyRule = async ({ allot, report }: Migration, name: string, limit: number, subjects: Subject[]) => {
  const { rules } = allot.quota
  const existing = await rules.get(name)
  if (existing === undefined) {
    await rules.create({ name, limit, subjects }, OPERATOR)
    return report.count('quota rules', 'copied')
  }
  report.count('quota rules', 'found')
  if (existing.limit !== limit || !isSameSet(existing.subjects, subjects))
    report.failed(
      `the quota rule ${name}`,
      'it has another limit or other subjects here, and stays unchanged',
    )
}

const copyGroup = async ({ allot, report }: Migration, name: string, rules: readonly string[]) => {
  const { groups } = allot.quota
  const existing = await groups.get(name)
  if (existing === undefined) {
    await groups.create({ name, rules }, OPERATOR)
    return report.count('quota groups', 'copied')
  }
  report.count('quota groups', 'found')
  const existingRules = existing.rules.map((rule) => rule.name)
  if (!isSameSet(existingRules, rules))
    report.failed(`the quota group ${name}`, 'it has other rules here, and stays unchanged')
}

const isSameSet = (left: readonly string[], right: readonly string[]): boolean =>
  [...left].sort().join('\n') === [...right].sort().join('\n')

/** Copies which owners a group is assigned to. An assignment that the source has removed stays. */
const copyAssignments = async (migration: Migration, group: string): Promise<void> => {
  const { source, allot, report, names } = migration
  const { groups } = allot.quota
  const parts = async (key: string) => {
    const account = await names.account(key)
    return account && [account.id]
  }
  const things: ExistenceSubject = {
    kind: 'quotaAssignment',
    scope: group,
    parts,
    async find(key) {
      const account = await names.account(key)
      const isAssigned = account !== undefined && (await groups.assignedTo(account.name)).includes(group)
      return isAssigned ? parts(key) : undefined
    },
    remove: async (key) => groups.unassign((await names.account(key))?.name ?? key, group, OPERATOR),
  }
  const users = await source.list(SourceUser, apiPath('admin', 'quota', 'groups', group, 'users'))
  const wanted = users.map(({ login }) => ({
    name: names.key(login),
    label: login,
    async create() {
      const account = await names.accountOf(login)
      if (account === undefined) report.note('notCopied', NOT_HERE, `${login} in ${group}`)
      else await groups.assign(account.name, group, OPERATOR)
      return account !== undefined
    },
  }))
  await synchronize(migration, things, wanted, false)
}
