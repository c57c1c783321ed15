/** @jsxRuntime automatic @jsxImportSource preact */

import { formatBytes, formatSize } from '../../byte-sizes.ts'
import type { OwnerOverQuota } from '../../quota/reports.ts'
import { isSubject, type Subject, subjects, usedBy } from '../../quota/subjects.ts'
import {
  formatCount,
  Link,
  Pages,
  pageNumber,
  Search,
  Section,
  Size,
  SizeCell,
  SubjectCode,
  sliceOf,
  Table,
} from '../components.tsx'
import { page } from '../route.ts'
import { Legend, StateLabel } from '../storage/limits.tsx'
import { adminPage, adminView, withNames } from './form.tsx'

/** Percent of a limit: an owner with no more than this left is listed as near it. */
const DEFAULT_WITHIN = 20

export const adminRoutes = [
  page({
    ...adminPage,
    path: '/-/admin',
    async handle({ query }, services) {
      const { hosting, quota } = services
      const subject = subjectIn(query.get('subject'))
      const within = percentIn(query.get('within'))
      const number = pageNumber(query)
      const over = await quota.reports.overQuota({ subject, within: within / 100 }, sliceOf(number))
      const { items, total } = await withNames(services, over)
      const totals = await quota.reports.totalUsage()
      const used = usedBy('size:all', totals)
      const users = formatCount(await hosting.accounts.count('user'), 'user')
      const organizations = formatCount(await hosting.accounts.count('organization'), 'organization')
      return adminView(
        'Administration',
        {},
        <>
          <Section id="usage" title="Usage">
            <p>
              <strong>{formatSize(used)}</strong> used ({formatBytes(used)}) by {users} and {organizations}.
            </p>
            <Legend usage={totals} />
            <Search to="/-/storage">
              <div>
                <label for="owner">User or organization</label>
                <input id="owner" name="owner" autocapitalize="none" spellcheck={false} required />
              </div>
              <button type="submit">Show storage</button>
            </Search>
          </Section>
          <Section id="over" title="Over quota or near the limit">
            <Filter subject={subject} within={within} />
            <p>{total === 0 ? 'No owners.' : `${formatCount(total, 'owner')}, largest excess first.`}</p>
            {items.length > 0 && <Owners owners={items} />}
            <Pages
              to={(to) => `/-/admin?subject=${subject ?? ''}&within=${within}&page=${to}`}
              page={number}
              total={total}
            />
          </Section>
        </>,
      )
    },
  }),
]

/** @returns undefined for any subject */
const subjectIn = (text: string | null): Subject | undefined =>
  text !== null && isSubject(text) ? text : undefined

const percentIn = (text: string | null): number => {
  const percent = text ? Number(text) : DEFAULT_WITHIN
  return Number.isFinite(percent) ? Math.min(100, Math.max(0, percent)) : DEFAULT_WITHIN
}

/** @param within percent of a limit */
const Filter = ({ subject, within }: { subject: Subject | undefined; within: number }) => (
  <Search to="/-/admin">
    <div>
      <label for="subject">Subject</label>
      <select id="subject" name="subject">
        <option value="">any subject</option>
        {subjects.map((option) => (
          <option key={option} value={option} selected={option === subject}>
            {option}
          </option>
        ))}
      </select>
    </div>
    <div>
      <label for="within">Near: percent left</label>
      <input id="within" name="within" type="number" min="0" max="100" step="any" value={within} />
    </div>
    <button type="submit">Filter</button>
  </Search>
)

/** Owners that are over quota or near the limit. */
const Owners = ({ owners }: { owners: readonly (OwnerOverQuota & { name: string })[] }) => (
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
