import type { Identity } from '../accounts/access.ts'
import { formatBytes, formatSize } from '../byte-sizes.ts'
import { AllotError } from '../errors.ts'
import { checkScopes } from '../http/access.ts'
import type { ChangedAnswer } from '../quota/reports.ts'
import { isSubject, type Subject, subjects, type Usage, usedBy } from '../quota/subjects.ts'
import type { NamedPlan } from '../repositories/named-quota.ts'
import {
  formatCount,
  Notice,
  Pages,
  Post,
  PREVIEW,
  pageNumber,
  Size,
  SizeCell,
  SubjectCode,
  sliceOf,
  Table,
} from './components.tsx'
import { Legend, StateLabel, type SubjectStatus, UsageBar } from './limits.tsx'
import {
  type PageContext,
  type PageReply,
  type PageRequest,
  type PageRoute,
  type PageServices,
  page,
  type View,
} from './route.ts'

/** @jsxRuntime automatic @jsxImportSource preact */

/** Declares that a page is for administrators. */
export const adminPage = { method: 'GET', auth: 'admin', scope: 'read:admin' } as const

/** What a form of an administrator does. */
interface AdminAction {
  /** The change as a plan, to preview which owners it affects. */
  plan(): NamedPlan | Promise<NamedPlan>
  /** Makes the change. @returns the path to redirect to */
  apply(): Promise<string>
  /** The form again, with the message of the error that refused it. */
  showAgain(failure: string): View | Promise<View>
}

type AdminRequest = PageRequest<never, Identity>

/** Declares the route of a form that an administrator can preview before submitting it. */
export const adminForm = <const Path extends string>(
  path: Path,
  prepare: (request: AdminRequest, services: PageServices) => Promise<AdminAction>,
): PageRoute =>
  page({
    method: 'POST',
    // A preview only reads; applying the change checks `write:admin`.
    ...{ auth: 'admin', scope: 'read:admin' },
    path,
    async handle(request, services) {
      const action = await prepare(request, services)
      try {
        if (request.form.text('do') === PREVIEW) return await preview(request, services, path, action)
        checkScopes(request.user, { scope: 'write:admin' })
        return { to: await action.apply() }
      } catch (error) {
        if (!(error instanceof AllotError) || !REFUSALS.has(error.code)) throw error
        return { ...(await action.showAgain(error.message)), status: error.code === 'conflict' ? 409 : 422 }
      }
    },
  })

/** Errors that the form shows; others get the error page. */
const REFUSALS: ReadonlySet<string> = new Set(['invalid', 'conflict', 'not_found', 'bad_request'])

/** Affected owners that a preview lists. */
const MAX_LISTED = 100

const preview = async (
  { form, frame }: AdminRequest,
  { hosting }: PageServices,
  path: string,
  action: AdminAction,
): Promise<PageReply> => {
  const { items, total } = await hosting.plans.simulate(await action.plan(), { offset: 0, limit: MAX_LISTED })
  const accounts = await hosting.accounts.byIds(items.map(({ owner }) => owner))
  const names = new Map(accounts.map(({ id, name }) => [id, name]))
  return simulationView(frame, {
    path,
    fields: form.entries.filter(([name]) => name !== 'form' && name !== 'do'),
    // An owner without a name was deleted since the simulation.
    changed: items.flatMap(({ owner, answers }) => {
      const name = names.get(owner)
      return name === undefined ? [] : [{ name, answers }]
    }),
    total,
  })
}

interface SimulationData {
  /** Path that the form posts to. */
  readonly path: string
  /** Fields of the form, to submit it after all. */
  readonly fields: readonly (readonly [name: string, value: string])[]
  /** The first owners for whom some subject would go over quota, or come back within it. */
  readonly changed: readonly ChangedOwner[]
  readonly total: number
}

interface ChangedOwner {
  readonly name: string
  readonly answers: readonly ChangedAnswer[]
}

/** The effect of a form of an administrator, which is not saved yet. */
export const simulationView = (
  frame: PageContext,
  { path, fields, changed, total }: SimulationData,
): View => ({
  title: 'Preview of changes',
  body: (
    <>
      <h1>Preview of changes</h1>
      <Notice kind="success">Nothing has been saved yet.</Notice>
      <p>
        {total === 0
          ? 'No owner would go over quota or come back within it.'
          : `${formatCount(total, 'owner')} would go over quota or come back within it.`}
        {total > changed.length && ` Showing the first ${changed.length}.`}
      </p>
      {changed.map((owner) => (
        <Owner key={owner.name} frame={frame} owner={owner} />
      ))}
      <Post frame={frame} to={path}>
        {fields.map(([name, value], index) => (
          <input key={index} type="hidden" name={name} value={value} />
        ))}
        <div class="buttons">
          <button type="submit">Apply changes</button>
          <a href={frame.at(formPath(path, fields))}>Cancel</a>
        </div>
      </Post>
    </>
  ),
})

/** The path of the page that has the form. */
const formPath = (path: string, fields: SimulationData['fields']): string => {
  const name = fields.find(([field]) => field === 'name')?.[1] ?? ''
  const [, page] = /^(\/-\/admin\/(?:rule|group))(?:\/|$)/.exec(path) ?? []
  return page === undefined ? path : `${page}?name=${encodeURIComponent(name)}`
}

const Owner = ({ frame, owner: { name, answers } }: { frame: PageContext; owner: ChangedOwner }) => (
  <section>
    <h2>
      <a href={frame.at(`/-/storage/${name}`)}>{name}</a>
    </h2>
    <Table column="Subject" numbers={['Used', 'Limit']}>
      {answers.map(({ subject, used, after }) => (
        <tr key={subject}>
          <td>
            <SubjectCode subject={subject} />
            <div class={`small state ${after.over ? 'over' : 'within'}`}>
              {after.over ? 'Goes over quota' : 'Comes back within quota'}
            </div>
          </td>
          <SizeCell bytes={used} />
          <td class="number">
            {after.binding === undefined ? 'none' : <Size bytes={after.binding.limit} />}
          </td>
        </tr>
      ))}
    </Table>
  </section>
)

/** @jsxRuntime automatic @jsxImportSource preact */

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
