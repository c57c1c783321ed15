/** Quota rules: the list, the page of each, and the forms that change and delete one. */
import { formatExactLimit, limitFault, parseLimit } from '../../byte-sizes.ts'
import { AllotError, existing, invalidMember } from '../../errors.ts'
import type { QuotaGroup, QuotaRule } from '../../quota/evaluate.ts'
import type { Effects } from '../../quota/simulation.ts'
import { isSubject, type Subject } from '../../quota/subjects.ts'
import { allItems } from '../../records/pages.ts'
import {
  ActionButtons,
  Empty,
  formatCount,
  groupPath,
  Link,
  Post,
  rulePath,
  Section,
  Submit,
  unbrokenLimit,
} from '../parts/components.tsx'
import { NameField } from '../parts/fields.tsx'
import type { Form } from '../parts/form.ts'
import { Joined, Named } from '../parts/inline.tsx'
import { List, Table } from '../parts/list.tsx'
import { type PageServices, page, type View } from '../parts/route.ts'
import { inWords, subjectsInWords } from '../parts/subject-names.ts'
import { afterDeletion } from './effects.tsx'
import { ADMINISTRATION, adminForm, adminPage, adminView } from './form.tsx'
import { LimitAndSubjects, savedSubjects } from './rule-fields.tsx'

export const rulePageRoutes = [
  page({ ...adminPage, path: '/-/admin/rules', handle: (_request, services) => listRules(services) }),
  adminForm('/-/admin/rules', async ({ form, user }, services) => ({
    async plan() {
      const rule = ruleFrom(form)
      if ((await services.quota.rules.get(rule.name)) !== undefined)
        throw new AllotError('conflict', `a rule named ${rule.name} already exists`, { field: 'name' })
      return { rules: [rule] }
    },
    async run() {
      await services.quota.rules.create(ruleFrom(form), user)
      return '/-/admin/rules?done=created'
    },
    page: () => listRules(services),
  })),
  page({
    ...adminPage,
    path: '/-/admin/rule',
    handle: async ({ query }, services) =>
      ruleView(services, await findRule(services, query.get('name') ?? '')),
  }),
  adminForm('/-/admin/rule', async ({ form, user }, services) => {
    const rule = await findRule(services, form.text('name'))
    return {
      plan: () => ({ rules: [ruleFrom(form, rule)] }),
      async run() {
        const { limit, subjects } = ruleFrom(form, rule)
        await services.quota.rules.edit(rule.name, { limit, subjects }, user)
        return `${rulePath(rule.name)}&done=saved`
      },
      page: () => ruleView(services, rule),
    }
  }),
  adminForm('/-/admin/rule/delete', async ({ form, user }, services) => {
    const rule = await findRule(services, form.text('name'))
    return {
      deletes: `the rule ${rule.name}`,
      cancelTo: rulePath(rule.name),
      without: { rule: rule.name },
      concerns: (effects) => concernsOf(services, rule.name, effects),
      async run() {
        await services.quota.rules.remove(rule.name, user)
        return '/-/admin/rules?done=deleted'
      },
      page: () => ruleView(services, rule),
    }
  }),
]

const findRule = async ({ quota }: PageServices, name: string): Promise<QuotaRule> => {
  return existing(await quota.rules.get(name), `there is no rule named ${name}`)
}

/** @throws AllotError invalid */
const ruleFrom = (form: Form, stored?: QuotaRule): QuotaRule => {
  const [name, subjects] = [form.text('name'), form.all('subject')]
  const entered = form.text('limit')
  // The API takes limits below -1, too: the form saves one that is there already.
  const isKept = stored !== undefined && entered === formatExactLimit(stored.limit)
  const limit = isKept ? stored.limit : limitFrom(entered)
  if (subjects.length === 0)
    throw invalidMember('subjects', 'choose at least one: a rule limits only its subjects')
  // The quota engine rejects unknown subjects, so they are kept.
  return {
    name,
    limit,
    subjects: subjects.every(isSubject) ? savedSubjects(subjects, stored?.subjects) : (subjects as Subject[]),
  }
}

/**
 * Accepts `unlimited`, grouped digits (`1,000,000`), `bytes` and units in any case, besides what the
 * configuration accepts.
 * @throws AllotError invalid
 */
const limitFrom = (text: string): number => {
  if (/^unlimited$/i.test(text)) return -1
  const size = text
    .replace(/\s+/g, ' ')
    .replace(/(?<=\d)[,_ ](?=\d{3}(?!\d))/g, '')
    .replace(/(?<=\d) ?bytes?$/i, '')
    .replace(/ ?([kmgtpe])ib$/i, (_, unit: string) => ` ${unit.toUpperCase()}iB`)
  const limit = parseLimit(size)
  if (limit !== undefined) return limit
  const expected = 'a size such as 2 GiB, a number of bytes, or "unlimited"'
  throw invalidMember('limit', `expected ${expected}, got "${text}"${limitFault(size)}`)
}

/** Whom the deletion of a rule concerns, and which limit decides afterwards. */
const concernsOf = async ({ quota }: PageServices, name: string, effects: Effects): Promise<string> => {
  const items = await allItems((slice) => quota.groups.list(slice))
  const groups = groupsWith(items, name)
  if (groups.length === 0) return 'No group has the rule.'
  const owners = effects.affected === 0 ? 'no owner' : formatCount(effects.affected, 'owner')
  return `The rule will be removed from ${inWords(groups)}, and applies to ${owners}.${afterDeletion(effects)}`
}

/** Names of the groups that have a rule. */
const groupsWith = (groups: readonly QuotaGroup[], rule: string): string[] =>
  groups.filter(({ rules }) => rules.some(({ name }) => name === rule)).map(({ name }) => name)

const listRules = async ({ quota }: PageServices): Promise<View> => {
  const rules = await allItems((slice) => quota.rules.list(slice))
  const groups = await allItems((slice) => quota.groups.list(slice))
  return adminView(
    'Rules',
    <>
      <List
        id="rules"
        title="All rules"
        counted="rule"
        items={rules}
        empty={
          <Empty title="No rules" icon="rule">
            <p>A rule limits how much owners may store, in all or of one kind.</p>
          </Empty>
        }
      >
        <RuleTable rules={rules} groups={groups} />
      </List>
      <Section
        id="new"
        title="New rule"
        about="An owner is within a rule while what its subjects use together is below the limit. A rule applies to owners through a group."
      >
        <Post to="/-/admin/rules" class="stacked">
          <NameField />
          <LimitAndSubjects />
          <ActionButtons label="Create" />
        </Post>
      </Section>
    </>,
  )
}

const subjectsText = (subjects: readonly Subject[]): string =>
  subjects.length === 0 ? 'No subjects' : subjectsInWords(subjects)

const groupsText = (groups: readonly string[]): string =>
  groups.length === 0
    ? 'in no group: limits no owner'
    : `in ${groups.length === 1 ? 'the group' : 'the groups'} ${inWords(groups)}`

const RuleTable = ({ rules, groups }: { rules: readonly QuotaRule[]; groups: readonly QuotaGroup[] }) => (
  <Table
    items={rules}
    keyOf={({ name }) => name}
    columns={[
      {
        head: 'Rule',
        cell: ({ name, subjects }) => (
          <Named icon="rule">
            <Link to={rulePath(name)}>{name}</Link>
            <div class="small slim">{subjectsText(subjects)}</div>
            <div class="small">{groupsText(groupsWith(groups, name))}</div>
          </Named>
        ),
      },
      { head: 'Subjects', class: 'wide', cell: ({ subjects }) => subjectsText(subjects) },
      { head: 'Limit', class: 'number', cellClass: 'sentence', cell: ({ limit }) => unbrokenLimit(limit) },
    ]}
  />
)

const ruleView = async ({ quota }: PageServices, rule: QuotaRule): Promise<View> => {
  const groups = await allItems((slice) => quota.groups.list(slice))
  return adminView(
    `Rule ${rule.name}`,
    <>
      <Section id="rule" title="Limit and subjects" about={<UsedBy groups={groupsWith(groups, rule.name)} />}>
        <Post to="/-/admin/rule" fields={{ name: rule.name }} class="stacked">
          <LimitAndSubjects stored={rule} />
          <ActionButtons label="Save" />
        </Post>
      </Section>
      <Section
        id="delete"
        title="Delete rule"
        about="It is removed from its groups. You see which owners lose a limit before anything changes."
      >
        <Post to="/-/admin/rule/delete" fields={{ name: rule.name }} class="stacked">
          <Submit kind="danger">Delete rule…</Submit>
        </Post>
      </Section>
    </>,
    [ADMINISTRATION, { name: 'Rules', to: '/-/admin/rules' }],
  )
}

/** The groups that have the rule. */
const UsedBy = ({ groups }: { groups: readonly string[] }) =>
  groups.length === 0 ? (
    <>
      No group has this rule, so it limits no owner. <Link to="/-/admin/groups">View groups</Link>
    </>
  ) : (
    <>
      Used by {groups.length === 1 ? 'the group' : 'the groups'}{' '}
      <Joined parts={groups.map((group) => <Link to={groupPath(group)}>{group}</Link>)} />.
    </>
  )
