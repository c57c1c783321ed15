/** @jsxRuntime automatic @jsxImportSource preact */
import type { Identity } from '../accounts/access.ts'
import { AllotError } from '../errors.ts'
import { checkScopes } from '../http/route.ts'
import type { ChangedAnswer } from '../quota/reports.ts'
import type { NamedPlan } from '../repositories/named-quota.ts'
import { formatCount, Notice, Post, PREVIEW, Size, SizeCell, SubjectCode, Table } from './components.tsx'
import {
  type PageContext,
  type PageReply,
  type PageRequest,
  type PageRoute,
  type PageServices,
  page,
  type View,
} from './route.ts'

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
