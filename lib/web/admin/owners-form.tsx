/** The table of owners, with the form that changes the groups of those that are selected. */
import type { OwnerSummary } from '../../content/usage/owners-snapshot.ts'
import type { QuotaGroup } from '../../quota/evaluate.ts'
import { accountPath, Link, Post, PREVIEW, Size, useEntered, usePageContext } from '../parts/components.tsx'
import { FieldFailure, useChosen, useInvalid } from '../parts/fields.tsx'
import { Dots, Named } from '../parts/inline.tsx'
import { labelOf } from '../parts/labels.ts'
import { SortHead, type Sorting } from '../parts/sort-head.tsx'
import { limitStateOf } from '../storage/limits.tsx'
import { OwnerGrowth } from '../storage/pace.tsx'
import { LimitText, RemovalLink, StateBadge } from '../storage/state.tsx'
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
    <table class="cards">
      <thead>
        <tr>
          <th scope="col" class="check">
            <span class="hidden">Select</span>
          </th>
          <SortHead {...sortingOf(form.query)} by="name" text="Name" />
          <SortHead {...sortingOf(form.query)} by="share" text="Limit" />
          <th scope="col" class="wide">
            Groups
          </th>
          <SortHead {...sortingOf(form.query)} by="growth" text="Last 30 days" class="number" />
          <SortHead {...sortingOf(form.query)} by="used" text="Usage" class="number" />
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <Row key={row.id} row={row} history={history} />
        ))}
      </tbody>
    </table>
    {form.groups.length > 0 && <Assignment groups={form.groups} />}
  </Post>
)

const sortingOf = (query: OwnerQuery): Sorting<OwnerQuery['sort']> => ({
  sort: query.sort,
  isReverse: query.isReverse,
  pathOf: (sort, isReverse) => pathOf({ ...query, sort, isReverse, page: 1 }),
})

interface RowProps extends Pick<OwnerRows, 'history'> {
  row: OwnerSummary
}

const Row = ({ row, history }: RowProps) => (
  <tr>
    <td class="check">
      <input
        type="checkbox"
        name="owner"
        value={row.name}
        checked={useChosen('owner').includes(row.name)}
        aria-label={`Select ${row.name}`}
        {...useInvalid('owners')}
        data-bytes={String(row.used)}
      />
    </td>
    <td>
      <Named icon={row.kind}>
        <Link to={`/-/storage/${row.name}`}>
          <bdi>{row.name}</bdi>
        </Link>{' '}
        {!row.active && <span class="tag">disabled</span>}{' '}
        {row.admin && <span class="tag">administrator</span>}
        <div class="small">
          <Dots
            facts={[
              row.kind,
              <Link to={accountPath(row.name)} label={`Account ${row.name}`}>
                Account
              </Link>,
            ]}
          />
        </div>
      </Named>
    </td>
    <td class="below">
      <OwnerBadge owner={row} />
      <OwnerLimit owner={row} />
    </td>
    <td class="wide small">{row.groups.map(({ name }) => name).join(', ') || 'none'}</td>
    <td class="number growth">
      <OwnerGrowth owner={row} history={history} />
      <span class="slim"> in 30 days</span>
    </td>
    <td class="number">
      <Size bytes={row.used} />
    </td>
  </tr>
)

export const OwnerBadge = ({ owner: { state, binding } }: { owner: OwnerSummary }) => (
  <StateBadge state={state} left={binding?.left} />
)

/**
 * The limit that decides the state of an owner, and for an owner over quota a link to what can be removed.
 */
export const OwnerLimit = ({ owner: { name, state, binding, groups } }: { owner: OwnerSummary }) =>
  binding === undefined ? null : (
    <div class="why small">
      <Dots
        facts={[
          <LimitText limit={limitStateOf(groups, binding)} />,
          state === 'over' && <RemovalLink owner={name} rule={binding.rule} />,
        ]}
      />
    </div>
  )

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
        <button type="submit" class="secondary">
          Change groups
        </button>
        <button type="submit" class="secondary" name="do" value={PREVIEW}>
          Preview changes
        </button>
        <span class="small" data-selected="" />
      </div>
    </div>
  )
}
