import { checkSubjects } from '../../lib/quota/rules.ts'
import type { Subject } from '../../lib/quota/subjects.ts'
import { collect, ifAvailable, type Migration, reportErrors } from './migration.ts'
import { SourceGroup, SourceRule, SourceUser } from './source-types.ts'

const NO_QUOTA = 'quota, which the source does not have, or has turned off'
const STRANGERS = 'quota groups of whoever is not here'

/** What a Forgejo calls the wiki. */
const WORDS: Readonly<Record<string, string>> = { 'size:assets:wiki': 'size:wiki' }

/** Rules, groups and whose they are. What is there by that name stays as it is, and is told of where it differs. */
export const copyQuota = async (migration: Migration): Promise<void> => {
  const { source, report } = migration
  const rules = await ifAvailable(collect(source.list(SourceRule, '/admin/quota/rules')))
  const groups = await ifAvailable(collect(source.list(SourceGroup, '/admin/quota/groups')))
  if (rules === undefined || groups === undefined) return report.behind(NO_QUOTA, source.base)
  for (const rule of rules)
    await reportErrors(report, `the quota rule ${rule.name}`, () =>
      copyRule(migration, rule.name, rule.limit, subjectsOf(rule.subjects ?? [])),
    )
  for (const { name, rules } of groups)
    await reportErrors(report, `the quota group ${name}`, async () => {
      await copyGroup(
        migration,
        name,
        (rules ?? []).map((rule) => rule.name),
      )
      await copyAssignments(migration, name)
    })
}

/** @throws AllotError invalid for one that is not known here */
const subjectsOf = (given: readonly string[]): Subject[] => {
  const subjects = given.map((one) => (Object.hasOwn(WORDS, one) ? WORDS[one]! : one))
  checkSubjects(subjects)
  return subjects as Subject[]
}

const copyRule = async ({ allot, report }: Migration, name: string, limit: number, subjects: Subject[]) => {
  const { rules } = allot.quota
  const there = await rules.get(name)
  if (there === undefined) {
    await rules.create({ name, limit, subjects })
    return report.copied('quota rules')
  }
  report.found('quota rules')
  if (there.limit !== limit || !isSame(there.subjects, subjects))
    report.failed(`the quota rule ${name}`, 'it has another limit or other subjects here, and stays as it is')
}

const copyGroup = async ({ allot, report }: Migration, name: string, rules: readonly string[]) => {
  const { groups } = allot.quota
  const there = await groups.get(name)
  if (there === undefined) {
    await groups.create({ name, rules })
    return report.copied('quota groups')
  }
  report.found('quota groups')
  const known = there.rules.map((rule) => rule.name)
  if (!isSame(known, rules))
    report.failed(`the quota group ${name}`, 'it has other rules here, and stays as it is')
}

const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  [...one].sort().join('\n') === [...other].sort().join('\n')

const copyAssignments = async ({ source, allot, report }: Migration, group: string): Promise<void> => {
  const path = `/admin/quota/groups/${encodeURIComponent(group)}/users`
  for await (const { login } of source.list(SourceUser, path)) {
    if ((await allot.hosting.accounts.byName(login)) === undefined) {
      report.behind(STRANGERS, `${login} in ${group}`)
      continue
    }
    const isAssigned = (await allot.quota.groups.assignedTo(login)).includes(group)
    if (isAssigned) report.found('quota assignments')
    else {
      await allot.quota.groups.assign(login, group)
      report.copied('quota assignments')
    }
  }
}
