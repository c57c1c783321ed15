import * as v from 'valibot'
import { checkSubjects } from '../../lib/quota/rules.ts'
import type { Subject } from '../../lib/quota/subjects.ts'
import { allItems } from '../../lib/records/pages.ts'
import type { MigrationRecord } from '../../lib/records/schema/index.ts'
import { digestOf, followDetails, type OnlyDetails, type Values, wasChangedHere } from './details.ts'
import { apiPath, ifAvailable, type Migration, OPERATOR, reportErrors } from './migration.ts'
import { SourceUser } from './shapes.ts'
import { createMissing, type ExistenceSubject, isCopy, removeOthers, synchronize } from './synchronize.ts'

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
const CREATED_HERE =
  'quota rules and groups that were created here with other values than at the source, and keep these'
const USED =
  'quota rules and groups that were removed at the source, and stay, because they were changed or are used here'

/** Subjects that Forgejo names differently. */
const SUBJECTS: Readonly<Record<string, string>> = { 'size:assets:wiki': 'size:wiki' }

/** The name here of a subject of the source. */
export const subjectHere = (name: string): string => (Object.hasOwn(SUBJECTS, name) ? SUBJECTS[name]! : name)

/** Copies rules, groups and their assignments, and follows what the source changes. */
export const copyQuota = async (migration: Migration): Promise<void> => {
  const { source, report } = migration
  const rules = await ifAvailable(source.list(SourceRule, '/admin/quota/rules'))
  const groups = await ifAvailable(source.list(SourceGroup, '/admin/quota/groups'))
  if (rules === undefined || groups === undefined) return report.note('notCopied', NO_QUOTA, source.base)
  const [ruleSubject, groupSubject] = [rulesOf(migration), groupsOf(migration)]
  await copyRules(migration, ruleSubject, rules)
  await copyGroups(migration, groupSubject, groups)
  for (const { name } of groups)
    await reportErrors(report, `the quota group ${name}`, () => copyAssignments(migration, name))
  // A rule is removed after the groups that had it.
  await removeGone(migration, groupSubject, groups)
  await removeGone(migration, ruleSubject, rules)
}

/** The rules or the groups of the quota, which their names identify. */
interface QuotaSubject<Members> extends ExistenceSubject {
  kind: 'quotaRule' | 'quotaGroup'
  /** The members to compare; undefined when it does not exist here. */
  membersOf(name: string): Promise<Members | undefined>
  /** Whether something here needs a copy that was not changed. */
  isUsed(name: string): Promise<boolean>
}

type RuleMembers = Pick<SourceRule, 'limit' | 'subjects'>
type GroupMembers = { rules: string[] }

const rulesOf = ({ allot }: Migration): QuotaSubject<RuleMembers> => {
  const { rules, groups } = allot.quota
  return {
    ...existing('quotaRule', allot.hosting.quotaRules),
    remove: async (name) => void (await rules.remove(name, OPERATOR)),
    async membersOf(name) {
      const rule = await rules.get(name)
      return rule && { limit: rule.limit, subjects: [...rule.subjects].sort() }
    },
    async isUsed(name) {
      const all = await allItems((slice) => groups.list(slice))
      return all.some((group) => group.rules.some((rule) => rule.name === name))
    },
  }
}

const groupsOf = ({ allot, migrationLog, defaultGroups = [] }: Migration): QuotaSubject<GroupMembers> => {
  const { groups } = allot.quota
  return {
    ...existing('quotaGroup', allot.hosting.quotaGroups),
    remove: async (name) => void (await groups.remove(name, OPERATOR)),
    async membersOf(name) {
      const group = await groups.get(name)
      return group && { rules: group.rules.map((rule) => rule.name).sort() }
    },
    async isUsed(name) {
      if (defaultGroups.includes(name)) return true
      const assigned = await migrationLog.list('quotaAssignment', name)
      const copied = new Set(assigned.map(({ copy }) => copy?.to))
      const members = await allot.hosting.quotaGroups.members(name, { offset: 0, limit: copied.size + 1 })
      return members?.items.some((id) => !copied.has(id)) === true
    },
  }
}

/** The number tells a copy from another rule or group that was created here under its name. */
const existing = (
  kind: 'quotaRule' | 'quotaGroup',
  numbers: { numberOf(name: string): Promise<number | undefined> },
): Pick<QuotaSubject<unknown>, 'kind' | 'scope' | 'ends' | 'find'> => ({
  kind,
  scope: '',
  ends: async () => ({}),
  async find(name) {
    const number = await numbers.numberOf(name)
    return number === undefined ? undefined : { id: number }
  },
})

const copyRules = async (
  migration: Migration,
  subject: QuotaSubject<RuleMembers>,
  rules: readonly SourceRule[],
) => {
  const { allot, report } = migration
  const wanted = rules.map(({ name, limit, subjects }) => ({
    name,
    label: name,
    async create() {
      await allot.quota.rules.create({ name, limit, subjects: parseSubjects(subjects) }, OPERATOR)
      return true
    },
  }))
  await createMissing(migration, subject, wanted)
  for (const { name, limit, subjects: names } of rules)
    await reportErrors(report, `the quota rule ${name}`, async () => {
      if ((await allot.quota.rules.get(name)) === undefined) return
      const subjects = parseSubjects(names)
      const source = { limit, subjects: [...subjects].sort() }
      await follow(migration, subject, name, source, async ({ limit, subjects: changed }) => {
        await allot.quota.rules.edit(name, { limit, subjects: changed && subjects }, OPERATOR)
      })
    })
}

/** @throws AllotError invalid when a subject is unknown here */
const parseSubjects = (names: readonly string[]): Subject[] => {
  const subjects = names.map(subjectHere)
  checkSubjects(subjects)
  return subjects as Subject[]
}

/** A group gets no rule that was removed here. */
const copyGroups = async (
  migration: Migration,
  subject: QuotaSubject<GroupMembers>,
  groups: readonly SourceGroup[],
) => {
  const { allot, migrationLog, report } = migration
  const removed = new Set<string>()
  for (const { name, copy } of await migrationLog.list('quotaRule', ''))
    if (copy !== undefined && (await allot.quota.rules.get(name)) === undefined) removed.add(name)
  const all = groups.map(({ name, rules }) => ({
    name,
    rules: rules.map((rule) => rule.name).filter((rule) => !removed.has(rule)),
  }))
  const wanted = all.map((group) => ({
    name: group.name,
    label: group.name,
    async create() {
      await allot.quota.groups.create(group, OPERATOR)
      return true
    },
  }))
  await createMissing(migration, subject, wanted)
  for (const { name, rules } of all)
    await reportErrors(report, `the quota group ${name}`, () =>
      // A plan changes all rules of a group at once.
      follow(migration, subject, name, { rules: [...rules].sort() }, () =>
        allot.quota.apply({ groups: [{ name, rules }] }, { by: OPERATOR }),
      ),
    )
}

/**
 * Follows the members of a copy. A rule or a group that was created here stays as it is.
 * @param change gives the copy these members of the source
 */
const follow = async <T extends OnlyDetails<T>>(
  migration: Migration,
  { kind, scope, find, membersOf }: QuotaSubject<T>,
  name: string,
  source: T,
  change: (members: Partial<T>) => Promise<unknown>,
): Promise<void> => {
  const { migrationLog, report } = migration
  const here = await membersOf(name)
  if (here === undefined) return
  const known = await migrationLog.get(kind, scope, name)
  if (isCopy(known, await find(name)))
    await followDetails(migration, { kind, scope, name, label: name, here, source }, change)
  else if (digestOf(here) !== digestOf(source)) report.note('differs', CREATED_HERE, name)
}

/** Removes copies that the source no longer has, except those that were changed here or are used here. */
const removeGone = async (
  migration: Migration,
  subject: QuotaSubject<Values>,
  given: readonly { name: string }[],
): Promise<void> => {
  const { migrationLog, report } = migration
  const names = new Set(given.map(({ name }) => name))
  const gone: MigrationRecord[] = []
  for (const record of await migrationLog.list(subject.kind, '')) {
    if (names.has(record.name)) continue
    const here = await subject.membersOf(record.name)
    if (here === undefined || !isCopy(record, await subject.find(record.name))) gone.push(record)
    else if (wasChangedHere(record, here) || (await subject.isUsed(record.name)))
      report.note('differs', USED, record.name)
    else gone.push(record)
  }
  await removeOthers(migration, subject, gone, [])
}

/** Copies which owners a group is assigned to. */
const copyAssignments = async (migration: Migration, group: string): Promise<void> => {
  const { source, allot, report, names } = migration
  const { groups } = allot.quota
  const number = await allot.hosting.quotaGroups.numberOf(group)
  if (number === undefined) return
  const ends = (key: string) => names.ends(number, key)
  const things: ExistenceSubject = {
    kind: 'quotaAssignment',
    scope: group,
    ends,
    async find(key) {
      const account = await names.accountWithKey(key)
      const isAssigned = account !== undefined && (await groups.assignedTo(account.name)).includes(group)
      return isAssigned ? ends(key) : undefined
    },
    remove: async (key) => groups.unassign(await names.loginHere(key), group, OPERATOR),
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
  await synchronize(migration, things, wanted)
}
