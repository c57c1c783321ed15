/** @jsxRuntime automatic @jsxImportSource preact */
import { formatBytes, formatSize } from '../byte-sizes.ts'
import { isSubject, type Subject, subjects, type Usage, usedBy } from '../quota/subjects.ts'
import { adminPage } from './admin-form.tsx'
import { formatCount, Pages, pageNumber, Size, SizeCell, sliceOf, Table } from './components.tsx'
import { Legend, StateLabel, type SubjectStatus, UsageBar } from './limits.tsx'
import { type PageContext, page, type View } from './route.ts'

/** Percent of a limit: an owner with no more than this left is listed as near it. */
const DEFAULT_WITHIN = 20

export const adminRoutes = [
  page({
    ...adminPage,
    path: '/-/admin',
    async handle({ frame, query }, { hosting, quota }) {
      const subject = subjectIn(query.get('subject'))
      const within = percentIn(query.get('within'))
      const number = pageNumber(query)
      const { items, total } = await quota.reports.overQuota(
        { subject, within: within / 100 },
        sliceOf(number),
      )
      const accounts = await hosting.accounts.byIds(items.map(({ owner }) => owner))
      const names = new Map(accounts.map(({ id, name }) => [id, name]))
      return adminView(frame, {
        totals: await quota.reports.totalUsage(),
        users: await hosting.accounts.count('user'),
        organizations: await hosting.accounts.count('organization'),
        ...{ subject, within, total, page: number },
        owners: items.flatMap(({ owner, over, used, limit, left }) => {
          const name = names.get(owner)
          // An owner without a name was deleted since the list was read.
          if (name === undefined) return []
          return [{ name, status: { used, binding: { limit, left }, state: over ? 'over' : 'near' } }]
        }),
      })
    },
  }),
]

const subjectIn = (text: string | null): Subject => (text !== null && isSubject(text) ? text : 'size:all')

const percentIn = (text: string | null): number => {
  const percent = text ? Number(text) : DEFAULT_WITHIN
  return Number.isFinite(percent) ? Math.min(100, Math.max(0, percent)) : DEFAULT_WITHIN
}

interface AdminData {
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

const adminView = (frame: PageContext, data: AdminData): View => {
  const { totals, users, organizations } = data
  const used = usedBy('size:all', totals)
  return {
    title: 'Administration',
    body: (
      <>
        <h1>Administration</h1>
        <AdminNav frame={frame} />
        <section aria-labelledby="usage">
          <h2 id="usage">Usage</h2>
          <p>
            <strong>{formatSize(used)}</strong> used ({formatBytes(used)}) by {formatCount(users, 'user')} and{' '}
            {formatCount(organizations, 'organization')}.
          </p>
          <UsageBar usage={totals} status={{ used, binding: undefined, state: 'unlimited' }} />
          <Legend usage={totals} />
          <form method="get" action={frame.at('/-/storage')} class="inline">
            <div>
              <label for="owner">User or organization</label>
              <input id="owner" name="owner" autocapitalize="none" spellcheck={false} required />
            </div>
            <button type="submit">Show storage</button>
          </form>
        </section>
        <section aria-labelledby="over">
          <h2 id="over">Over quota or near the limit</h2>
          <Filter frame={frame} data={data} />
          <Owners frame={frame} data={data} />
        </section>
      </>
    ),
  }
}

export const AdminNav = ({ frame }: { frame: PageContext }) => (
  <nav class="tabs" aria-label="Administration">
    <a href={frame.at('/-/admin')}>Overview</a>
    <a href={frame.at('/-/admin/rules')}>Rules</a>
    <a href={frame.at('/-/admin/groups')}>Groups</a>
  </nav>
)

const Filter = ({ frame, data }: { frame: PageContext; data: AdminData }) => (
  <form method="get" action={frame.at('/-/admin')} class="inline">
    <div>
      <label for="subject">Subject</label>
      <select id="subject" name="subject">
        {subjects.map((subject) => (
          <option key={subject} value={subject} selected={subject === data.subject}>
            {subject}
          </option>
        ))}
      </select>
    </div>
    <div>
      <label for="within">Near: percent left</label>
      <input id="within" name="within" type="number" min="0" max="100" step="any" value={data.within} />
    </div>
    <button type="submit">Filter</button>
  </form>
)

const Owners = ({ frame, data }: { frame: PageContext; data: AdminData }) => {
  const { owners, total, page, subject, within } = data
  return (
    <>
      <p>{total === 0 ? 'No owners.' : `${formatCount(total, 'owner')}, largest excess first.`}</p>
      {owners.length > 0 && (
        <Table column="Owner" numbers={['Used', 'Limit']}>
          {owners.map(({ name, status }) => (
            <tr key={name}>
              <td>
                <a href={frame.at(`/-/storage/${name}`)}>{name}</a>
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
        href={(number) => frame.at(`/-/admin?subject=${subject}&within=${within}&page=${number}`)}
        page={page}
        total={total}
      />
    </>
  )
}
