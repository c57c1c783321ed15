/** @jsxRuntime automatic @jsxImportSource preact */
import { AllotError, invalid } from '../errors.ts'
import type { QuotaGroup, QuotaRule } from '../quota/evaluate.ts'
import type { Account } from '../records/schema/index.ts'
import type { NamedPlan } from '../repositories/named-quota.ts'
import { AdminNav, adminForm, adminPage } from './admin.tsx'
import {
  ActionButtons,
  FlashMessage,
  formatCount,
  Pages,
  Post,
  pageNumber,
  sliceOf,
  Table,
} from './components.tsx'
import { type PageContext, type PageServices, page, type View } from './route.ts'
import { ALL, rulePath } from './rules.tsx'

export const groupRoutes = [
  page({
    ...adminPage,
    path: '/-/admin/groups',
    handle: ({ frame, query }, services) => listGroups(services, frame, { done: query.get('done') }),
  }),
  adminForm('/-/admin/groups', async ({ form, frame }, services) => {
    const name = form.text('name')
    return {
      plan: () => ({ groups: [{ name, rules: [] }] }),
      async apply() {
        await services.quota.groups.create({ name })
        return `${groupPath(name)}&done=created`
      },
      showAgain: (failure) => listGroups(services, frame, { failure, name }),
    }
  }),
  page({
    ...adminPage,
    path: '/-/admin/group',
    async handle({ frame, query }, services) {
      const group = await findGroup(services, query.get('name') ?? '')
      return showGroup(services, frame, group, { done: query.get('done') }, pageNumber(query))
    },
  }),
  adminForm('/-/admin/group', async ({ form, frame }, services) => {
    const group = await findGroup(services, form.text('name'))
    const plan = { groups: [{ name: group.name, rules: form.all('rule') }] }
    return {
      plan: () => plan,
      async apply() {
        await services.hosting.plans.apply(plan)
        return `${groupPath(group.name)}&done=saved`
      },
      showAgain: (failure) => showGroup(services, frame, group, { failure }),
    }
  }),
  adminForm('/-/admin/group/members', async ({ form, frame }, services) => {
    const group = await findGroup(services, form.text('name'))
    const isAdded = form.text('remove') === ''
    const owner = form.text(isAdded ? 'owner' : 'remove')
    return {
      plan: () => memberPlan(services, group.name, owner, isAdded),
      async apply() {
        const { id } = await findOwner(services, owner)
        if (isAdded) await services.quota.groups.assign(id, group.name)
        else await services.quota.groups.unassign(id, group.name)
        return `${groupPath(group.name)}&done=${isAdded ? 'added' : 'removed'}`
      },
      showAgain: (failure) => showGroup(services, frame, group, { failure }),
    }
  }),
  adminForm('/-/admin/group/delete', async ({ form, frame }, services) => {
    const group = await findGroup(services, form.text('name'))
    return {
      plan: () => ({}),
      async apply() {
        await services.quota.groups.remove(group.name)
        return '/-/admin/groups?done=deleted'
      },
      showAgain: (failure) => showGroup(services, frame, group, { failure }),
    }
  }),
]

export const groupPath = (name: string): string => `/-/admin/group?name=${encodeURIComponent(name)}`

const findGroup = async ({ quota }: PageServices, name: string): Promise<QuotaGroup> => {
  const group = await quota.groups.get(name)
  if (group === undefined) throw new AllotError('not_found', `there is no group named ${name}`)
  return group
}

const findOwner = async ({ hosting }: PageServices, name: string): Promise<Account> => {
  const account = name === '' ? undefined : await hosting.accounts.byName(name)
  if (account === undefined) throw invalid(`there is no user or organization named "${name}"`)
  return account
}

/** Adds the group to the groups of an owner, or removes it. */
const memberPlan = async (
  services: PageServices,
  group: string,
  owner: string,
  isAdded: boolean,
): Promise<NamedPlan> => {
  const { id, name } = await findOwner(services, owner)
  const others = (await services.quota.groups.assignedTo(id)).filter((assigned) => assigned !== group)
  return { assignments: { [name]: isAdded ? [...others, group] : others } }
}

const listGroups = async (
  { quota }: PageServices,
  frame: PageContext,
  { name = '', ...message }: { name?: string } & FlashMessage,
): Promise<View> => {
  const { items: groups } = await quota.groups.list(ALL)
  return {
    title: 'Groups',
    body: (
      <>
        <h1>Groups</h1>
        <AdminNav frame={frame} />
        <FlashMessage {...message} />
        <p>
          For each subject, an owner is within quota while at least one assigned group has all of its rules
          for that subject met.
        </p>
        {groups.length === 0 ? (
          <p>No groups.</p>
        ) : (
          <Table column="Group" numbers={[]}>
            {groups.map((group) => (
              <tr key={group.name}>
                <td>
                  <a href={frame.at(groupPath(group.name))}>{group.name}</a>
                  <div class="small">{group.rules.map((rule) => rule.name).join(', ') || 'no rules'}</div>
                </td>
              </tr>
            ))}
          </Table>
        )}
        <section aria-labelledby="new">
          <h2 id="new">New group</h2>
          <Post frame={frame} to="/-/admin/groups" class="stacked">
            <label for="name">Name</label>
            <input id="name" name="name" value={name} maxLength={255} required />
            <button type="submit">Create</button>
          </Post>
        </section>
      </>
    ),
  }
}

const showGroup = async (
  { quota, hosting }: PageServices,
  frame: PageContext,
  group: QuotaGroup,
  message: FlashMessage,
  page = 1,
): Promise<View> => {
  const { items: rules } = await quota.rules.list(ALL)
  const { items, total } = (await quota.groups.members(group.name, sliceOf(page))) ?? { items: [], total: 0 }
  const members = await hosting.accounts.byIds(items)
  return {
    title: `Group ${group.name}`,
    body: (
      <>
        <h1>Group {group.name}</h1>
        <AdminNav frame={frame} />
        <FlashMessage {...message} />
        <Rules frame={frame} group={group} rules={rules} />
        <Members frame={frame} group={group.name} members={members} page={page} total={total} />
        <section aria-labelledby="delete">
          <h2 id="delete">Delete group</h2>
          <p>The group is removed from {formatCount(total, 'owner')}. Its rules are kept.</p>
          <Post frame={frame} to="/-/admin/group/delete">
            <input type="hidden" name="name" value={group.name} />
            <button type="submit" class="danger">
              Delete group
            </button>
          </Post>
        </section>
      </>
    ),
  }
}

const Rules = ({ frame, group, rules }: { frame: PageContext; group: QuotaGroup; rules: QuotaRule[] }) => (
  <section aria-labelledby="rules">
    <h2 id="rules">Rules</h2>
    <Post frame={frame} to="/-/admin/group">
      <input type="hidden" name="name" value={group.name} />
      <fieldset>
        <legend>Rules of this group</legend>
        {rules.length === 0 && <p>No rules exist yet.</p>}
        {rules.map(({ name }) => (
          <div key={name} class="line">
            <label class="box">
              <input
                type="checkbox"
                name="rule"
                value={name}
                checked={group.rules.some((rule) => rule.name === name)}
              />
              {name}
            </label>
            <a href={frame.at(rulePath(name))} aria-label={`View rule ${name}`}>
              View
            </a>
          </div>
        ))}
      </fieldset>
      <ActionButtons label="Save" />
    </Post>
  </section>
)

interface MembersProps {
  frame: PageContext
  group: string
  /** A page of the owners that the group is assigned to. */
  members: readonly Account[]
  page: number
  total: number
}

const Members = ({ frame, group, members, page, total }: MembersProps) => (
  <section aria-labelledby="members">
    <h2 id="members">Assigned to</h2>
    <p>{total === 0 ? 'No owners.' : formatCount(total, 'owner')}</p>
    {members.length > 0 && (
      <Post frame={frame} to="/-/admin/group/members">
        <input type="hidden" name="name" value={group} />
        <ul class="plain rows">
          {members.map(({ name }) => (
            <li key={name} class="line">
              <a href={frame.at(`/-/storage/${name}`)}>{name}</a>
              <button
                type="submit"
                class="secondary"
                name="remove"
                value={name}
                aria-label={`Remove ${name}`}
              >
                Remove
              </button>
            </li>
          ))}
        </ul>
      </Post>
    )}
    <Pages href={(number) => frame.at(`${groupPath(group)}&page=${number}`)} page={page} total={total} />
    <Post frame={frame} to="/-/admin/group/members" class="stacked">
      <input type="hidden" name="name" value={group} />
      <label for="owner">User or organization</label>
      <input id="owner" name="owner" autocapitalize="none" spellcheck={false} required />
      <ActionButtons label="Assign" />
    </Post>
  </section>
)
