import type { Identity } from '../accounts/identity.ts'
import { AllotError } from '../errors.ts'
import { checkScopes } from '../http/access.ts'
import type { NamedPlan } from '../repositories/named-plans.ts'
import { PREVIEW } from './components.tsx'
import {
  type PageReply,
  type PageRequest,
  type PageRoute,
  type PageServices,
  page,
  type View,
} from './route.ts'
import { simulationView } from './simulation.tsx'

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
