/** @jsxRuntime automatic @jsxImportSource preact */
/** The section about owners that are over quota or near it, which can be filtered by subject. */
import type { OwnerSummary, OwnersSnapshot } from '../../content/usage/owner-table.ts'
import type { OwnerOverQuota } from '../../quota/reports.ts'
import { isSubject, type Subject } from '../../quota/subjects.ts'
import { formatCount, Link, Search, Section, Size, SizeCell, SubjectCode, Table } from '../components.tsx'
import { Pages, pageNumber, sliceOf } from '../paging.tsx'
import type { PageServices } from '../route.ts'
import { StateLabel } from '../storage/limits.tsx'
import { subjectGroups, subjectTexts } from '../subject-names.ts'
import { withNames } from './form.tsx'
import { OwnerReason, OwnerState } from './owner-table.tsx'

/** Percent of a limit: an owner with no more than this left is listed as near it. */
const DEFAULT_WITHIN = 20
/** Owners that are listed without a filter. */
const LISTED = 8

/** @returns undefined for any subject */
const subjectIn = (text: string | null): Subject | undefined =>
  text !== null && isSubject(text) ? text : undefined

const percentIn = (text: string | null): number => {
  const percent = text ? Number(text) : DEFAULT_WITHIN
  return Number.isFinite(percent) ? Math.min(100, Math.max(0, percent)) : DEFAULT_WITHIN
}

export const overSection = async (services: PageServices, all: OwnersSnapshot, query: URLSearchParams) => {
  const subject = subjectIn(query.get('subject'))
  const within = percentIn(query.get('within'))
  const number = pageNumber(query)
  const isFiltered = ['subject', 'within', 'page'].some((name) => query.has(name))
  const { items, total } = isFiltered
    ? await withNames(services, await all.overQuota(subject, within / 100, sliceOf(number)))
    : { items: undefined, total: 0 }
  const owners = items ? [] : all.overAndNear
  const count = items ? total : owners.length
  return (
    <Section id="over" title="Over quota or near the limit">
      <Filter subject={subject} within={within} />
      <p class="small">
        {count === 0
          ? 'No owner is over quota or near the limit.'
          : `${formatCount(count, 'owner')}, largest excess first.`}
      </p>
      {items ? <OverTable owners={items} /> : <OverList owners={owners.slice(0, LISTED)} />}
      {items && (
        <Pages
          to={(to) => `/-/admin?subject=${subject ?? ''}&within=${within}&page=${to}`}
          page={number}
          total={total}
        />
      )}
    </Section>
  )
}

const OverList = ({ owners }: { owners: readonly OwnerSummary[] }) => (
  <ul class="plain rows">
    {owners.map((owner) => (
      <li key={owner.id} class="line">
        <div class="whole">
          <Link class="strong" to={`/-/storage/${owner.name}`}>
            <bdi>{owner.name}</bdi>
          </Link>
          <div class="small">
            <OwnerReason owner={owner} />
          </div>
        </div>
        <OwnerState owner={owner} />
      </li>
    ))}
  </ul>
)

/** @param within percent of a limit */
const Filter = ({ subject, within }: { subject: Subject | undefined; within: number }) => (
  <Search to="/-/admin">
    <div>
      <label for="subject">Subject</label>
      <select id="subject" name="subject">
        <option value="">Any subject</option>
        {subjectGroups.map((group) => (
          <optgroup key={group.name} label={group.name}>
            {group.subjects.map((option) => (
              <option key={option} value={option} selected={option === subject}>
                {subjectTexts[option].name}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
    </div>
    <div>
      <label for="within">Near: % left or less</label>
      <input id="within" name="within" type="number" min="0" max="100" step="any" value={within} />
    </div>
    <button type="submit" class="secondary">
      Filter
    </button>
  </Search>
)

/** Owners that are over quota or near the limit. */
const OverTable = ({ owners }: { owners: readonly (OwnerOverQuota & { name: string })[] }) => (
  <Table column="Owner" numbers={['Used', 'Limit']}>
    {owners.map(({ name, over, subject, used, ...binding }) => (
      <tr key={name}>
        <td>
          <Link to={`/-/storage/${name}`}>{name}</Link>
          <div class="small">
            <StateLabel limit={{ left: binding.left, state: over ? 'over' : 'near' }} />
          </div>
          <div class="small">
            Rule {binding.rule}: <SubjectCode subject={subject} />
          </div>
        </td>
        <SizeCell bytes={used} />
        <td class="number">
          <Size bytes={binding.limit} />
        </td>
      </tr>
    ))}
  </Table>
)
