/** All users and organizations with usage, limit and growth; the groups of several can be changed at once. */
import { growthIn } from '../../content/usage/instance-history.ts'
import { AllotError, invalidMember } from '../../errors.ts'
import type { QuotaGroup } from '../../quota/evaluate.ts'
import type { NamedPlan } from '../../quota/plans-by-name.ts'
import { allItems } from '../../records/pages.ts'
import { Empty, formatCount, Link, Search, Section, Submit } from '../parts/components.tsx'
import { csvOf } from '../parts/csv.ts'
import { ChoiceFilter, NameFilter } from '../parts/fields.tsx'
import type { Form } from '../parts/form.ts'
import { Icon } from '../parts/inline.tsx'
import { EmptyPage, Pages, sliceOf } from '../parts/paging.tsx'
import { type PageServices, page } from '../parts/route.ts'
import { subjectGroups, subjectTexts } from '../parts/subject-names.ts'
import { STATE_NAMES } from '../storage/state.tsx'
import { adminForm, adminPage, adminView, ownerNamed } from './form.tsx'
import { type OwnerQuery, type OwnerRows, pathOf, queryIn, rowsFor } from './owner-query.ts'
import { type AssignmentForm, OwnersBeingRead, OwnersForm } from './owners-form.tsx'

/** Owners in a CSV file at most. */
const MAX_CSV = 20_000

export const ownerPageRoutes = [
  page({
    ...adminPage,
    path: '/-/admin/owners',
    handle: ({ query }, services) => ownersView(services, queryIn(query)),
  }),
  page({
    ...adminPage,
    path: '/-/admin/owners.csv',
    async handle({ query }, services) {
      const found = await rowsFor(services, queryIn(query))
      if (found === undefined)
        throw new AllotError('unavailable', 'the owners are being read: try again in a few seconds', {
          retryAfter: 5,
        })
      const { rows, history } = found
      const isCut = rows.length > MAX_CSV
      return csvOf(
        isCut ? `owners-first-${MAX_CSV}.csv` : 'owners.csv',
        {
          name: ({ name }) => name,
          kind: ({ kind }) => kind,
          used: ({ used }) => String(used),
          limit: ({ binding }) => String(binding?.limit ?? ''),
          rule: ({ binding }) => binding?.rule ?? '',
          state: ({ state }) => state,
          groups: ({ groups }) => groups.map(({ name }) => name).join(', '),
          growth: (owner) => String((history && growthIn(history, owner)) ?? ''),
        },
        rows.slice(0, MAX_CSV),
      )
    },
  }),
  adminForm('/-/admin/owners', async ({ form, user }, services) => {
    const selection = selectionIn(form)
    const query = queryIn(new URLSearchParams(form.text('list')))
    const plan = () => assignmentPlan(services, selection)
    return {
      plan,
      async run() {
        const { names, group, isAdded } = selection
        await checkSelection(services, selection)
        // Not the plan, whose complete lists of groups would undo what was assigned since it was made.
        await services.quota.groups.setForAll(
          names.map((name) => ownerNamed(name, 'owners')),
          { group, isAssigned: isAdded, by: user },
        )
        const list = pathOf(query)
        return `${list}${list.includes('?') ? '&' : '?'}done=saved`
      },
      page: () => ownersView(services, query),
    }
  }),
]

/** Owners that one form changes at most. */
const MAX_SELECTED = 50

/** What is selected in the form that changes groups. */
interface OwnerSelection {
  readonly names: readonly string[]
  readonly group: string
  /** Whether the group is added, and not removed. */
  readonly isAdded: boolean
}

const selectionIn = (form: Form): OwnerSelection => ({
  names: form.all('owner'),
  group: form.text('group'),
  isAdded: form.text('change') !== 'remove',
})

const checkSelection = async ({ quota }: PageServices, { names, group }: OwnerSelection): Promise<void> => {
  if (names.length === 0) throw invalidMember('owners', 'select at least one')
  if (names.length > MAX_SELECTED)
    throw invalidMember('owners', `select at most ${MAX_SELECTED}, got ${names.length}`)
  if ((await quota.groups.get(group)) === undefined) throw invalidMember('group', 'choose one')
}

/** Adds a group to those of several owners, or removes it, for the preview. */
const assignmentPlan = async (services: PageServices, selection: OwnerSelection): Promise<NamedPlan> => {
  await checkSelection(services, selection)
  const { store, quota } = services
  const { names, group, isAdded } = selection
  const lists = await Promise.all(
    names.map(async (name) => {
      const account = await store.read(ownerNamed(name, 'owners'))
      const others = (await quota.groups.assignedTo(account.id)).filter((assigned) => assigned !== group)
      return [account.name, isAdded ? [...others, group] : others] as const
    }),
  )
  return { assignments: Object.fromEntries(lists) }
}

const ownersView = async (services: PageServices, query: OwnerQuery) => {
  const found = await rowsFor(services, query)
  const groups = await allItems((slice) => services.quota.groups.list(slice))
  return adminView(
    'Owners',
    <Section
      id="owners"
      title="Users and organizations"
      aside={
        <div class="buttons">
          <Link class="button small" to="/-/admin/accounts/new?kind=user">
            New user
          </Link>
          <Link class="button secondary small" to="/-/admin/accounts/new?kind=organization">
            New organization
          </Link>
        </div>
      }
    >
      <Filters query={query} groups={groups} />
      {found === undefined ? <OwnersBeingRead /> : <Rows query={query} found={found} groups={groups} />}
    </Section>,
  )
}

/** The order of the table in words, and its reverse: narrow screens leave out some of its columns. */
const ORDER_TEXTS = {
  name: ['by name', 'by name, from the last to the first'],
  used: ['most usage first', 'least usage first'],
  share: ['fullest first', 'emptiest first'],
  growth: ['most growth first', 'least growth first'],
} as const

interface RowsProps extends AssignmentForm {
  found: OwnerRows
}

const Rows = ({ query, found: { rows, history }, ...form }: RowsProps) => {
  const { offset, limit } = sliceOf(query.page)
  const shown = rows.slice(offset, offset + limit)
  return (
    <>
      {rows.length > 0 && (
        <p class="small">
          {formatCount(rows.length, 'owner')}
          {rows.length > 1 && `, ${ORDER_TEXTS[query.sort][Number(query.isReverse)]}`}
          {rows.length > MAX_CSV &&
            `. A CSV file has the first ${MAX_CSV.toLocaleString('en')} in this order.`}
        </p>
      )}
      {shown.length === 0 ? (
        <EmptyPage total={rows.length}>
          <Empty title="No owner matches">
            <p>
              Change the filter, or <Link to="/-/admin/owners">clear it</Link>.
            </p>
          </Empty>
        </EmptyPage>
      ) : (
        <OwnersForm query={query} rows={shown} history={history} {...form} />
      )}
      <Pages to={(number) => pathOf({ ...query, page: number })} page={query.page} total={rows.length} />
    </>
  )
}

const Filters = ({ query, groups }: { query: OwnerQuery; groups: readonly QuotaGroup[] }) => (
  <Search to="/-/admin/owners">
    <NameFilter id="q" value={query.search} />
    <div class="whole">
      <label for="subject">Limit shown</label>
      <select id="subject" name="subject">
        <option value="">The most used</option>
        {subjectGroups.map((group) => (
          <optgroup key={group.name} label={group.name}>
            {group.subjects.map((subject) => (
              <option key={subject} value={subject} selected={subject === query.subject}>
                {subjectTexts[subject].name}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
    </div>
    <ChoiceFilter
      id="state"
      label="State"
      any="Any state"
      choices={Object.entries(STATE_NAMES)}
      chosen={query.state}
    />
    <ChoiceFilter
      id="group-filter"
      name="group"
      label="Group"
      any="Any group"
      choices={groups.map(({ name }) => [name, name])}
      chosen={query.group}
    />
    <Submit kind="secondary">Filter</Submit>
    <Link class="button secondary" to={pathOf({ ...query, page: 1 }, 'owners.csv')}>
      <Icon name="download" />
      Download CSV
    </Link>
  </Search>
)
