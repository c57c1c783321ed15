/** @jsxRuntime automatic @jsxImportSource preact */
/** The table of owners, with the form that changes the groups of those that are selected. */
import { formatSize } from '../../byte-sizes.ts'
import type { OwnerSummary } from '../../content/usage/owner-table.ts'
import { subtract } from '../../integers.ts'
import type { QuotaGroup } from '../../quota/evaluate.ts'
import { Link, Post, PREVIEW, Size, usePageContext } from '../components.tsx'
import { formatUsedOf, StateLabel } from '../storage/limits.tsx'
import { OwnerGrowth } from '../storage/pace.tsx'
import { subjectTexts } from '../subject-names.ts'
import { type OwnerQuery, type OwnerRows, pathOf } from './owner-query.ts'

/** Stands where the owners will be, during the first scan over those of a large instance. The script opens the page again. */
export const OwnersBeingRead = () => (
  <p class="muted" data-reload="">
    The usage of all owners is being read, for the first time since this server started.{' '}
    <Link to={usePageContext().path}>Open the page again</Link> in a few seconds.
  </p>
)

export const OwnerTable = ({
  query,
  rows,
  history,
  groups,
}: OwnerRows & {
  query: OwnerQuery
  groups: readonly QuotaGroup[]
}) => (
  <Post to="/-/admin/owners">
    <table>
      <thead>
        <tr>
          <th scope="col" class="check">
            <span class="hidden">Select</span>
          </th>
          <SortHead query={query} by="name" text="Name" />
          <th scope="col" class="wide">
            Groups
          </th>
          <SortHead query={query} by="growth" text="30 days" class="number wide" />
          <SortHead query={query} by="share" text="Limit" class="number wide" />
          <SortHead query={query} by="used" text="Usage" class="number" />
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <Row key={row.id} row={row} history={history} />
        ))}
      </tbody>
    </table>
    {groups.length > 0 && <Assignment groups={groups} />}
  </Post>
)

const SortHead = ({
  query,
  by,
  text,
  class: className,
}: {
  query: OwnerQuery
  by: OwnerQuery['sort']
  text: string
  class?: string
}) => {
  const isSorted = query.sort === by
  const isDescending = (by === 'name') === query.isReverse
  const to = pathOf({ ...query, sort: by, isReverse: isSorted && !query.isReverse, page: 1 })
  return (
    <th
      scope="col"
      class={className}
      aria-sort={isSorted ? (isDescending ? 'descending' : 'ascending') : undefined}
    >
      <a href={usePageContext().urlOf(to)}>
        {text}
        {isSorted && (isDescending ? ' ↓' : ' ↑')}
      </a>
    </th>
  )
}

const Row = ({ row, history }: { row: OwnerSummary } & Pick<OwnerRows, 'history'>) => (
  <tr>
    <td class="check">
      <input
        type="checkbox"
        name="owner"
        value={row.name}
        aria-label={`Select ${row.name}`}
        data-bytes={String(row.used)}
      />
    </td>
    <td>
      <Link to={`/-/storage/${row.name}`}>
        <bdi>{row.name}</bdi>
      </Link>{' '}
      {!row.active && <span class="tag">disabled</span>} {row.admin && <span class="tag">administrator</span>}
      <div class="small">
        {row.kind} ·{' '}
        <Link to={`/-/admin/account?name=${row.name}`} label={`Account ${row.name}`}>
          Account
        </Link>
      </div>
      {(row.state === 'over' || row.state === 'near') && (
        <div class="why small">
          <OwnerState owner={row} /> <OwnerReason owner={row} />
        </div>
      )}
    </td>
    <td class="wide small">{row.groups.map(({ name }) => name).join(', ') || 'none'}</td>
    <td class="number wide">
      <OwnerGrowth owner={row} history={history} />
    </td>
    <td class="number wide">
      {row.binding === undefined ? (
        <span class="muted">none</span>
      ) : (
        <>
          {Math.round(100 * row.share)}%<div class="small">of {formatSize(row.binding.limit)}</div>
        </>
      )}
    </td>
    <td class="number">
      <Size bytes={row.used} />
    </td>
  </tr>
)

/** How far an owner is over quota, or from it. */
export const OwnerState = ({ owner: { binding, state } }: { owner: OwnerSummary }) =>
  binding === undefined || (state !== 'over' && state !== 'near') ? null : (
    <StateLabel limit={{ state, left: binding.left }} />
  )

/** The rule that makes an owner be over quota or near it, in one line. */
export const OwnerReason = ({ owner: { binding } }: { owner: OwnerSummary }) =>
  binding === undefined ? null : (
    <>
      {subjectTexts[binding.subject].name}:{' '}
      {formatUsedOf({ used: subtract(binding.limit, binding.left), rule: binding })}, rule{' '}
      <em>{binding.rule}</em>
    </>
  )

const Assignment = ({ groups }: { groups: readonly QuotaGroup[] }) => (
  <div class="inline assign">
    <div>
      <label for="change">Selected owners</label>
      <select id="change" name="change">
        <option value="add">get the group</option>
        <option value="remove">lose the group</option>
      </select>
    </div>
    <div>
      <label for="group">Group</label>
      <select id="group" name="group">
        {groups.map(({ name }) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </div>
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
