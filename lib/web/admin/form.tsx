/** Shared by the pages of administrators: navigation, and forms that can be previewed. */
import type { ComponentChildren } from 'preact'
import type { Identity } from '../../accounts/access.ts'
import { accountByName } from '../../accounts/find.ts'
import { invalidMember } from '../../errors.ts'
import type { NamedPlan } from '../../quota/plans-by-name.ts'
import type { Effects } from '../../quota/simulation.ts'
import type { Account } from '../../records/schema/index.ts'
import { requireScopes } from '../../scopes.ts'
import type { ReadTransaction } from '../../storage/index.ts'
import { FlashMessage, Notice, PageHead, Post, PREVIEW, Section, Tabs } from '../parts/components.tsx'
import type { Form } from '../parts/form.ts'
import type { FieldName } from '../parts/labels.ts'
import {
  type Crumb,
  EDIT,
  type FormAction,
  form,
  type PageRequest,
  type PageRoute,
  type PageServices,
  type View,
} from '../parts/route.ts'
import { changeTitle, EffectList } from './effects.tsx'

/**
 * @param field which the error names.
 * @throws AllotError invalid when there is no such owner
 */
export const ownerNamed =
  (name: string, field: FieldName) =>
  async (tx: ReadTransaction): Promise<Account> => {
    const account = await accountByName(tx, name)
    if (account === undefined) throw invalidMember(field, `there is no user or organization named "${name}"`)
    return account
  }

/** Declares that a page is for administrators. */
export const adminPage = { auth: 'admin', scope: 'read:admin' } as const

/** What an administrator's form does. */
interface AdminAction extends Omit<FormAction, 'asks'> {
  /** The change as a plan, to preview which owners it affects; absent when it deletes a rule or a group. */
  plan?(): NamedPlan | Promise<NamedPlan>
  /** Names what the form deletes; such a form always asks first. */
  readonly deletes?: string
  /** Whether a form that deletes nothing asks first, too. */
  readonly asksFirst?: boolean
  /** The rule or the group that is deleted, to preview that. */
  readonly without?: { readonly rule?: string; readonly group?: string }
  /** Whom a deletion concerns. */
  concerns?(effects: Effects): string | Promise<string>
}

/** Declares the route of a form that an administrator can preview before submitting it. */
export const adminForm = <const Path extends string>(
  path: Path,
  prepare: (request: PageRequest<never, Identity>, services: PageServices) => Promise<AdminAction>,
): PageRoute =>
  // A preview only reads; applying the change checks `write:admin`.
  form({ ...adminPage, path }, async (request, services) => {
    const action = await prepare(request as PageRequest<never, Identity>, services)
    return {
      ...action,
      asks: () => (isPreviewed(action, request.form) ? preview(services, action, request) : undefined),
      async run() {
        requireScopes(request.user, { scope: 'write:admin' })
        const reply = await action.run()
        services.hosting.ownerTable.changed()
        return reply
      },
    }
  })

/** Whether the effect of the form is shown before it is saved. */
const isPreviewed = ({ deletes, asksFirst }: AdminAction, form: Form): boolean =>
  form.text('do') === PREVIEW || deletes !== undefined || asksFirst === true

/** Owners that a preview lists. */
const MAX_LISTED = 100

/** Shows the effect of a form, which is not saved yet. */
const preview = async (
  services: PageServices,
  action: AdminAction,
  { path, form }: Pick<PageRequest, 'path' | 'form'>,
): Promise<View> => {
  const { deletes } = action
  // To submit the form after all.
  const fields = form.entries.filter(([name]) => name !== 'form' && name !== 'do')
  const { plans } = services.hosting
  const plan = (await action.plan?.()) ?? {}
  const effects = await plans.effectsOf(plan, { without: action.without ?? {}, limit: MAX_LISTED })
  const title =
    deletes === undefined ? changeTitle(await plans.apply(plan, { dryRun: true })) : `Delete ${deletes}?`
  const concerns = await action.concerns?.(effects)
  const owners = await withNames(services, effects.owners)
  return adminView(
    title,
    <>
      {deletes === undefined && <Notice kind="near">Nothing has been saved yet.</Notice>}
      <Section id="effect" title="Effect">
        {concerns !== undefined && <p>{concerns}</p>}
        <EffectList effects={{ ...effects, owners }} scope={concerns === undefined} />
        <Post to={path} fields={[...fields, ['confirmed', 'yes']]}>
          <div class="buttons">
            <button type="submit" class={deletes === undefined ? undefined : 'danger final'}>
              {deletes === undefined ? 'Apply changes' : `Delete ${deletes}`}
            </button>
            <button type="submit" class="secondary" name="do" value={EDIT}>
              Cancel
            </button>
          </div>
        </Post>
      </Section>
    </>,
    crumbsOf(path),
    <PageHead title={title} subtitle={deletes && 'This cannot be undone.'} />,
  )
}

/** Adds the names of owners. Leaves out owners that were deleted since the page was read. */
const withNames = async <T extends { owner: number }>(
  { hosting }: PageServices,
  items: readonly T[],
): Promise<(T & { name: string })[]> => {
  const accounts = await hosting.accounts.byIds(items.map(({ owner }) => owner))
  const names = new Map(accounts.map(({ id, name }) => [id, name]))
  const named = items.map((item) => ({ ...item, name: names.get(item.owner) ?? '' }))
  return named.filter(({ name }) => name !== '')
}

/** The page above those of rules, groups and owners. */
export const ADMINISTRATION: Crumb = { name: 'Administration', to: '/-/admin' }

const ADMIN_TABS = [
  { name: 'Overview', to: '/-/admin' },
  { name: 'Owners', to: '/-/admin/owners', currentBelow: ['/-/admin/account', '/-/admin/accounts'] },
  { name: 'Rules', to: '/-/admin/rules', currentBelow: ['/-/admin/rule'] },
  { name: 'Groups', to: '/-/admin/groups', currentBelow: ['/-/admin/group'] },
  { name: 'Audit log', to: '/-/admin/audit' },
]

/** The pages above the preview of a form: the overview, and the list that its path belongs to. */
const crumbsOf = (path: string): readonly Crumb[] => [
  ADMINISTRATION,
  ...ADMIN_TABS.slice(1).filter(({ to, currentBelow = [] }) =>
    [to, ...currentBelow].some((above) => path === above || path.startsWith(`${above}/`)),
  ),
]

const AdminTabs = () => <Tabs label="Administration" tabs={ADMIN_TABS} />

/** A page of administrators, with the result of the last form. */
export const adminView = (
  title: string,
  content: ComponentChildren,
  crumbs: readonly Crumb[] = [],
  head = <PageHead title={title} />,
): View => ({
  title,
  crumbs,
  body: (
    <>
      {head}
      <AdminTabs />
      <FlashMessage />
      {content}
    </>
  ),
})
