import { isSubject, type Subject, subjects, type Usage, usedBy } from '../quota/subjects.ts'
import { formatCount, formatSize } from './format.ts'
import { type PageContext, page, type View } from './route.ts'
import { pageNumber } from './storage.tsx'
import { Legend, PartsBar, Size, StateWord, type SubjectStatus } from './usage-bar.tsx'
import { Pages } from './usage-list.tsx'

/** @jsxRuntime automatic @jsxImportSource preact */

export interface AdminData {
  readonly totals: Usage
  readonly users: number
  readonly organizations: number
  readonly subject: Subject
  /** In percent of a limit. */
  readonly within: number
  /** Who is over or near, the one with the largest excess first. */
  readonly listed: readonly { name: string; measure: SubjectStatus }[]
  readonly total: number
  readonly number: number
  readonly size: number
}

export const adminView = (frame: PageContext, facts: AdminData): View => {
  const { totals, users, organizations } = facts
  const used = usedBy('size:all', totals)
  return {
    title: 'Administration',
    body: (
      <>
        <h1>Administration</h1>
        <AdminNav frame={frame} />
        <section aria-labelledby="totals">
          <h2 id="totals">All together</h2>
          <p class="summary">
            <strong>{formatSize(used)}</strong> used ({used.toLocaleString('en')} bytes) by{' '}
            {formatCount(users, 'user')} and {formatCount(organizations, 'organization')}.
          </p>
          <PartsBar
            usage={totals}
            measure={{ subject: 'size:all', used, room: undefined, state: 'unlimited' }}
          />
          <Legend usage={totals} />
          <form method="get" action={frame.at('/-/storage')} class="inline">
            <div>
              <label for="owner">The storage of a user or an organization</label>
              <input id="owner" name="owner" autocapitalize="none" spellcheck={false} required />
            </div>
            <button type="submit">Show</button>
          </form>
        </section>
        <section aria-labelledby="over">
          <h2 id="over">Over and near</h2>
          <Filter frame={frame} facts={facts} />
          <Listed frame={frame} facts={facts} />
        </section>
      </>
    ),
  }
}

export const AdminNav = ({ frame }: { frame: PageContext }) => (
  <nav class="tabs" aria-label="Administration">
    <a href={frame.at('/-/admin')}>Over and near</a>
    <a href={frame.at('/-/admin/rules')}>Rules</a>
    <a href={frame.at('/-/admin/groups')}>Groups</a>
  </nav>
)

const Filter = ({ frame, facts: { subject, within } }: { frame: PageContext; facts: AdminData }) => (
  <form method="get" action={frame.at('/-/admin')} class="inline">
    <div>
      <label for="subject">Subject</label>
      <select id="subject" name="subject">
        {subjects.map((one) => (
          <option key={one} value={one} selected={one === subject}>
            {one}
          </option>
        ))}
      </select>
    </div>
    <div>
      <label for="within">Near: percent left</label>
      <input id="within" name="within" type="number" min="0" max="100" step="any" value={within} />
    </div>
    <button type="submit">Show</button>
  </form>
)

const Listed = ({ frame, facts }: { frame: PageContext; facts: AdminData }) => {
  const { listed, total, number, size, subject, within } = facts
  const at = (page: number) => frame.at(`/-/admin?subject=${subject}&within=${within}&page=${page}`)
  return (
    <>
      <p>{total === 0 ? 'Nobody is.' : `${formatCount(total, 'owner')}, the largest excess first.`}</p>
      {listed.length > 0 && (
        <table>
          <thead>
            <tr>
              <th scope="col">Owner</th>
              <th scope="col" class="number">
                Used
              </th>
              <th scope="col" class="number">
                Limit
              </th>
            </tr>
          </thead>
          <tbody>
            {listed.map(({ name, measure }) => (
              <tr key={name}>
                <td>
                  <a href={frame.at(`/-/storage/${name}`)}>{name}</a>
                  <div class="small">
                    <StateWord measure={measure} />
                  </div>
                </td>
                <td class="number">
                  <Size bytes={measure.used} />
                </td>
                <td class="number">{measure.room !== undefined && <Size bytes={measure.room.limit} />}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <Pages
        at={at}
        number={number}
        last={Math.max(1, Math.ceil(total / size))}
        words={['Before', 'After']}
      />
    </>
  )
}

const PAGE = 50
/** In percent: whoever has no more than that left of a limit is listed as near it. */
const WITHIN = 20

export const read = { method: 'GET', who: 'admin', scope: 'read:admin' } as const
/** What is only simulated needs no more than to read: see admin-action.ts. */
export const change = { method: 'POST', who: 'admin', scope: 'read:admin' } as const

const withinIn = (text: string | null): number => {
  const within = Number(text === null || text === '' ? WITHIN : text)
  return Number.isFinite(within) ? Math.min(100, Math.max(0, within)) : WITHIN
}

const subjectIn = (text: string | null): Subject => (text !== null && isSubject(text) ? text : subjects[0])

export const adminRoutes = [
  page({
    ...read,
    path: '/-/admin',
    async handle({ frame, query }, { hosting, quota }) {
      const [subject, within] = [subjectIn(query.get('subject')), withinIn(query.get('within'))]
      const number = pageNumber(query)
      const slice = { offset: (number - 1) * PAGE, limit: PAGE }
      const { items, total } = await quota.overQuota({ subject, within: within / 100 }, slice)
      const accounts = await hosting.accounts.byIds(items.map(({ owner }) => owner))
      return adminView(frame, {
        totals: await quota.totals(),
        users: await hosting.accounts.count('user'),
        organizations: await hosting.accounts.count('organization'),
        ...{ subject, within, total, number, size: PAGE },
        // Whoever was deleted meanwhile is left out.
        listed: items.flatMap(({ owner, over, used, limit, remaining }) =>
          accounts
            .filter(({ id }) => id === owner)
            .map(({ name }) => {
              const state: SubjectStatus['state'] = over ? 'over' : 'near'
              return { name, measure: { subject, used, room: { limit, remaining }, state } }
            }),
        ),
      })
    },
  }),
]
