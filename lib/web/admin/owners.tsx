/** @jsxRuntime automatic @jsxImportSource preact */
/** All users and organizations with usage, limit and growth; the groups of several can be changed at once. */
import { growthIn } from '../../content/usage/instance-history.ts'
import { invalid } from '../../errors.ts'
import type { QuotaGroup } from '../../quota/evaluate.ts'
import type { NamedPlan } from '../../quota/plans-by-name.ts'
import { Empty, type FlashMessage, formatCount, Link, Search, Section } from '../parts/components.tsx'
import { csvOf } from '../parts/csv.ts'
import type { Form } from '../parts/form.ts'
import { Icon } from '../parts/inline.tsx'
import { EmptyPage, Pages, sliceOf } from '../parts/paging.tsx'
import { type PageServices, page } from '../parts/route.ts'
import { subjectGroups, subjectTexts } from '../parts/subject-names.ts'
import { STATE_NAMES } from '../storage/state.tsx'
import { adminForm, adminPage, adminView, ownerNamed } from './form.tsx'
import { type OwnerQuery, type OwnerRows, pathOf, queryIn, rowsFor, rowsOfFile } from './owner-query.ts'
import { type AssignmentForm, type OwnerSelection, OwnersBeingRead, OwnerTable } from './owner-table.tsx'
import { ALL } from './rules.tsx'

/** Owners in a CSV file at most. */
const MAX_CSV = 20_000

export const ownerRoutes = [
  page({
    ...adminPage,
    path: '/-/admin/owners',
    handle: ({ query }, services) => ownersView(services, queryIn(query), { done: query.get('done') }),
  }),
  page({
    ...adminPage,
    path: '/-/admin/owners.csv',
    async handle({ query }, services) {
      const { rows, history } = await rowsOfFile(services, queryIn(query))
      const isCut = rows.length > MAX_CSV
      const head = ['name', 'kind', 'used', 'limit', 'rule', 'state', 'groups', 'growth']
      return csvOf(
        isCut ? `owners-first-${MAX_CSV}.csv` : 'owners.csv',
        head,
        rows
          .slice(0, MAX_CSV)
          .map((row) => [
            ...[
              row.name,
              row.kind,
              String(row.used),
              String(row.binding?.limit ?? ''),
              row.binding?.rule ?? '',
            ],
            ...[row.state, row.groups.map(({ name }) => name).join(' ')],
            String((history && growthIn(history, row)) ?? ''),
          ]),
      )
    },
  }),
  adminForm('/-/admin/owners', async ({ form, user }, services) => {
    const selection = selectionIn(form)
    const query = queryIn(new URLSearchParams(form.text('list')))
    const plan = () => assignmentPlan(services, selection)
    return {
      plan,
      async apply() {
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
      showAgain: (failure) => ownersView(services, query, { failure }, selection),
    }
  }),
]

/** Owners that one form changes at most. */
const MAX_SELECTED = 50

const selectionIn = (form: Form): OwnerSelection => ({
  names: form.all('owner'),
  group: form.text('group'),
  isAdded: form.text('change') !== 'remove',
})

const checkSelection = async ({ quota }: PageServices, { names, group }: OwnerSelection): Promise<void> => {
  if (names.length === 0) throw invalid('owners: select at least one')
  if (names.length > MAX_SELECTED)
    throw invalid(`owners: select at most ${MAX_SELECTED}, got ${names.length}`)
  if ((await quota.groups.get(group)) === undefined) throw invalid('group: choose one')
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

const ownersView = async (
  services: PageServices,
  query: OwnerQuery,
  message: FlashMessage,
  selection?: OwnerSelection,
) => {
  const found = await rowsFor(services, query)
  const { items: groups } = await services.quota.groups.list(ALL)
  return adminView(
    'Owners',
    message,
    <Section
      id="owners"
      title="Users and organizations"
      aside={
        <span>
          <Link class="button small" to="/-/admin/accounts/new?kind=user">
            New user
          </Link>{' '}
          <Link class="button secondary small" to="/-/admin/accounts/new?kind=organization">
            New organization
          </Link>
        </span>
      }
    >
      <Filters query={query} groups={groups} />
      {found === undefined ? (
        <OwnersBeingRead />
      ) : (
        <Rows query={query} found={found} groups={groups} selection={selection} failure={message.failure} />
      )}
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
      <p class="small">
        {formatCount(rows.length, 'owner')}
        {rows.length > 1 && `, ${ORDER_TEXTS[query.sort][Number(query.isReverse)]}`}.
        {rows.length > MAX_CSV && ` A CSV file has the first ${MAX_CSV.toLocaleString('en')} in this order.`}
      </p>
      {shown.length === 0 ? (
        <EmptyPage total={rows.length}>
          <Empty title="No owner matches">
            <p>
              Change the filter, or <Link to="/-/admin/owners">clear it</Link>.
            </p>
          </Empty>
        </EmptyPage>
      ) : (
        <OwnerTable query={query} rows={shown} history={history} {...form} />
      )}
      <Pages to={(number) => pathOf({ ...query, page: number })} page={query.page} total={rows.length} />
    </>
  )
}

const Filters = ({ query, groups }: { query: OwnerQuery; groups: readonly QuotaGroup[] }) => (
  <Search to="/-/admin/owners">
    <div>
      <label for="q">Name contains</label>
      <span class="searched">
        <Icon name="search" />
        <input id="q" name="q" type="search" value={query.search} autocapitalize="none" spellcheck={false} />
      </span>
    </div>
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
    <div>
      <label for="state">State</label>
      <select id="state" name="state">
        <option value="">Any state</option>
        {Object.entries(STATE_NAMES).map(([state, name]) => (
          <option key={state} value={state} selected={state === query.state}>
            {name}
          </option>
        ))}
      </select>
    </div>
    <div>
      <label for="group-filter">Group</label>
      <select id="group-filter" name="group">
        <option value="">Any group</option>
        {groups.map(({ name }) => (
          <option key={name} value={name} selected={name === query.group}>
            {name}
          </option>
        ))}
      </select>
    </div>
    <button type="submit" class="secondary">
      Filter
    </button>
    <Link class="button secondary" to={pathOf({ ...query, page: 1 }, 'owners.csv')}>
      <Icon name="download" />
      Download CSV
    </Link>
  </Search>
)
