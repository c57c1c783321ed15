/** @jsxRuntime automatic @jsxImportSource preact */
/** What the pages of administrators share: their navigation, and forms that can be previewed. */
import type { ComponentChildren } from 'preact'
import type { Identity } from '../../accounts/access.ts'
import { AllotError } from '../../errors.ts'
import { requireScopes } from '../../http/route.ts'
import type { NamedPlan } from '../../quota/plans-by-name.ts'
import type { ChangedOwner } from '../../quota/reports.ts'
import type { Page } from '../../records/collection.ts'
import {
  FlashMessage,
  formatCount,
  Link,
  Notice,
  PageHead,
  Post,
  PREVIEW,
  Size,
  SizeCell,
  SubjectCode,
  Table,
  Tabs,
} from '../components.tsx'
import { type PageRequest, type PageRoute, type PageServices, page, type View } from '../route.ts'

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

/** Declares the route of a form that an administrator can preview before submitting it. */
export const adminForm = <const Path extends string>(
  path: Path,
  prepare: (request: PageRequest<never, Identity>, services: PageServices) => Promise<AdminAction>,
): PageRoute =>
  page({
    // A preview only reads; applying the change checks `write:admin`.
    ...adminPage,
    method: 'POST',
    path,
    async handle(request, services) {
      const action = await prepare(request, services)
      const { form, user } = request
      try {
        if (form.text('do') === PREVIEW) {
          const fields = form.entries.filter(([name]) => name !== 'form' && name !== 'do')
          return await preview(services, await action.plan(), path, fields)
        }
        requireScopes(user, { scope: 'write:admin' })
        return { to: await action.apply() }
      } catch (error) {
        if (!(error instanceof AllotError) || !REFUSALS.has(error.code)) throw error
        return { ...(await action.showAgain(error.message)), status: error.code === 'conflict' ? 409 : 422 }
      }
    },
  })

/** Errors that the form shows; others get the error page. */
const REFUSALS: ReadonlySet<string> = new Set(['invalid', 'conflict', 'not_found', 'bad_request'])

type Fields = readonly (readonly [name: string, value: string])[]

/** Affected owners that a preview lists. */
const MAX_LISTED = 100

/**
 * Shows the effect of a form, which is not saved yet.
 * @param fields fields of the form, to submit it after all
 */
const preview = async (
  services: PageServices,
  plan: NamedPlan,
  path: string,
  fields: Fields,
): Promise<View> => {
  const changed = await services.hosting.plans.simulate(plan, { offset: 0, limit: MAX_LISTED })
  const { items, total } = await withNames(services, changed)
  const owners = formatCount(total, 'owner')
  return {
    title: 'Preview of changes',
    body: (
      <>
        <PageHead title="Preview of changes" />
        <Notice kind="success">Nothing has been saved yet.</Notice>
        <p>
          {total === 0 ? 'No owner' : owners} would go over quota or come back within it.
          {total > items.length && ` Showing the first ${items.length}.`}
        </p>
        {items.map((owner) => (
          <PreviewedOwner key={owner.name} {...owner} />
        ))}
        <Post to={path} fields={fields}>
          <div class="buttons">
            <button type="submit">Apply changes</button>
            <Link to={formPath(path, fields)}>Cancel</Link>
          </div>
        </Post>
      </>
    ),
  }
}

/** The path of the page that has the form. */
const formPath = (path: string, fields: Fields): string => {
  const name = fields.find(([field]) => field === 'name')?.[1] ?? ''
  const [, page] = /^(\/-\/admin\/(?:rule|group))(?:\/|$)/.exec(path) ?? []
  return page === undefined ? path : `${page}?name=${encodeURIComponent(name)}`
}

const PreviewedOwner = ({ name, answers }: Pick<ChangedOwner, 'answers'> & { name: string }) => (
  <section>
    <h2>
      <Link to={`/-/storage/${name}`}>{name}</Link>
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

/** Adds the names of owners. Leaves out owners that were deleted since the page was read. */
export const withNames = async <T extends { owner: number }>(
  { hosting }: PageServices,
  { items, total }: Page<T>,
): Promise<Page<T & { name: string }>> => {
  const accounts = await hosting.accounts.byIds(items.map(({ owner }) => owner))
  const names = new Map(accounts.map(({ id, name }) => [id, name]))
  const named = items.map((item) => ({ ...item, name: names.get(item.owner) ?? '' }))
  return { items: named.filter(({ name }) => name !== ''), total }
}

const ADMIN_TABS = [
  { name: 'Overview', to: '/-/admin' },
  { name: 'Rules', to: '/-/admin/rules' },
  { name: 'Groups', to: '/-/admin/groups' },
]

/** A page of administrators, with the result of the last form. */
export const adminView = (title: string, message: FlashMessage, content: ComponentChildren): View => ({
  title,
  body: (
    <>
      <PageHead title={title} />
      <Tabs label="Administration" tabs={ADMIN_TABS} />
      <FlashMessage {...message} />
      {content}
    </>
  ),
})
