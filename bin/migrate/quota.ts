import * as v from 'valibot'
import { checkSubjects } from '../../lib/quota/rule-checks.ts'
import type { Subject } from '../../lib/quota/subjects.ts'
import { allItems, type Page, type Slice } from '../../lib/records/pages.ts'
import type { Account } from '../../lib/records/schema/index.ts'
import { Copies } from './copies.ts'
import { followLinks } from './links.ts'
import { apiPath, ifAvailable, type Migration, OPERATOR, reportErrors } from './migration.ts'
import { SourceLogin } from './shapes.ts'
import type { Item, Things } from './things.ts'

const SourceRule = v.object({
  name: v.string(),
  limit: v.number(),
  subjects: v.nullish(v.array(v.string()), []),
})
type SourceRule = v.InferOutput<typeof SourceRule>
const SourceGroup = v.object({
  name: v.string(),
  rules: v.nullish(v.array(v.object({ name: v.string() })), []),
})
type SourceGroup = v.InferOutput<typeof SourceGroup>

const NO_QUOTA = 'quota, which the source does not have, or has turned off'
const NOT_HERE = 'quota groups of owners who do not exist here'

/** Subjects that Forgejo names differently. */
const SUBJECTS: Readonly<Record<string, string>> = { 'size:assets:wiki': 'size:wiki' }

/** The name here of a subject of the source. */
const subjectHere = (name: string): string => (Object.hasOwn(SUBJECTS, name) ? SUBJECTS[name]! : name)

/** Copies rules, groups and their assignments. A rule is removed after the groups that had it. */
export const copyQuota = async (migration: Migration): Promise<void> => {
  const { source, report } = migration
  const rules = await ifAvailable(source.list(SourceRule, '/admin/quota/rules'))
  const groups = await ifAvailable(source.list(SourceGroup, '/admin/quota/groups'))
  if (rules === undefined || groups === undefined) return report.note('notCopied', NO_QUOTA, source.base)
  const copies = new Copies(migration, rulesOf(migration))
  const items = itemsOfRules(migration, rules)
  await copies.give(items)
  await new Copies(migration, groupsOf(migration)).synchronize(itemsOfGroups(migration, groups))
  await copies.withdraw(items)
  for (const { name } of groups)
    await reportErrors(report, `the quota group ${name}`, () => copyAssignments(migration, name))
}

/** Rules or groups. The number tells a copy from another one that was created here under its name. */
const numbered = (
  kind: Things['kind'],
  records: {
    list(slice: Slice): Promise<Page<{ readonly name: string }>>
    remove(name: string, by: typeof OPERATOR): Promise<unknown>
  },
  numbers: { numberOf(name: string): Promise<number | undefined> },
  more: Pick<Things, 'members' | 'isNeeded'>,
): Things => {
  const find = async (name: string) => {
    const id = await numbers.numberOf(name)
    return id === undefined ? undefined : { id }
  }
  return {
    kind,
    scope: '',
    find,
    async list() {
      const all = await allItems((slice) => records.list(slice))
      return Promise.all(all.map(async ({ name }) => ({ copy: (await find(name))!, label: name })))
    },
    remove: (name) => records.remove(name, OPERATOR),
    ...more,
  }
}

const rulesOf = ({ allot }: Migration): Things => {
  const { rules, groups } = allot.quota
  return numbered('quotaRule', rules, allot.hosting.quotaRules, {
    async members(_, name) {
      const { limit, subjects = [] } = (await rules.get(name)) ?? {}
      return { limit, subjects: [...subjects].sort() }
    },
    async isNeeded(_, name) {
      const all = await allItems((slice) => groups.list(slice))
      return all.some((group) => group.rules.some((rule) => rule.name === name))
    },
  })
}

const itemsOfRules = ({ allot }: Migration, given: readonly SourceRule[]): Item[] => {
  const { rules } = allot.quota
  return given.map(({ name, limit, subjects }) => {
    const values = { limit, subjects: subjects.map(subjectHere).sort() }
    return {
      name,
      label: name,
      values,
      create: async () =>
        (await rules.create({ name, limit, subjects: parseSubjects(subjects) }, OPERATOR)) !== undefined,
      edit: (_, edit: Partial<typeof values>) =>
        rules.edit(name, { ...edit, subjects: edit.subjects && parseSubjects(edit.subjects) }, OPERATOR),
    }
  })
}

/** @throws AllotError invalid when a subject is unknown here */
const parseSubjects = (names: readonly string[]): Subject[] => {
  const subjects = names.map(subjectHere)
  checkSubjects(subjects)
  return subjects as Subject[]
}

const groupsOf = ({ allot, migrationLog, defaultGroups = [] }: Migration): Things => {
  const { groups } = allot.quota
  const { quotaGroups } = allot.hosting
  return numbered('quotaGroup', groups, quotaGroups, {
    members: async (_, name) => ({ rules: (await groups.get(name))?.rules.map((rule) => rule.name).sort() }),
    async isNeeded(_, name) {
      if (defaultGroups.includes(name)) return true
      const assigned = await migrationLog.list('quotaAssignment', name)
      const copied = new Set(assigned.map(({ copy }) => copy?.to))
      const members = await quotaGroups.members(name, { offset: 0, limit: copied.size + 1 })
      return members?.items.some((id) => !copied.has(id)) === true
    },
  })
}

const itemsOfGroups = ({ allot }: Migration, given: readonly SourceGroup[]): Item[] =>
  given.map(({ name, ...group }) => {
    const rules = group.rules.map((rule) => rule.name)
    return {
      name,
      label: name,
      values: { rules: [...rules].sort() },
      create: async () => (await allot.quota.groups.create({ name, rules }, OPERATOR)) !== undefined,
      // A plan changes all rules of a group at once.
      edit: () => allot.quota.apply({ groups: [{ name, rules }] }, { by: OPERATOR }),
    }
  })

/** Copies which owners a group is assigned to. */
const copyAssignments = async (migration: Migration, group: string): Promise<void> => {
  const { source, allot, names } = migration
  const { groups } = allot.quota
  const { accounts, quotaGroups } = allot.hosting
  const number = await quotaGroups.numberOf(group)
  if (number === undefined) return
  const things = followLinks<Account>(migration, {
    kind: 'quotaAssignment',
    scope: group,
    within: group,
    of: number,
    withKey: (key) => names.accountWithKey(key),
    async all(slice) {
      const { items = [], total = 0 } = (await quotaGroups.members(group, slice)) ?? {}
      const found = await Promise.all(items.map((id) => accounts.byId(id)))
      return { items: found.filter((account) => account !== undefined), total }
    },
    has: async ({ name }) => (await groups.assignedTo(name)).includes(group),
    add: ({ name }) => groups.assign(name, group, OPERATOR),
    remove: ({ name }) => groups.unassign(name, group, OPERATOR),
    notHere: (label) => [NOT_HERE, `${label} in ${group}`],
  })
  const users = await source.list(SourceLogin, apiPath('admin', 'quota', 'groups', group, 'users'))
  const items = users.map(({ login }) => things.itemFor(names.key(login), login))
  await new Copies(migration, things).synchronize(items)
}
