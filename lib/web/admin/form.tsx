/** @jsxRuntime automatic @jsxImportSource preact */
/** Shared by the pages of administrators: navigation, and forms that can be previewed. */
import type { ComponentChildren } from 'preact'
import type { Identity } from '../../accounts/access.ts'
import { formatSize } from '../../byte-sizes.ts'
import { AllotError } from '../../errors.ts'
import { requireScopes } from '../../http/access.ts'
import type { NamedPlan } from '../../quota/plans-by-name.ts'
import type { ChangedOwner } from '../../quota/simulation.ts'
import type { Page } from '../../records/collection.ts'
import {
  FlashMessage,
  formatCount,
  Link,
  Notice,
  PageHead,
  Post,
  PREVIEW,
  Section,
  SubjectCode,
  Tabs,
} from '../components.tsx'
import { type Crumb, type PageRequest, type PageRoute, type PageServices, page, type View } from '../route.ts'
import { formatUsedOf } from '../storage/limits.tsx'
import { subjectTexts } from '../subject-names.ts'

/** Declares that a page is for administrators. */
export const adminPage = { method: 'GET', auth: 'admin', scope: 'read:admin' } as const

/** The action of an administrator's form. */
interface AdminAction {
  /** The change as a plan, to preview which owners it affects; absent when it deletes a rule or a group. */
  plan?(): NamedPlan | Promise<NamedPlan>
  /** Names what the form deletes; such a form always asks first. */
  readonly deletes?: string
  /** The rule or the group that is deleted, to preview that, and whom it concerns. */
  readonly without?: { readonly rule?: string; readonly group?: string; readonly concerns: string }
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
        const asksFirst = action.deletes !== undefined && form.text('confirmed') === ''
        if (form.text('do') === PREVIEW || asksFirst) {
          const fields = form.entries.filter(([name]) => name !== 'form' && name !== 'do')
          return await preview(services, action, { path, fields, deletes: action.deletes })
        }
        requireScopes(user, { scope: 'write:admin' })
        const to = await action.apply()
        services.hosting.ownerTable.changed()
        return { to }
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
const FIRST = { offset: 0, limit: 100 }

interface PreviewedForm {
  readonly path: string
  /** Fields of the form, to submit it after all. */
  readonly fields: Fields
  readonly deletes: string | undefined
}

/** Shows the effect of a form, which is not saved yet. */
const preview = async (
  services: PageServices,
  { plan, without }: AdminAction,
  { path, fields, deletes }: PreviewedForm,
): Promise<View> => {
  const { plans } = services.hosting
  const changed =
    without === undefined
      ? await plans.simulate((await plan?.()) ?? {}, FIRST)
      : await plans.simulateDeletion(without, FIRST)
  const { items, total } = await withNames(services, changed)
  const owners = formatCount(total, 'owner')
  const title = deletes === undefined ? 'Preview of changes' : `Delete ${deletes}?`
  return {
    title,
    crumbs: [ADMINISTRATION],
    body: (
      <>
        <PageHead title={title} subtitle={deletes && 'This cannot be undone.'} />
        <AdminTabs />
        {deletes === undefined && <Notice kind="near">Nothing has been saved yet.</Notice>}
        <Section id="effect" title="Effect">
          {without !== undefined && <p>{without.concerns}</p>}
          <p>
            {total === 0 ? 'No owner' : owners} would go over quota or come back within it.
            {total > items.length && ` Showing the first ${items.length}.`}
          </p>
          {items.length > 0 && (
            <ul class="plain rows more">
              {items.map((owner) => (
                <PreviewedOwner key={owner.name} {...owner} />
              ))}
            </ul>
          )}
          <Post to={path} fields={deletes === undefined ? fields : [...fields, ['confirmed', 'yes']]}>
            <div class="buttons">
              <button type="submit" class={deletes === undefined ? undefined : 'danger final'}>
                {deletes === undefined ? 'Apply changes' : `Delete ${deletes}`}
              </button>
              <Link class="button secondary" to={formPath(path, fields)}>
                Cancel
              </Link>
            </div>
          </Post>
        </Section>
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

/** One line: what changes for the owner and the rule that binds then; every subject is listed on demand. */
const PreviewedOwner = ({ name, answers }: Pick<ChangedOwner, 'answers'> & { name: string }) => {
  const gained = answers.filter(({ after }) => after.over)
  const [first] = gained.length > 0 ? gained : answers
  if (first === undefined) return null
  const { subject, used, before, after } = first
  const binding = after.over ? after.binding : before.binding
  return (
    <li>
      <div class="line">
        <Link to={`/-/storage/${name}`}>
          <bdi>{name}</bdi>
        </Link>
        <span class={`state ${after.over ? 'over' : 'within'}`}>
          {after.over ? 'Goes over quota' : 'Comes back within quota'}
        </span>
      </div>
      <div class="small">
        {subjectTexts[subject].name}:{' '}
        {binding === undefined ? (
          formatSize(used)
        ) : (
          <>
            {formatUsedOf({ used, rule: binding })}, rule <em>{binding.rule}</em>
          </>
        )}
        {!after.over && after.binding !== undefined && `; from now on ${formatSize(after.binding.limit)}`}
      </div>
      {answers.length > 1 && (
        <details class="small">
          <summary>{formatCount(answers.length, 'subject')}</summary>
          {answers.map((answer) => (
            <div key={answer.subject}>
              <SubjectCode subject={answer.subject} />{' '}
              {answer.after.over ? 'goes over quota' : 'comes back within quota'}
            </div>
          ))}
        </details>
      )}
    </li>
  )
}

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

/** The page above those of rules, groups and owners. */
export const ADMINISTRATION: Crumb = { name: 'Administration', to: '/-/admin' }

const ADMIN_TABS = [
  { name: 'Overview', to: '/-/admin' },
  { name: 'Owners', to: '/-/admin/owners', currentBelow: ['/-/admin/account', '/-/admin/accounts'] },
  { name: 'Rules', to: '/-/admin/rules', currentBelow: ['/-/admin/rule'] },
  { name: 'Groups', to: '/-/admin/groups', currentBelow: ['/-/admin/group'] },
  { name: 'Audit', to: '/-/admin/audit' },
]

export const AdminTabs = () => <Tabs label="Administration" tabs={ADMIN_TABS} />

/** A page of administrators, with the result of the last form. */
export const adminView = (
  title: string,
  message: FlashMessage,
  content: ComponentChildren,
  crumbs: readonly Crumb[] = [],
): View => ({
  title,
  crumbs,
  body: (
    <>
      <PageHead title={title} />
      <AdminTabs />
      <FlashMessage {...message} />
      {content}
    </>
  ),
})
