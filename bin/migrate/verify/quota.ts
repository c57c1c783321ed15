import { apiPath, ifAvailable, reportErrors } from '../migration.ts'
import { SourceGroup, SourceRule, subjectHere } from '../quota.ts'
import { SourceUser } from '../shapes.ts'
import type { Source } from '../source.ts'
import type { Item } from './comparison.ts'
import type { Sides } from './sides.ts'

const RULES = '/admin/quota/rules'
const GROUPS = '/admin/quota/groups'

/** Compares quota rules, groups and the owners in them. A Gitea has none. */
export const compareQuota = (sides: Sides): Promise<void> =>
  reportErrors(sides.report, 'the quota', async () => {
    const { source, here, report, names } = sides
    const given = await ifAvailable(source.list(SourceRule, RULES))
    const groups = await ifAvailable(source.list(SourceGroup, GROUPS))
    if (given === undefined || groups === undefined) return
    report.count('quota', given.length + groups.length)
    report.lists('quota', 'rule', given.map(ruleItem), (await here.list(SourceRule, RULES)).map(ruleItem))
    const nameHere = async (login: string) => (await names.account(login))?.name
    const asNamed = async (login: string) => login
    report.lists(
      'quota',
      'group',
      await groupItems(source, groups, nameHere),
      await groupItems(here, await here.list(SourceGroup, GROUPS), asNamed),
    )
  })

const ruleItem = ({ name, limit, subjects }: SourceRule): Item => ({
  name,
  fields: { limit, subjects: subjects.map(subjectHere).sort() },
})

const groupItems = (
  side: Source,
  groups: readonly SourceGroup[],
  nameHere: (login: string) => Promise<string | undefined>,
): Promise<Item[]> =>
  Promise.all(
    groups.map(async ({ name, rules }) => {
      const users = await side.list(SourceUser, apiPath('admin', 'quota', 'groups', name, 'users'))
      const found = await Promise.all(users.map(({ login }) => nameHere(login)))
      const owners = found.filter((owner) => owner !== undefined).map((owner) => owner.toLowerCase())
      return { name, fields: { rules: rules.map((rule) => rule.name).sort(), owners: owners.sort() } }
    }),
  )
