/** @jsxRuntime automatic @jsxImportSource preact */
import { type Subject, subjects, type Usage, usedBy } from '../quota/subjects.ts'
import { formatCount, formatSize } from './format.ts'
import type { PageContext, View } from './route.ts'
import { Legend, PartsBar, Size, StateWord } from './usage-bar.tsx'
import type { SubjectStatus } from './usage-breakdown.ts'
import { Pages } from './usage-list.tsx'

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
