import type { Identity } from '../accounts/identity.ts'
import { AllotError } from '../errors.ts'
import { checkScopes } from '../http/scopes.ts'
import type { NamedPlan } from '../repositories/named-plans.ts'
import type { Form } from './form.ts'
import type { PageContext, PageReply, PageServices, Redirect, View } from './route.ts'
import { type ChangedOwnerView, simulationView } from './simulation.tsx'

/** What a form of an administrator is sent for. */
export interface AdminAction {
  readonly form: Form
  readonly frame: PageContext
  readonly user: Identity
  /** Where the form was sent. */
  readonly path: string
  /** What it comes to, to see whom that would change before it is done. */
  plan(): NamedPlan | Promise<NamedPlan>
  apply(): Promise<Redirect>
  /** The form again, with what is wrong. */
  showAgain(failure: string): View | Promise<View>
}

/** The value of the button that only shows what would change. */
export const SIMULATE = 'simulate'

/** So many of those who would change are named. */
const NAMED = 100

/** Does what a form asks for, or shows whom it would change; what is wrong with it is said above the same form. */
export const runAdminAction = async (services: PageServices, action: AdminAction): Promise<PageReply> => {
  const isSimulated = action.form.text('do') === SIMULATE
  if (!isSimulated) checkScopes(action.user, { scope: 'write:admin' })
  try {
    return isSimulated ? await simulate(services, action) : await action.apply()
  } catch (error) {
    if (!(error instanceof AllotError) || !REFUSALS.has(error.code)) throw error
    return { ...(await action.showAgain(error.message)), status: error.code === 'conflict' ? 409 : 422 }
  }
}

const REFUSALS: ReadonlySet<string> = new Set(['invalid', 'conflict', 'not_found', 'bad_request'])

const simulate = async ({ hosting }: PageServices, action: AdminAction): Promise<View> => {
  const { items, total } = await hosting.plans.simulate(await action.plan(), { offset: 0, limit: NAMED })
  const accounts = await hosting.accounts.byIds(items.map(({ owner }) => owner))
  const names = new Map(accounts.map(({ id, name }) => [id, name]))
  const changed = items.flatMap(({ owner, answers }): ChangedOwnerView[] => {
    const name = names.get(owner)
    return name === undefined ? [] : [{ name, answers }]
  })
  const fields = action.form.entries.filter(([name]) => name !== 'form' && name !== 'do')
  return simulationView(action.frame, { path: action.path, fields, changed, total })
}
