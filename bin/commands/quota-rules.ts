import type { Command } from 'commander'
import type { QuotaChange } from '../../lib/api/quota/plans.ts'
import type { QuotaGroupInfo, QuotaRuleInfo } from '../../lib/api/quota/schema.ts'
import { formatExactLimit, formatLimit } from '../../lib/byte-sizes.ts'
import type { Subject } from '../../lib/quota/subjects.ts'
import { type ApiClient, type ApiFlags, NotFoundError, pathSegment, withApi } from '../client/api.ts'
import { type Columns, type ListFlags, printList } from '../client/list.ts'
import type { PlanFile } from '../config/config.ts'
import { UsageError } from '../errors.ts'
import { escapeControl, type PrintFlags, print, printJson, printNote } from '../terminal.ts'
import {
  apiOptions,
  examples,
  parseLimitOption,
  parseList,
  parseSubjects,
  remoteOptions,
  storeOptions,
} from './options.ts'

/**
 * Commands that change rules and groups. All but the deletions apply a quota plan, as `allot quota apply`
 * does.
 */

export const addRuleCommands = (quota: Command): void => {
  const rules = quota.command('rules').description('manage rules, each of which limits what it measures')
  apiOptions(rules.command('list', { isDefault: true }))
    .description('list all rules')
    .addHelpText('after', examples('allot quota rules'))
    .action((flags: ListFlags) =>
      printList(flags, { path: '/admin/quota/rules', columns: RULES, empty: 'there are no rules yet' }),
    )
  apiOptions(rules.command('set'))
    .argument('<name>')
    .description('create a rule, or change the given properties of one')
    .option('--limit <size>', 'bytes, or a size such as "2 GiB"; -1 is unlimited', parseLimitOption)
    .option('--subjects <a,b>', 'what the rule measures', parseSubjects)
    .option('--dry-run', DRY_RUN)
    .addHelpText('after', examples('allot quota rules set free-total --limit "2 GiB" --subjects size:all'))
    .action(setRule)
  remoteOptions(storeOptions(rules.command('delete')))
    .argument('<name>')
    .description('delete a rule, and remove it from every group')
    .addHelpText('after', examples('allot quota rules delete free-total'))
    .action((name: string, flags: ApiFlags) => deleteByName('rule', name, flags))
}

export const addGroupCommands = (quota: Command): void => {
  const groups = quota.command('groups').description('manage groups of rules, which are assigned to owners')
  apiOptions(groups.command('list', { isDefault: true }))
    .description('list all groups and their rules')
    .addHelpText('after', examples('allot quota groups'))
    .action((flags: ListFlags) =>
      printList(flags, { path: '/admin/quota/groups', columns: GROUPS, empty: 'there are no groups yet' }),
    )
  apiOptions(groups.command('set'))
    .argument('<name>')
    .description('create a group, or replace the rules of one')
    .requiredOption('--rules <a,b>', 'all rules of the group', parseList)
    .option('--dry-run', DRY_RUN)
    .addHelpText('after', examples('allot quota groups set free --rules free-total,few-artifacts'))
    .action((name: string, { rules, ...flags }: ChangeFlags & { rules: string[] }) =>
      sendPlan(flags, () => ({ groups: [{ name, rules }] })),
    )
  apiOptions(groups.command('assign'))
    .argument('<owner>', 'a user or an organization')
    .argument('[groups...]', 'all groups of this owner; none: the configured default groups')
    .description('replace the groups of an owner')
    .option('--dry-run', DRY_RUN)
    .addHelpText('after', examples('allot quota groups assign acme free sponsors'))
    .action((owner: string, names: string[], flags: ChangeFlags) =>
      sendPlan(flags, () => ({ assignments: { [owner]: names } })),
    )
  remoteOptions(storeOptions(groups.command('delete')))
    .argument('<name>')
    .description('delete a group, and remove it from every owner; its rules stay')
    .addHelpText('after', examples('allot quota groups delete free'))
    .action((name: string, flags: ApiFlags) => deleteByName('group', name, flags))
}

const RULES: Columns<QuotaRuleInfo> = {
  NAME: ({ name }) => name ?? '',
  LIMIT: ({ limit }) => formatLimit(limit),
  SUBJECTS: ({ subjects }) => subjects.join(',') || 'none: limits nothing',
}

const GROUPS: Columns<QuotaGroupInfo> = {
  NAME: ({ name }) => name ?? '',
  RULES: ({ rules }) =>
    rules.map(({ name, limit }) => `${name} (${formatLimit(limit)})`).join(', ') || 'none: allows everything',
}

/** A rule that exists keeps the properties that are not given; a new rule needs both. */
const setRule = (
  name: string,
  { limit, subjects, ...flags }: ChangeFlags & { limit?: number; subjects?: Subject[] },
): Promise<void> => {
  const path = `/admin/quota/rules/${pathSegment(name)}`
  return sendPlan(flags, async (api) => {
    const before = await api.get<QuotaRuleInfo>(path, 'not found').catch((error: unknown) => {
      if (error instanceof NotFoundError) return undefined
      throw error
    })
    const rule = { name, limit: limit ?? before?.limit, subjects: subjects ?? before?.subjects }
    if (rule.limit === undefined)
      throw new UsageError(`there is no rule named ${name}: give --limit to create it`)
    if (rule.subjects === undefined)
      throw new UsageError(`a rule limits only its subjects: give --subjects, such as --subjects size:all`)
    if (rule.subjects.length === 0) printNote(`the rule ${name} has no subjects, so it limits nothing`)
    return { rules: [{ name, limit: rule.limit, subjects: rule.subjects }] }
  })
}

const deleteByName = (kind: 'rule' | 'group', name: string, flags: ApiFlags): Promise<void> => {
  const path = `/admin/quota/${kind}s/${pathSegment(name)}`
  return withApi(flags, async (api) => {
    const emptied = kind === 'rule' ? await groupsWithOnly(name, api) : []
    await api.send('DELETE', path, { notFound: `there is no ${kind} named ${name}` })
    printNote(`deleted the ${kind} ${name}`)
    for (const group of emptied) printNote(`the group ${group} has no rules now, and limits nothing`)
  })
}

/** Names of the groups that have no other rule. */
const groupsWithOnly = async (rule: string, api: ApiClient): Promise<(string | undefined)[]> => {
  const found: (string | undefined)[] = []
  for await (const { items } of api.pages<QuotaGroupInfo>('/admin/quota/groups'))
    for (const group of items)
      if (group.rules.length > 0 && group.rules.every(({ name }) => name === rule)) found.push(group.name)
  return found
}

export const addApplyCommand = (quota: Command): void => {
  apiOptions(quota.command('apply'))
    .argument('<file>', 'TOML file of rules, groups and assignments; - for standard input')
    .description('apply the quota plan in a file, all or nothing, and print the changes')
    .option('--dry-run', DRY_RUN)
    .addHelpText('after', examples('allot quota apply quota.toml --dry-run'))
    .action(async (file: string, flags: ChangeFlags) => {
      const { readPlan } = await import('../config/config.ts')
      const plan = readPlan(file)
      return sendPlan(flags, () => plan)
    })
}

/** Description of `--dry-run` on every command that changes rules or groups. */
const DRY_RUN = 'only print what would change'

interface ChangeFlags extends ApiFlags, PrintFlags {
  dryRun?: boolean
}

/**
 * Applies a quota plan, all or nothing, and prints the changes.
 * @param createPlan makes the plan, from what the API has where that matters
 */
const sendPlan = (
  { dryRun = false, json, ...flags }: ChangeFlags,
  createPlan: (api: ApiClient) => Partial<PlanFile> | Promise<Partial<PlanFile>>,
): Promise<void> =>
  withApi(flags, async (api) => {
    const plan = await createPlan(api)
    const changes = await api.send<QuotaChange[]>('POST', `/admin/quota/apply?dry_run=${dryRun}`, {
      body: plan,
    })
    if (json) printJson(changes)
    else for (const change of changes) print(escapeControl(describe(change)))
    printNote(summary(changes.length, dryRun))
  })

/** Such as `update rule free: limit 1 GiB, [size:all] -> limit 2 GiB, [size:all]`. */
const describe = ({ action, kind, name, before, after }: QuotaChange): string => {
  const states = [before, after].filter((state) => state !== null).map(describeState)
  return `${action} ${kind} ${name}: ${states.join(' -> ')}`
}

const describeState = ({ limit, subjects, rules, groups }: NonNullable<QuotaChange['before']>): string => {
  const lists = [subjects, rules, groups]
    .filter((list) => list !== undefined)
    .map((list) => `[${list.join(' ')}]`)
  return [...(limit === undefined ? [] : [`limit ${formatExactLimit(limit)}`]), ...lists].join(', ')
}

const summary = (count: number, dryRun: boolean): string => {
  if (count === 0) return 'nothing to change'
  const changes = `${count} ${count === 1 ? 'change' : 'changes'}`
  return dryRun ? `${changes} to make; nothing was changed` : `${changes} made`
}
