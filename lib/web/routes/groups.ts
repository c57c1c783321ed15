import { AllotError, invalid } from '../../errors.ts'
import type { QuotaGroup } from '../../quota/evaluate.ts'
import type { Account } from '../../records/schema/index.ts'
import { runAdminAction } from '../admin-action.ts'
import { type GroupData, groupsView, groupView } from '../groups.tsx'
import { type PageContext, type PageServices, page, type View } from '../route.ts'
import { change, read } from './admin.ts'
import { pageNumber } from './storage.ts'

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
