/** Quota groups: the list, the page of each, and the forms that change, assign and delete one. */
import { AllotError } from '../../errors.ts'
import type { Effects } from '../../quota/effects.ts'
import type { QuotaGroup, QuotaRule } from '../../quota/evaluate.ts'
import type { NamedPlan } from '../../quota/plans-by-name.ts'
import { allItems } from '../../records/pages.ts'
import {
  ActionButtons,
  Count,
  Empty,
  type FlashMessage,
  formatCount,
  Link,
  Post,
  Section,
  Table,
} from '../parts/components.tsx'
import { FieldFailure, NameField } from '../parts/fields.tsx'
import { Named } from '../parts/inline.tsx'
import { invalidAttributes, labelOf, type Refusal } from '../parts/labels.ts'
import { pageNumber, sliceOf } from '../parts/paging.tsx'
import { groupPath, rulePath } from '../parts/quota-paths.ts'
import { type PageServices, page, type View } from '../parts/route.ts'
import { unbrokenLimit } from '../parts/sizes.ts'
import { subjectsInWords } from '../parts/subject-names.ts'
import { afterDeletion } from './effects.tsx'
import { ADMINISTRATION, adminForm, adminPage, adminView, ownerNamed } from './form.tsx'
import { Members } from './group-members.tsx'

export const groupPageRoutes = [
  page({
    ...adminPage,
    path: '/-/admin/groups',
    handle: ({ query }, services) => listGroups(services, { done: query.get('done') }),
  }),
  adminForm('/-/admin/groups', async ({ form, user }, services) => {
    const name = form.text('name')
    return {
      async plan() {
        if ((await services.quota.groups.get(name)) !== undefined)
          throw new AllotError('conflict', `a group named ${name} already exists`, { field: 'name' })
        return { groups: [{ name, rules: [] }] }
      },
      async apply() {
        await services.quota.groups.create({ name }, user)
        return `${groupPath(name)}&done=created`
      },
      showAgain: (failure) => listGroups(services, { failure, name }),
    }
  }),
  page({
    ...adminPage,
    path: '/-/admin/group',
    async handle({ query }, services) {
      const group = await findGroup(services, query.get('name') ?? '')
      return showGroup(services, group, { done: query.get('done') }, pageNumber(query))
    },
  }),
  adminForm('/-/admin/group', async ({ form, user }, services) => {
    const group = await findGroup(services, form.text('name'))
    const chosen = form.all('rule')
    const plan = { groups: [{ name: group.name, rules: chosen }] }
    return {
      plan: () => plan,
      // Without a rule, the group limits nothing.
      asksFirst: group.rules.length > 0 && chosen.length === 0,
      async apply() {
        await services.hosting.plans.apply(plan, { by: user })
        return `${groupPath(group.name)}&done=saved`
      },
      showAgain: (failure) => showGroup(services, group, { failure, chosen }),
    }
  }),
  adminForm('/-/admin/group/members', async ({ form, user }, services) => {
    const group = await findGroup(services, form.text('name'))
    const isAdded = form.text('remove') === ''
    const owner = form.text(isAdded ? 'owner' : 'remove')
    return {
      plan: () => memberPlan(services, group.name, owner, isAdded),
      ...(isAdded ? {} : { cancelTo: groupPath(group.name) }),
      async apply() {
        if (isAdded) await services.quota.groups.assign(ownerNamed(owner, 'assignee'), group.name, user)
        else await services.quota.groups.unassign(ownerNamed(owner, 'assignee'), group.name, user)
        return `${groupPath(group.name)}&done=${isAdded ? 'added' : 'removed'}`
      },
      showAgain: (failure) =>
        showGroup(services, group, {
          // Whatever refuses the form, the owner is its only field.
          failure: failure && { ...failure, field: 'assignee' },
          owner: isAdded ? owner : '',
        }),
    }
  }),
  adminForm('/-/admin/group/delete', async ({ form, user }, services) => {
    const group = await findGroup(services, form.text('name'))
    return {
      deletes: `the group ${group.name}`,
      cancelTo: groupPath(group.name),
      without: { group: group.name },
      concerns: (effects) => concernsOf(services, group.name, effects),
      async apply() {
        await services.quota.groups.remove(group.name, user)
        return '/-/admin/groups?done=deleted'
      },
      showAgain: (failure) => showGroup(services, group, { failure }),
    }
  }),
]

const findGroup = async ({ quota }: PageServices, name: string): Promise<QuotaGroup> => {
  const group = await quota.groups.get(name)
  if (group === undefined) throw new AllotError('not_found', `there is no group named ${name}`)
  return group
}

/** Whom the deletion of a group concerns, and which limit decides afterwards. */
const concernsOf = async ({ quota }: PageServices, name: string, effects: Effects): Promise<string> => {
  const { total: assigned } = (await quota.groups.members(name, { offset: 0, limit: 1 })) ?? { total: 0 }
  const byDefault = effects.affected - assigned
  const owners = (count: number) => (count === 0 ? 'no owner' : formatCount(count, 'owner'))
  const scope = !quota.reports.isDefaultGroup(name)
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
    throw new AllotError('conflict', `the group ${group} is already assigned`)
  const others = assigned.filter((other) => other !== group)
  return { assignments: { [name]: isAdded ? [...others, group] : others } }
}

const listGroups = async (
  { quota }: PageServices,
  { name = '', ...message }: { name?: string } & FlashMessage,
): Promise<View> => {
  const groups = await allItems((slice) => quota.groups.list(slice))
  return adminView(
    'Groups',
    message,
    <>
      <Section id="groups" title="All groups" aside={<Count of={groups.length} singular="group" />}>
        {groups.length === 0 ? (
          <Empty title="No groups" icon="group">
            <p>A group gives its rules to the owners that it is assigned to.</p>
          </Empty>
        ) : (
          <Table column="Group" numbers={['Rules']}>
            {groups.map((group) => (
              <tr key={group.name}>
                <td>
                  <Named icon="group">
                    <Link to={groupPath(group.name)}>{group.name}</Link>{' '}
                    {quota.reports.isDefaultGroup(group.name) && <span class="tag">default</span>}
                    <div class="small">
                      {group.rules.map(ruleText).join(', ') || 'no rules: limits nothing'}
                    </div>
                  </Named>
                </td>
                <td class="number">{group.rules.length}</td>
              </tr>
            ))}
          </Table>
        )}
      </Section>
      <Section
        id="new"
        title="New group"
        about="An owner must be within all rules of a group. An owner with several groups must be within one of them, checked for each subject."
      >
        <Post to="/-/admin/groups" class="stacked">
          <NameField value={name} failure={message.failure} />
          <button type="submit">Create</button>
        </Post>
      </Section>
    </>,
  )
}

/** What was entered in a form of a group that is shown again. */
interface EnteredInGroup {
  readonly owner?: string
  /** Names of rules. */
  readonly chosen?: readonly string[]
}

const showGroup = async (
  { quota, hosting }: PageServices,
  group: QuotaGroup,
  { owner = '', chosen = group.rules.map(({ name }) => name), ...message }: FlashMessage & EnteredInGroup,
  page = 1,
): Promise<View> => {
  const rules = await allItems((slice) => quota.rules.list(slice))
  const { items, total } = (await quota.groups.members(group.name, sliceOf(page))) ?? { items: [], total: 0 }
  const members = await hosting.accounts.byIds(items)
  return adminView(
    `Group ${group.name}`,
    message,
    <>
      <Rules group={group} rules={rules} chosen={chosen} failure={message.failure} />
      <Members
        group={group.name}
        members={members}
        page={page}
        total={total}
        isDefault={quota.reports.isDefaultGroup(group.name)}
        owner={owner}
        failure={message.failure}
      />
      <Section
        id="delete"
        title="Delete group"
        about="Its rules are kept. You see which owners lose a limit before anything changes."
      >
        <Post to="/-/admin/group/delete" fields={{ name: group.name }} class="stacked">
          <button type="submit" class="danger">
            Delete group…
          </button>
        </Post>
      </Section>
    </>,
    [ADMINISTRATION, { name: 'Groups', to: '/-/admin/groups' }],
  )
}

const ruleText = ({ name, limit }: QuotaRule): string => `${name} (${unbrokenLimit(limit)})`

interface RulesProps {
  group: QuotaGroup
  rules: readonly QuotaRule[]
  /** Names of the rules that are ticked. */
  chosen: readonly string[]
  /** Why the form was refused. */
  failure: Refusal | undefined
}

const Rules = ({ group, rules, chosen, failure }: RulesProps) => (
  <Section id="rules" title={labelOf('rules')} about="An owner with this group must be within each of them.">
    <Post to="/-/admin/group" fields={{ name: group.name }} class="stacked">
      <fieldset>
        <legend class="hidden">{labelOf('rules')}</legend>
        <FieldFailure field="rules" failure={failure} />
        {rules.length === 0 && <p>No rules exist yet.</p>}
        {rules.map(({ name, limit, subjects }) => (
          <div key={name} class="line">
            <label class="box">
              <input
                type="checkbox"
                name="rule"
                value={name}
                checked={chosen.includes(name)}
                {...invalidAttributes('rules', failure)}
              />
              <span>
                {name}{' '}
                <span class="small">
                  {unbrokenLimit(limit)}, {subjectsInWords(subjects)}
                </span>
              </span>
            </label>
            <Link to={rulePath(name)} label={`View rule ${name}`}>
              View
            </Link>
          </div>
        ))}
      </fieldset>
      <ActionButtons label="Save" />
    </Post>
  </Section>
)
