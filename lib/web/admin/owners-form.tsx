/** The table of owners, with the form that changes the groups of those that are selected. */
import type { OwnerOrder, OwnerSummary } from '../../content/usage/owners-snapshot.ts'
import type { QuotaGroup } from '../../quota/evaluate.ts'
import {
  accountPath,
  Link,
  NameLink,
  Post,
  PREVIEW,
  Size,
  Submit,
  useEntered,
  usePageContext,
} from '../parts/components.tsx'
import { FieldFailure, useChosen, useInvalid } from '../parts/fields.tsx'
import { Dots, Named } from '../parts/inline.tsx'
import { labelOf } from '../parts/labels.ts'
import { type Column, Facts, type Sorting, Table } from '../parts/list.tsx'
import { limitStateOf } from '../storage/limits.tsx'
import { OwnerGrowth } from '../storage/pace.tsx'
import { isRemovalUseful, LimitText, RemovalLink, StateBadge } from '../storage/state.tsx'
import { type OwnerQuery, type OwnerRows, pathOf } from './owner-query.ts'

/**
 * Stands where the owners will be, during the first scan over those of a large instance. The script opens the
 * page again.
 */
export const OwnersBeingRead = () => (
  <p class="muted" data-reload="">
    The usage of all owners is being read, for the first time since this server started.{' '}
    <Link to={usePageContext().path}>Open the page again</Link> in a few seconds.
  </p>
)

export interface AssignmentForm {
  readonly query: OwnerQuery
  readonly groups: readonly QuotaGroup[]
}

/** The form has the query of the list, to show the same part of it afterwards. */
export const OwnersForm = ({ rows, history, ...form }: OwnerRows & AssignmentForm) => (
  <Post to="/-/admin/owners" fields={{ list: pathOf(form.query).split('?')[1] ?? '' }}>
    <Table
      class="cards"
      items={rows}
      keyOf={({ id }) => id}
      sorting={sortingOf(form.query)}
      columns={columnsWith(history)}
    />
    {form.groups.length > 0 && <Assignment groups={form.groups} />}
  </Post>
)

const sortingOf = (query: OwnerQuery): Sorting<OwnerQuery['sort']> => ({
  sort: query.sort,
  isReverse: query.isReverse,
  pathOf: (sort, isReverse) => pathOf({ ...query, sort, isReverse, page: 1 }),
})

const columnsWith = (history: OwnerRows['history']): Column<OwnerSummary, OwnerOrder>[] => [
  {
    head: <span class="hidden">Select</span>,
    class: 'check',
    cell: (owner) => <OwnerBox owner={owner} />,
  },
  { head: 'Name', by: 'name', cell: (owner) => <OwnerName owner={owner} /> },
  {
    head: 'Limit',
    by: 'share',
    cellClass: 'below',
    cell: (owner) => (
      <>
        <OwnerBadge owner={owner} />
        <OwnerLimit owner={owner} />
      </>
    ),
  },
  {
    head: 'Groups',
    class: 'wide',
    cellClass: 'small',
    cell: ({ groups }) => groups.map(({ name }) => name).join(', ') || 'none',
  },
  {
    head: 'Last 30 days',
    by: 'growth',
    class: 'number',
    cellClass: 'growth',
    cell: (owner) => (
      <>
        <OwnerGrowth owner={owner} history={history} />
        <span class="slim"> in 30 days</span>
      </>
    ),
  },
  { head: 'Usage', by: 'used', class: 'number', cell: ({ used }) => <Size bytes={used} /> },
]

const OwnerBox = ({ owner: { name, used } }: { owner: OwnerSummary }) => (
  <input
    type="checkbox"
    name="owner"
    value={name}
    checked={useChosen('owner').includes(name)}
    aria-label={`Select ${name}`}
    {...useInvalid('owners')}
    data-bytes={String(used)}
  />
)

const OwnerName = ({ owner: { name, kind, active, admin } }: { owner: OwnerSummary }) => (
  <Named icon={kind}>
    <NameLink to={`/-/storage/${name}`}>{name}</NameLink> {!active && <span class="tag">disabled</span>}{' '}
    {admin && <span class="tag">administrator</span>}
    <Facts
      facts={[
        kind,
        <Link to={accountPath(name)} label={`Account ${name}`}>
          Account
        </Link>,
      ]}
    />
  </Named>
)

export const OwnerBadge = ({ owner: { state, binding } }: { owner: OwnerSummary }) => (
  <StateBadge state={state} left={binding?.left} />
)

/**
 * The limit that decides the state of an owner, and for an owner over quota a link to what can be removed.
 */
export const OwnerLimit = ({ owner: { name, binding, groups } }: { owner: OwnerSummary }) => {
  if (binding === undefined) return null
  const limit = limitStateOf(groups, binding)
  return (
    <div class="why small">
      <Dots
        facts={[
          <LimitText limit={limit} />,
          isRemovalUseful(limit) && <RemovalLink owner={name} rule={binding.rule} />,
        ]}
      />
    </div>
  )
}

const Assignment = ({ groups }: Pick<AssignmentForm, 'groups'>) => {
  const entered = useEntered()?.form
  return (
    <div class="inline assign">
      <div>
        <label for="change">{labelOf('owners')}</label>
        <select id="change" name="change">
          <option value="add">Add to</option>
          <option value="remove" selected={entered?.text('change') === 'remove'}>
            Remove from
          </option>
        </select>
      </div>
      <div>
        <label for="group">{labelOf('group')}</label>
        <select id="group" name="group" {...useInvalid('group')}>
          {groups.map(({ name }) => (
            <option key={name} value={name} selected={name === entered?.text('group')}>
              {name}
            </option>
          ))}
        </select>
      </div>
      <FieldFailure field="owners" />
      <FieldFailure field="group" />
      <div class="buttons">
        <Submit kind="secondary">Change groups</Submit>
        <button type="submit" class="secondary" name="do" value={PREVIEW}>
          Preview changes
        </button>
        <span class="small" data-selected="" />
      </div>
    </div>
  )
}
