import { AllotError, invalid } from '../errors.ts'
import type { QuotaGroup } from '../quota/evaluate.ts'
import type { Account } from '../records/schema.ts'
import { AdminNav, change, read } from './admin.tsx'
import { runAdminAction } from './admin-action.ts'
import { Buttons, FlashMessage } from './components.tsx'
import { Post } from './document.tsx'
import { formatCount } from './format.ts'
import { type PageContext, type PageServices, page, type View } from './route.ts'
import { ruleHref } from './rules.tsx'
import { pageNumber } from './storage.tsx'
import { Pages } from './usage-list.tsx'

/** @jsxRuntime automatic @jsxImportSource preact */

export const groupsView = (
  frame: PageContext,
  { groups, name = '', ...told }: { groups: readonly QuotaGroup[]; name?: string } & FlashMessage,
): View => ({
  title: 'Groups',
  body: (
    <>
      <h1>Groups</h1>
      <AdminNav frame={frame} />
      <FlashMessage {...told} />
      <p>A group stands when all of its rules that cover a subject stand; one group that stands is enough.</p>
      {groups.length === 0 ? <p>There are none.</p> : <GroupTable frame={frame} groups={groups} />}
      <section aria-labelledby="new">
        <h2 id="new">A new group</h2>
        <Post frame={frame} to="/-/admin/groups" class="stacked">
          <label for="name">Name</label>
          <input id="name" name="name" value={name} maxLength={255} required />
          <button type="submit">Create</button>
        </Post>
      </section>
    </>
  ),
})

export const groupHref = (frame: PageContext, name: string, page = 1): string =>
  frame.at(`/-/admin/group?name=${encodeURIComponent(name)}${page === 1 ? '' : `&page=${page}`}`)

const GroupTable = ({ frame, groups }: { frame: PageContext; groups: readonly QuotaGroup[] }) => (
  <table>
    <thead>
      <tr>
        <th scope="col">Group</th>
        <th scope="col">Rules</th>
      </tr>
    </thead>
    <tbody>
      {groups.map(({ name, rules }) => (
        <tr key={name}>
          <td>
            <a href={groupHref(frame, name)}>{name}</a>
          </td>
          <td>{rules.map((rule) => rule.name).join(', ') || 'none'}</td>
        </tr>
      ))}
    </tbody>
  </table>
)

export interface GroupData extends FlashMessage {
  readonly group: QuotaGroup
  /** The names of all rules that there are. */
  readonly rules: readonly string[]
  /** A page of the owners that it is assigned to. */
  readonly members: readonly string[]
  readonly total: number
  readonly number: number
  readonly size: number
}

export const groupView = (frame: PageContext, facts: GroupData): View => {
  const { name } = facts.group
  return {
    title: `Group ${name}`,
    body: (
      <>
        <h1>Group {name}</h1>
        <AdminNav frame={frame} />
        <FlashMessage said={facts.said} failure={facts.failure} />
        <Rules frame={frame} facts={facts} />
        <Members frame={frame} facts={facts} />
        <section aria-labelledby="delete">
          <h2 id="delete">Delete this group</h2>
          <p>It is taken from {formatCount(facts.total, 'owner')}; its rules stay.</p>
          <Post frame={frame} to="/-/admin/group/delete">
            <input type="hidden" name="name" value={name} />
            <button type="submit" class="grave">
              Delete the group
            </button>
          </Post>
        </section>
      </>
    ),
  }
}

const Rules = ({ frame, facts: { group, rules } }: { frame: PageContext; facts: GroupData }) => (
  <section aria-labelledby="rules">
    <h2 id="rules">Rules of the group</h2>
    <Post frame={frame} to="/-/admin/group">
      <input type="hidden" name="name" value={group.name} />
      <fieldset>
        <legend>Which rules it has</legend>
        {rules.length === 0 && <p>There are no rules yet.</p>}
        {rules.map((rule) => (
          <div key={rule} class="line">
            <label class="box">
              <input
                type="checkbox"
                name="rule"
                value={rule}
                checked={group.rules.some((one) => one.name === rule)}
              />
              {rule}
            </label>
            <a href={ruleHref(frame, rule)} aria-label={`see it: ${rule}`}>
              see it
            </a>
          </div>
        ))}
      </fieldset>
      <Buttons act="Save" />
    </Post>
  </section>
)

const Members = ({ frame, facts }: { frame: PageContext; facts: GroupData }) => {
  const { group, members, total, number, size } = facts
  return (
    <section aria-labelledby="members">
      <h2 id="members">Whom it is assigned to</h2>
      <p>{total === 0 ? 'Nobody.' : formatCount(total, 'owner')}</p>
      {members.length > 0 && (
        <Post frame={frame} to="/-/admin/group/members">
          <input type="hidden" name="name" value={group.name} />
          <ul class="plain rows">
            {members.map((member) => (
              <li key={member} class="line">
                <a href={frame.at(`/-/storage/${member}`)}>{member}</a>
                <button
                  type="submit"
                  class="quiet"
                  name="remove"
                  value={member}
                  aria-label={`Remove ${member}`}
                >
                  Remove
                </button>
              </li>
            ))}
          </ul>
        </Post>
      )}
      <Pages
        at={(page) => groupHref(frame, group.name, page)}
        number={number}
        last={Math.max(1, Math.ceil(total / size))}
        words={['Before', 'After']}
      />
      <Post frame={frame} to="/-/admin/group/members" class="stacked">
        <input type="hidden" name="name" value={group.name} />
        <label for="owner">Assign it to a user or an organization</label>
        <input id="owner" name="owner" autocapitalize="none" spellcheck={false} required />
        <Buttons act="Assign" />
      </Post>
    </section>
  )
}

const ALL = { offset: 0, limit: 1000 }
const PAGE = 50

const existing = async ({ quota }: PageServices, name: string): Promise<QuotaGroup> => {
  const group = await quota.groups.get(name)
  if (group === undefined) throw new AllotError('not_found', `there is no group named ${name}`)
  return group
}

const listed = async (
  { quota }: PageServices,
  frame: PageContext,
  more: { said?: string | null; failure?: string; name?: string },
): Promise<View> => groupsView(frame, { groups: (await quota.groups.list(ALL)).items, ...more })

const shown = async (
  services: PageServices,
  frame: PageContext,
  group: QuotaGroup,
  more: Partial<Pick<GroupData, 'said' | 'failure' | 'number'>>,
): Promise<View> => {
  const { quota, hosting } = services
  const number = more.number ?? 1
  const members = await quota.groups.members(group.name, { offset: (number - 1) * PAGE, limit: PAGE })
  const accounts = await hosting.accounts.byIds(members?.items ?? [])
  return groupView(frame, {
    ...more,
    ...{ group, number, size: PAGE, total: members?.total ?? 0 },
    rules: (await quota.rules.list(ALL)).items.map(({ name }) => name),
    members: accounts.map(({ name }) => name),
  })
}

const pathOf = (group: string, said: string): string =>
  `/-/admin/group?name=${encodeURIComponent(group)}&said=${said}`

const ownerNamed = async ({ hosting }: PageServices, name: string): Promise<Account> => {
  const account = name === '' ? undefined : await hosting.accounts.byName(name)
  if (account === undefined) throw invalid(`there is no user or organization named "${name}"`)
  return account
}

/** What a change of a member comes to: another list of groups. */
const memberPlan = async (services: PageServices, group: string, owner: string, isAdded: boolean) => {
  const { id, name } = await ownerNamed(services, owner)
  const others = (await services.quota.groups.assignedTo(id)).filter((one) => one !== group)
  return { assignments: { [name]: isAdded ? [...others, group] : others } }
}

export const groupRoutes = [
  page({
    ...read,
    path: '/-/admin/groups',
    handle: ({ frame, query }, services) => listed(services, frame, { said: query.get('said') }),
  }),
  page({
    ...change,
    path: '/-/admin/groups',
    async handle({ form, frame, user }, services) {
      const name = form.text('name')
      return runAdminAction(services, {
        ...{ form, frame, user, path: '/-/admin/groups' },
        plan: () => ({ groups: [{ name, rules: [] }] }),
        async apply() {
          await services.quota.groups.create({ name })
          return { to: pathOf(name, 'created') }
        },
        showAgain: (failure) => listed(services, frame, { failure, name }),
      })
    },
  }),
  page({
    ...read,
    path: '/-/admin/group',
    handle: async ({ frame, query }, services) =>
      shown(services, frame, await existing(services, query.get('name') ?? ''), {
        said: query.get('said'),
        number: pageNumber(query),
      }),
  }),
  page({
    ...change,
    path: '/-/admin/group',
    async handle({ form, frame, user }, services) {
      const group = await existing(services, form.text('name'))
      const plan = { groups: [{ name: group.name, rules: form.all('rule') }] }
      return runAdminAction(services, {
        ...{ form, frame, user, path: '/-/admin/group' },
        plan: () => plan,
        async apply() {
          await services.hosting.plans.apply(plan)
          return { to: pathOf(group.name, 'saved') }
        },
        showAgain: (failure) => shown(services, frame, group, { failure }),
      })
    },
  }),
  page({
    ...change,
    path: '/-/admin/group/members',
    async handle({ form, frame, user }, services) {
      const group = await existing(services, form.text('name'))
      const isAdded = form.text('remove') === ''
      const owner = form.text(isAdded ? 'owner' : 'remove')
      return runAdminAction(services, {
        ...{ form, frame, user, path: '/-/admin/group/members' },
        plan: () => memberPlan(services, group.name, owner, isAdded),
        async apply() {
          const { id } = await ownerNamed(services, owner)
          if (isAdded) await services.quota.groups.assign(id, group.name)
          else await services.quota.groups.unassign(id, group.name)
          return { to: pathOf(group.name, isAdded ? 'added' : 'removed') }
        },
        showAgain: (failure) => shown(services, frame, group, { failure }),
      })
    },
  }),
  page({
    ...change,
    path: '/-/admin/group/delete',
    async handle({ form, frame, user }, services) {
      const group = await existing(services, form.text('name'))
      return runAdminAction(services, {
        ...{ form, frame, user, path: '/-/admin/group/delete' },
        plan: () => ({}),
        async apply() {
          await services.quota.groups.remove(group.name)
          return { to: '/-/admin/groups?said=deleted' }
        },
        showAgain: (failure) => shown(services, frame, group, { failure }),
      })
    },
  }),
]
