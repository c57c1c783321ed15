import type { QuotaChange } from '../../lib/api/quota/plan-schema.ts'
import { type ApiFlags, withApi } from '../client/api-access.ts'
import type { Api } from '../client/api-client.ts'
import { type PlanFile, readPlan } from '../plan.ts'
import { escapeControl, type PrintFlags, print, printJson, printNote } from '../terminal/print.ts'

export interface ChangeFlags extends ApiFlags, PrintFlags {
  dryRun?: boolean
}

export const applyQuota = (file: string, flags: ChangeFlags): Promise<void> => {
  const plan = readPlan(file)
  return change(flags, () => plan)
}

/** Makes what is planned on the ground of what is there, all or nothing, and tells what that changed. */
export const change = (
  { dryRun = false, json, ...flags }: ChangeFlags,
  planFor: (api: Api) => Partial<PlanFile> | Promise<Partial<PlanFile>>,
): Promise<void> =>
  withApi(
    flags,
    async (api) => {
      const plan = await planFor(api)
      const changes = await api.send<QuotaChange[]>('POST', `/admin/quota/apply?dry_run=${dryRun}`, plan)
      if (json) printJson(changes)
      else for (const one of changes) print(escapeControl(line(one)))
      printNote(summary(changes.length, dryRun))
    },
    { mayMake: true },
  )

const line = ({ action, kind, name, before, after }: QuotaChange): string => {
  const settings = [before, after].filter((one) => one !== null).map(words)
  return `${action} ${kind} ${name}: ${settings.join(' -> ')}`
}

const words = ({ limit, subjects, rules, groups }: NonNullable<QuotaChange['before']>): string =>
  [limit === undefined ? [] : `limit ${limit}`, listed(subjects), listed(rules), listed(groups)]
    .flat()
    .join(', ')

const listed = (names: readonly string[] | undefined): string[] =>
  names === undefined ? [] : [`[${names.join(' ')}]`]

const summary = (count: number, dryRun: boolean): string => {
  if (count === 0) return 'nothing to change'
  const changes = `${count} ${count === 1 ? 'change' : 'changes'}`
  return dryRun ? `${changes} to make; nothing was changed` : `${changes} made`
}
