import type { Command } from 'commander'
import type { QuotaOverInfo } from '../../lib/api/quota/plans.ts'
import type { QuotaExplanationInfo, QuotaHistoryDay, QuotaInfo } from '../../lib/api/quota/schema.ts'
import { formatBytes, formatLimit, formatSizeFixed } from '../../lib/byte-sizes.ts'
import { kindNames, type Usage, usedBy } from '../../lib/quota/subjects.ts'
import { HISTORY_DAYS } from '../../lib/quota/usage.ts'
import { type ApiClient, type ApiFlags, pathSegment, remoteApi, withApi } from '../client/api.ts'
import { type Columns, type ListFlags, printList, printTable } from '../client/list.ts'
import { UsageError } from '../errors.ts'
import { escapeControl, print, printJson } from '../terminal.ts'
import { apiOptions, examples, parseDays, parsePercentage, subjectOption } from './options.ts'

const OWNER = 'a user or an organization; on a server: the user of the token when absent'

export const addUsageCommands = (quota: Command): void => {
  apiOptions(quota.command('show'))
    .argument('[owner]', OWNER)
    .description(
      "show an owner's usage by category, the limits that apply, and the one that is reached first",
    )
    .addHelpText(
      'after',
      examples('allot quota show alice', 'ALLOT_URL=https://git.example.org ALLOT_TOKEN=… allot quota show'),
    )
    .action(showUsage)
  apiOptions(quota.command('explain'))
    .argument('[owner]', OWNER)
    .description('explain why an owner is, or is not, over quota')
    .addOption(subjectOption('the one with the least left'))
    .addHelpText(
      'after',
      examples('allot quota explain alice', 'allot quota explain alice --subject size:assets:artifacts'),
    )
    .action(explainUsage)
  apiOptions(quota.command('history'))
    .argument('[owner]', OWNER)
    .description("list an owner's usage at the end of each day on which it changed, oldest first")
    .option(
      '--days <n>',
      `how many days to look back, 1 to ${HISTORY_DAYS} (default: ${HISTORY_DAYS})`,
      parseDays,
    )
    .addHelpText('after', examples('allot quota history alice', 'allot quota history alice --days 30'))
    .action(listHistory)
  apiOptions(quota.command('over'))
    .description('list owners that are over quota, largest excess first')
    .addOption(subjectOption('any subject'))
    .option(
      '--within <percentage>',
      'also list owners with at most this share of their limit left',
      parsePercentage,
    )
    .addHelpText(
      'after',
      examples('allot quota over', 'allot quota over --subject size:git:all --within 20%'),
    )
    .action(listOver)
}

type Rule = QuotaExplanationInfo['groups'][number]['rules'][number]

const showUsage = (owner: string | undefined, flags: ListFlags): Promise<void> => {
  const path = quotaPath(owner, flags)
  return withApi(flags, async (api) => {
    const info = await api.get<QuotaInfo>(path, notFound(owner))
    if (flags.json) return printJson(info)
    const explanation = await explain(api, path, owner)
    const usage = usageOf(info)
    const used = usedBy('size:all', usage)
    const name = escapeControl(await ownerName(api, owner))
    const unlimited = explanation.limit === null ? ', and nothing limits it' : ''
    const lines = [`${name} uses ${formatSizeFixed(used)}${unlimited}`, ...exactBytes(used)]
    print([...lines, ...bindingRule(explanation), ''].join('\n'))
    const kinds = Object.keys(kindNames) as (keyof Usage)[]
    printTable(
      kinds.map((kind) => ({ kind, used: usage[kind], all: used })),
      KINDS,
      '',
    )
    printRules(explanation, () => true)
  })
}

const explainUsage = (
  owner: string | undefined,
  { subject, ...flags }: ListFlags & { subject?: string },
): Promise<void> => {
  const path = quotaPath(owner, flags)
  return withApi(flags, async (api) => {
    const explanation = await explain(api, path, owner, subject)
    if (flags.json) return printJson(explanation)
    const name = await ownerName(api, owner)
    print(headline(name, explanation).join('\n'))
    printRules(explanation, ({ covers }) => covers)
    print(`\n${conclusion(explanation)}`)
  })
}

/**
 * Path of the usage of an owner; without a name, of the user of the token, which an opened store does not
 * have.
 */
const quotaPath = (owner: string | undefined, flags: ApiFlags): string => {
  if (owner !== undefined) return `/admin/users/${pathSegment(owner)}/quota`
  if (remoteApi(flags) === undefined)
    throw new UsageError('whose quota? name a user or an organization; only a server knows who you are')
  return '/user/quota'
}

const notFound = (owner: string | undefined) => owner && `there is no user or organization named ${owner}`

/** @param subject absent: the one with the fewest bytes left */
const explain = (api: ApiClient, path: string, owner: string | undefined, subject?: string) =>
  api.get<QuotaExplanationInfo>(
    `${path}/explain${subject === undefined ? '' : `?subject=${subject}`}`,
    notFound(owner),
  )

const ownerName = async (api: ApiClient, owner: string | undefined): Promise<string> =>
  owner ?? (await api.get<{ login: string }>('/user')).login

const headline = (name: string, { subject, over, used, limit, left }: QuotaExplanationInfo): string[] => {
  const uses = `${escapeControl(name)} uses ${formatSizeFixed(used)}`
  const what = subject === 'size:all' ? '' : ` for ${subject}`
  const against = limit === null ? `${what}, and nothing limits it` : ` of ${formatSizeFixed(limit)}${what}`
  return [uses + against + remainder(over, left), ...exactBytes(used)]
}

/** A line with the exact number, when `formatSizeFixed` rounds it. */
const exactBytes = (used: number): string[] => (used < 1024 ? [] : [`  ${formatBytes(used)}`])

const remainder = (over: boolean, left: number | null): string => {
  if (left === null) return over ? ': over quota' : ''
  if (left > 0 && !over) return `; ${formatSizeFixed(left)} are left`
  return `: ${excess(left)}`
}

/** @param left bytes, 0 or less; 0 is over quota too, because a rule stands while usage is below its limit */
const excess = (left: number): string => (left < 0 ? `OVER by ${formatSizeFixed(-left)}` : 'limit reached')

/** A line that says which rule the owner meets first, and how much is left until then. */
const bindingRule = ({ rule: name, limit, left, groups }: QuotaExplanationInfo): string[] => {
  if (limit === null || left === null) return []
  const rules = groups.flatMap(({ rules }) => rules)
  // Only administrators get names.
  const binding = rules.find(
    (rule) => rule.covers && rule.limit === limit && rule.left === left && rule.name === name,
  )
  const what = name ? `the rule ${escapeControl(name)}` : 'a rule'
  const state = left > 0 ? `${formatSizeFixed(left)} left` : excess(left)
  return [`  ${state}: ${what} limits ${binding?.subjects.join(' + ')} to ${formatSizeFixed(limit)}`]
}

const usageOf = ({ used: { size } }: QuotaInfo): Usage => ({
  reposPublic: size.repos.public,
  reposPrivate: size.repos.private,
  lfs: size.git.LFS,
  issues: size.assets.attachments.issues,
  releases: size.assets.attachments.releases,
  artifacts: size.assets.artifacts,
  packages: size.assets.packages.all,
})

const KINDS: Columns<{ kind: keyof Usage; used: number; all: number }> = {
  KIND: ({ kind }) => kindNames[kind].replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase()),
  USED: ({ used }) => formatSizeFixed(used),
  // Rounded down, so that 100 % is really all.
  SHARE: ({ used, all }) => `${all === 0 ? 0 : Math.floor((used / all) * 100)} %`,
}

const RULES: Columns<{ group: string | undefined; rule: Rule }> = {
  GROUP: ({ group }) => group ?? '',
  RULE: ({ rule }) => rule.name ?? rule.subjects.join('+'),
  USED: ({ rule }) => formatSizeFixed(rule.used),
  LIMIT: ({ rule }) => formatLimit(rule.limit),
  '': ({ rule: { left } }) => {
    if (left === null) return ''
    return left > 0 ? `${formatSizeFixed(left)} left` : excess(left)
  },
}

const printRules = ({ groups }: QuotaExplanationInfo, isShown: (rule: Rule) => boolean): void => {
  const rows = groups.flatMap(({ name: group, rules }) =>
    rules.filter(isShown).map((rule) => ({ group, rule })),
  )
  if (rows.length === 0) return
  print()
  printTable(rows, RULES, '')
}

const conclusion = ({ subject, over, groups }: QuotaExplanationInfo): string => {
  if (!groups.some(({ limits }) => limits)) return `Not over quota: no group and no rule limits ${subject}.`
  if (over)
    return `Over quota: no group that limits ${subject} allows more of it. A group allows more while none of its rules for ${subject} is exceeded.`
  const name = groups.find(({ stands }) => stands)?.name
  return `Within quota: ${name ? `the group ${escapeControl(name)}` : 'a group'} allows more of ${subject}, and one group is enough.`
}

const HISTORY: Columns<QuotaHistoryDay & { change: number | undefined }> = {
  DAY: ({ date }) => date,
  USED: ({ all }) => formatSizeFixed(all),
  CHANGE: ({ change }) => (change === undefined ? '' : `${change < 0 ? '' : '+'}${formatSizeFixed(change)}`),
  BYTES: ({ all }) => all.toLocaleString('en'),
}

const listHistory = (
  owner: string | undefined,
  { days, ...flags }: ListFlags & { days?: string },
): Promise<void> => {
  const path = `${quotaPath(owner, flags)}/history${days === undefined ? '' : `?days=${days}`}`
  return withApi(flags, async (api) => {
    const history = await api.get<QuotaHistoryDay[]>(path, notFound(owner))
    if (flags.json) return printJson(history)
    const rows = history.map((day, index) => {
      const before = history[index - 1]
      return { ...day, change: before && day.all - before.all }
    })
    printTable(rows, HISTORY, 'nothing was stored yet')
  })
}

const OVER: Columns<QuotaOverInfo> = {
  NAME: ({ owner }) => owner.login,
  SUBJECT: ({ subject }) => subject,
  RULE: ({ rule }) => rule,
  USED: ({ used }) => formatSizeFixed(used),
  LIMIT: ({ limit }) => formatSizeFixed(limit),
  '': ({ left }) => (left > 0 ? `${formatSizeFixed(left)} left` : excess(left)),
}

const listOver = ({
  subject,
  within,
  ...flags
}: ListFlags & { subject?: string; within?: string }): Promise<void> => {
  const query = new URLSearchParams({ ...(subject && { subject }), ...(within && { within }) })
  const near = within === undefined ? '' : ' or near it'
  return printList(flags, {
    path: `/admin/quota/over${query.size === 0 ? '' : `?${query}`}`,
    columns: OVER,
    empty: `no owner is over quota${near}${subject === undefined ? '' : ` for ${subject}`}`,
  })
}
