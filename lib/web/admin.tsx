/** @jsxRuntime automatic @jsxImportSource preact */

import { formatBytes, formatSize } from '../byte-sizes.ts'
import { isSubject, type Subject, subjects, type Usage, usedBy } from '../quota/subjects.ts'
import { adminPage, adminView, withNames } from './admin-form.tsx'
import {
  formatCount,
  Link,
  Pages,
  pageNumber,
  Search,
  Section,
  Size,
  SizeCell,
  sliceOf,
  Table,
} from './components.tsx'
import { Legend, StateLabel, type SubjectStatus, UsageBar } from './limits.tsx'
import { page, type View } from './route.ts'

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
      return overview({
        totals: await quota.reports.totalUsage(),
        users: await hosting.accounts.count('user'),
        organizations: await hosting.accounts.count('organization'),
        ...{ subject, within, total, page: number },
        owners: items.map(({ name, over, used, limit, left }) => ({
          name,
          status: { used, binding: { limit, left }, state: over ? 'over' : 'near' },
        })),
      })
    },
  }),
]

const subjectIn = (text: string | null): Subject => (text !== null && isSubject(text) ? text : 'size:all')

const percentIn = (text: string | null): number => {
  const percent = text ? Number(text) : DEFAULT_WITHIN
  return Number.isFinite(percent) ? Math.min(100, Math.max(0, percent)) : DEFAULT_WITHIN
}

interface Overview {
  readonly totals: Usage
  readonly users: number
  readonly organizations: number
  readonly subject: Subject
  /** Percent of a limit. */
  readonly within: number
  /** A page of the owners that are over quota or near the limit, largest excess first. */
  readonly owners: readonly { name: string; status: SubjectStatus }[]
  readonly total: number
  readonly page: number
}

const overview = (data: Overview): View => {
  const { totals, users, organizations } = data
  const used = usedBy('size:all', totals)
  return adminView(
    'Administration',
    {},
    <>
      <Section id="usage" title="Usage">
        <p>
          <strong>{formatSize(used)}</strong> used ({formatBytes(used)}) by {formatCount(users, 'user')} and{' '}
          {formatCount(organizations, 'organization')}.
        </p>
        <UsageBar usage={totals} status={{ used, binding: undefined, state: 'unlimited' }} />
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
        <Filter {...data} />
        <Owners {...data} />
      </Section>
    </>,
  )
}

const Filter = ({ subject, within }: Pick<Overview, 'subject' | 'within'>) => (
  <Search to="/-/admin">
    <div>
      <label for="subject">Subject</label>
      <select id="subject" name="subject">
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

const Owners = ({ owners, total, page, subject, within }: Overview) => (
  <>
    <p>{total === 0 ? 'No owners.' : `${formatCount(total, 'owner')}, largest excess first.`}</p>
    {owners.length > 0 && (
      <Table column="Owner" numbers={['Used', 'Limit']}>
        {owners.map(({ name, status }) => (
          <tr key={name}>
            <td>
              <Link to={`/-/storage/${name}`}>{name}</Link>
              <div class="small">
                <StateLabel status={status} />
              </div>
            </td>
            <SizeCell bytes={status.used} />
            <td class="number">{status.binding && <Size bytes={status.binding.limit} />}</td>
          </tr>
        ))}
      </Table>
    )}
    <Pages
      to={(number) => `/-/admin?subject=${subject}&within=${within}&page=${number}`}
      page={page}
      total={total}
    />
  </>
)
