/** Quota groups: the list, the page of each, and the forms that change, assign and delete one. */
import { AllotError, existing, takenMember } from '../../errors.ts'
import type { QuotaGroup, QuotaRule } from '../../quota/evaluate.ts'
import type { NamedPlan } from '../../quota/plans-by-name.ts'
import type { Effects } from '../../quota/simulation.ts'
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
import { Box, FieldFailure, NameField, useChosen } from '../parts/fields.tsx'
import { Named } from '../parts/inline.tsx'
import { labelOf } from '../parts/labels.ts'
import { List, Table } from '../parts/list.tsx'
import { pageNumber, sliceOf } from '../parts/paging.tsx'
import { type PageServices, page, type View } from '../parts/route.ts'
import { subjectsInWords } from '../parts/subject-names.ts'
import { afterDeletion } from './effects.tsx'
import { ADMINISTRATION, adminForm, adminPage, adminView, ownerNamed } from './form.tsx'
import { Members } from './group-members.tsx'

export const groupPageRoutes = [
  page({ ...adminPage, path: '/-/admin/groups', handle: (_request, services) => listGroups(services) }),
  adminForm('/-/admin/groups', async ({ form, user }, services) => {
    const name = form.text('name')
    return {
      async plan() {
        if ((await services.quota.groups.get(name)) !== undefined)
          throw new AllotError('conflict', `a group named ${name} already exists`, { field: 'name' })
        return { groups: [{ name, rules: [] }] }
      },
      async run() {
        await services.quota.groups.create({ name }, user)
        return `${groupPath(name)}&done=created`
      },
      page: () => listGroups(services),
    }
  }),
  page({
    ...adminPage,
    path: '/-/admin/group',
    handle: async ({ query }, services) =>
      groupView(services, await findGroup(services, query.get('name') ?? ''), pageNumber(query)),
  }),
  adminForm('/-/admin/group', async ({ form, user }, services) => {
    const group = await findGroup(services, form.text('name'))
    const [shown, chosen, present] = [form.all('shown'), form.all('rule'), group.rules.map(nameOf)]
    // What others have added or removed since the page was shown stays so.
    const kept = present.filter((name) => chosen.includes(name) || !shown.includes(name))
    const added = chosen.filter((name) => !present.includes(name) && !shown.includes(name))
    const rules = [...kept, ...added]
    const plan = { groups: [{ name: group.name, rules }] }
    return {
      plan: () => plan,
      // Without a rule, the group limits nothing.
      asksFirst: group.rules.length > 0 && rules.length === 0,
      async run() {
        await services.hosting.plans.apply(plan, { by: user })
        return `${groupPath(group.name)}&done=saved`
      },
      page: () => groupView(services, group),
    }
  }),
  adminForm('/-/admin/group/members', async ({ form, user }, services) => {
    const group = await findGroup(services, form.text('name'))
    const isAdded = form.text('remove') === ''
    const owner = form.text(isAdded ? 'owner' : 'remove')
    return {
      plan: () => memberPlan(services, group.name, owner, isAdded),
      ...(!isAdded && { cancelTo: groupPath(group.name) }),
      async run() {
        // For its errors, which name the field.
        await memberPlan(services, group.name, owner, isAdded)
        const change = isAdded ? 'assign' : 'unassign'
        await services.quota.groups[change](ownerNamed(owner, 'assignee'), group.name, user)
        return `${groupPath(group.name)}&done=${isAdded ? 'added' : 'removed'}`
      },
      page: () => groupView(services, group),
    }
  }),
  adminForm('/-/admin/group/delete', async ({ form, user }, services) => {
    const group = await findGroup(services, form.text('name'))
    return {
      deletes: `the group ${group.name}`,
      cancelTo: groupPath(group.name),
      without: { group: group.name },
      concerns: (effects) => concernsOf(services, group.name, effects),
      async run() {
        await services.quota.groups.remove(group.name, user)
        return '/-/admin/groups?done=deleted'
      },
      page: () => groupView(services, group),
    }
  }),
]

const nameOf = ({ name }: { name: string }): string => name

const findGroup = async ({ quota }: PageServices, name: string): Promise<QuotaGroup> => {
  return existing(await quota.groups.get(name), `there is no group named ${name}`)
}

/** Whom the deletion of a group concerns, and which limit decides afterwards. */
const concernsOf = async ({ quota }: PageServices, name: string, effects: Effects): Promise<string> => {
  const { total: assigned } = (await quota.groups.members(name, { offset: 0, limit: 1 })) ?? { total: 0 }
  const byDefault = effects.affected - assigned
  const owners = (count: number) => (count === 0 ? 'no owner' : formatCount(count, 'owner'))
  const scope = !quota.defaults.groups.includes(name)
    ? `The group is assigned to ${owners(assigned)}.`
    : assigned === 0
      ? `Default group: applies to ${owners(byDefault)}.`
      : `Default group: assigned to ${owners(assigned)}, and applies to ${owners(byDefault)} without another group.`
  return scope + afterDeletion(effects)
}

/** Adds the group to the groups of an owner, or removes it. */
const memberPlan = async (
  services: PageServices,
  group: string,
  owner: string,
  isAdded: boolean,
): Promise<NamedPlan> => {
  const { id, name } = await services.store.read(ownerNamed(owner, 'assignee'))
  const assigned = await services.quota.groups.assignedTo(id)
  if (isAdded && assigned.includes(group))
    throw takenMember('assignee', `the group ${group} is already assigned`)
  const others = assigned.filter((other) => other !== group)
  return { assignments: { [name]: isAdded ? [...others, group] : others } }
}

const listGroups = async ({ quota }: PageServices): Promise<View> => {
  const groups = await allItems((slice) => quota.groups.list(slice))
  return adminView(
    'Groups',
    <>
      <List
        id="groups"
        title="All groups"
        counted="group"
        items={groups}
        empty={
          <Empty title="No groups" icon="group">
            <p>A group gives its rules to the owners that it is assigned to.</p>
          </Empty>
        }
      >
        <Table
          items={groups}
          keyOf={({ name }) => name}
          columns={[
            {
              head: 'Group',
              cell: ({ name, rules }) => (
                <Named icon="group">
                  <Link to={groupPath(name)}>{name}</Link>{' '}
                  {quota.defaults.groups.includes(name) && <span class="tag">default</span>}
                  <div class="small">{rules.map(ruleText).join(', ') || 'no rules: limits nothing'}</div>
                </Named>
              ),
            },
            { head: 'Rules', class: 'number', cell: ({ rules }) => rules.length },
          ]}
        />
      </List>
      <Section
        id="new"
        title="New group"
        about="An owner must be within all rules of a group. An owner with several groups must be within one of them, checked for each subject."
      >
        <Post to="/-/admin/groups" class="stacked">
          <NameField />
          <button type="submit">Create</button>
        </Post>
      </Section>
    </>,
  )
}

const groupView = async ({ quota, hosting }: PageServices, group: QuotaGroup, page = 1): Promise<View> => {
  const rules = await allItems((slice) => quota.rules.list(slice))
  const { items, total } = (await quota.groups.members(group.name, sliceOf(page))) ?? { items: [], total: 0 }
  const members = await hosting.accounts.byIds(items)
  return adminView(
    `Group ${group.name}`,
    <>
      <Section
        id="rules"
        title={labelOf('rules')}
        about="An owner with this group must be within each of them."
      >
        <Post to="/-/admin/group" fields={{ name: group.name }} class="stacked">
          <RuleBoxes group={group} rules={rules} />
          <ActionButtons label="Save" />
        </Post>
      </Section>
      <Members
        group={group.name}
        members={members}
        page={page}
        total={total}
        isDefault={quota.defaults.groups.includes(group.name)}
      />
      <Section
        id="delete"
        title="Delete group"
        about="Its rules are kept. You see which owners lose a limit before anything changes."
      >
        <Post to="/-/admin/group/delete" fields={{ name: group.name }} class="stacked">
          <Submit kind="danger">Delete group…</Submit>
        </Post>
      </Section>
    </>,
    [ADMINISTRATION, { name: 'Groups', to: '/-/admin/groups' }],
  )
}

const ruleText = ({ name, limit }: QuotaRule): string => `${name} (${unbrokenLimit(limit)})`

const RuleBoxes = ({ group, rules }: { group: QuotaGroup; rules: readonly QuotaRule[] }) => {
  const present = group.rules.map(nameOf)
  const [shown, chosen] = [useChosen('shown', present), useChosen('rule', present)]
  return (
    <fieldset>
      <legend class="hidden">{labelOf('rules')}</legend>
      <FieldFailure field="rules" />
      {shown.map((name) => (
        <input key={name} type="hidden" name="shown" value={name} />
      ))}
      {rules.length === 0 && <p>No rules exist yet.</p>}
      {rules.map(({ name, limit, subjects }) => (
        <div key={name} class="line">
          <Box field="rules" name="rule" value={name} isChecked={chosen.includes(name)}>
            {name}{' '}
            <span class="small">
              {unbrokenLimit(limit)}, {subjectsInWords(subjects)}
            </span>
          </Box>
          <Link to={rulePath(name)} label={`View rule ${name}`}>
            View
          </Link>
        </div>
      ))}
    </fieldset>
  )
}
