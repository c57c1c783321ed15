import type { Command } from 'commander'
import type { QuotaChange } from '../../lib/api/quota/plans.ts'
import { type ApiFlags, withApi } from '../client/api-access.ts'
import type { Api } from '../client/api-client.ts'
import type { PlanFile } from '../config/quota-plan.ts'
import { escapeControl, type PrintFlags, print, printJson, printNote } from '../terminal.ts'
import { apiOptions, examples } from './options.ts'

export const addApplyCommand = (quota: Command): void => {
  apiOptions(quota.command('apply'))
    .argument('<file>', 'TOML file of rules, groups and assignments; - for standard input')
    .description('apply the quota plan in a file, all or nothing, and print the changes')
    .option('--dry-run', DRY_RUN)
    .addHelpText('after', examples('allot quota apply quota.toml --dry-run'))
    .action(async (file: string, flags: ChangeFlags) => {
      const { readPlan } = await import('../config/quota-plan.ts')
      const plan = readPlan(file)
      return applyPlan(flags, () => plan)
    })
}

/** Description of `--dry-run` on every command that changes rules or groups. */
export const DRY_RUN = 'only print what would change'

export interface ChangeFlags extends ApiFlags, PrintFlags {
  dryRun?: boolean
}

/**
 * Applies a quota plan, all or nothing, and prints the changes.
 * @param createPlan makes the plan, from what the API has where that matters
 */
export const applyPlan = (
  { dryRun = false, json, ...flags }: ChangeFlags,
  createPlan: (api: Api) => Partial<PlanFile> | Promise<Partial<PlanFile>>,
): Promise<void> =>
  withApi(
    flags,
    async (api) => {
      const plan = await createPlan(api)
      const changes = await api.send<QuotaChange[]>('POST', `/admin/quota/apply?dry_run=${dryRun}`, plan)
      if (json) printJson(changes)
      else for (const change of changes) print(escapeControl(describe(change)))
      printNote(summary(changes.length, dryRun))
    },
    { createStore: true },
  )

/** Such as `update rule free: limit 1024, [size:all] -> limit 2048, [size:all]`. */
const describe = ({ action, kind, name, before, after }: QuotaChange): string => {
  const states = [before, after].filter((state) => state !== null).map(describeState)
  return `${action} ${kind} ${name}: ${states.join(' -> ')}`
}

const describeState = ({ limit, subjects, rules, groups }: NonNullable<QuotaChange['before']>): string => {
  const lists = [subjects, rules, groups]
    .filter((list) => list !== undefined)
    .map((list) => `[${list.join(' ')}]`)
  return [...(limit === undefined ? [] : [`limit ${limit}`]), ...lists].join(', ')
}

const summary = (count: number, dryRun: boolean): string => {
  if (count === 0) return 'nothing to change'
  const changes = `${count} ${count === 1 ? 'change' : 'changes'}`
  return dryRun ? `${changes} to make; nothing was changed` : `${changes} made`
}
