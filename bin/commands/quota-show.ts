import type { QuotaExplanationInfo, QuotaInfo } from '../../lib/api/quota/schema.ts'
import { formatBytes, formatLimit, formatSizeFixed } from '../../lib/byte-sizes.ts'
import { add, type Sum } from '../../lib/integers.ts'
import { type ApiFlags, withApi } from '../client/api-access.ts'
import { type Api, pathSegment } from '../client/api-client.ts'
import { remoteIn } from '../remote-options.ts'
import { type ChartRow, chart } from '../terminal/chart.ts'
import { escapeControl, type PrintFlags, print, printJson } from '../terminal/print.ts'
import { UsageError } from '../usage-error.ts'

interface Flags extends ApiFlags, PrintFlags {}
type Explained = QuotaExplanationInfo
type Rule = Explained['groups'][number]['rules'][number]

export const showQuota = (owner: string | undefined, flags: Flags): Promise<void> => {
  const path = pathOf(owner, flags)
  return withApi(flags, async (api) => {
    const info = await api.get<QuotaInfo>(path, absent(owner))
    if (flags.json) return printJson(info)
    const name = owner ?? (await api.get<{ login: string }>('/user')).login
    const explained = await explanation(api, path, 'size:all', owner)
    for (const line of [...headline(name, explained), '', ...partsOf(info), ...groupsOf(explained, false)])
      print(line)
  })
}

export const explainQuota = (
  owner: string | undefined,
  { subject, ...flags }: Flags & { subject: string },
): Promise<void> => {
  const path = pathOf(owner, flags)
  return withApi(flags, async (api) => {
    const explained = await explanation(api, path, subject, owner)
    if (flags.json) return printJson(explained)
    const name = owner ?? (await api.get<{ login: string }>('/user')).login
    for (const line of [...headline(name, explained), ...groupsOf(explained, true)]) print(line)
    print()
    print(reasonOf(explained))
  })
}

/** Without a name it is that of the token's own user: of a store that is opened there is no such user. */
const pathOf = (owner: string | undefined, flags: Flags): string => {
  if (owner !== undefined) return `/admin/users/${pathSegment(owner)}/quota`
  if (remoteIn(flags) === undefined)
    throw new UsageError('whose quota? name a user or an organization (only a server knows who you are)')
  return '/user/quota'
}

const absent = (owner: string | undefined) => owner && `there is no user or organization named ${owner}`

const explanation = (api: Api, path: string, subject: string, owner: string | undefined) =>
  api.get<Explained>(`${path}/explain?subject=${subject}`, absent(owner))

const headline = (name: string, { subject, over, used, limit, left }: Explained): string[] => {
  const what = subject === 'size:all' ? '' : ` for ${subject}`
  const uses = `${escapeControl(name)} uses ${formatSizeFixed(used)}`
  const words =
    limit === null ? `${uses}${what}, and nothing limits it` : `${uses} of ${formatSizeFixed(limit)}${what}`
  return [words + standing(over, left), `  ${formatBytes(used)}`]
}

const standing = (over: boolean, left: Sum | null): string => {
  if (left === null) return over ? ': over quota' : ''
  return left > 0 && !over
    ? `; ${formatSizeFixed(left)} are left`
    : `: OVER by ${formatSizeFixed(left < 0 ? -left : 0)}`
}

const partsOf = ({ used: { size } }: QuotaInfo): string[] => {
  const parts: [label: string, bytes: Sum][] = [
    ['public repositories', size.repos.public],
    ['private repositories', size.repos.private],
    ['LFS', size.git.LFS],
    ['attachments of issues', size.assets.attachments.issues],
    ['attachments of releases', size.assets.attachments.releases],
    ['artifacts', size.assets.artifacts],
    ['packages', size.assets.packages.all],
  ]
  const total = Number(parts.reduce<Sum>((sum, [, bytes]) => add(sum, bytes), 0))
  const share = (bytes: Sum) => (total === 0 ? 0 : Number(bytes) / total)
  return chart(
    parts.map(([label, bytes]) => ({
      label,
      amount: formatSizeFixed(bytes),
      share: share(bytes),
      words: percent(share(bytes)),
    })),
  )
}

/** Rounded down, so that 100 % is all of it. */
const percent = (share: number): string => `${Math.floor(share * 100)} %`

/** @param isAsked whether it is about one subject, which a group allows more of or not */
const groupsOf = ({ subject, groups }: Explained, isAsked: boolean): string[] =>
  groups.flatMap(({ name, stands, rules }) => [
    '',
    (name ? `group ${escapeControl(name)}` : 'a group') +
      (isAsked ? ` ${stands ? 'allows' : 'does not allow'} more of ${subject}` : ''),
    ...(rules.length === 0
      ? ['  it has no rules']
      : chart(
          rules.map((rule) => measureOf(rule, isAsked && !rule.covers)),
          { warns: true },
        )),
  ])

const measureOf = (rule: Rule, isBeside: boolean): ChartRow => ({
  label: escapeControl(rule.name ?? rule.subjects.join('+')),
  amount: `${formatSizeFixed(rule.used)} of ${formatLimit(rule.limit)}`,
  share: rule.limit === -1 ? undefined : shareOf(rule),
  words: verdict(rule) + (isBeside ? ' (not asked here)' : ''),
})

/** A limit of nothing is reached by nothing. */
const shareOf = ({ used, limit }: Rule): number => (limit <= 0 ? 1 : Number(used) / limit)

const verdict = (rule: Rule): string => {
  if (rule.left === null) return 'no limit'
  if (rule.stands) return `${percent(shareOf(rule))}, ${formatSizeFixed(rule.left)} left`
  return `${rule.limit > 0 ? `${percent(shareOf(rule))}, ` : ''}OVER by ${formatSizeFixed(-rule.left)}`
}

const reasonOf = ({ subject, over, groups }: Explained): string => {
  if (groups.length === 0) return `No group and no rule concerns it, so nothing of ${subject} is over.`
  if (over) return `Over: not one group stands for ${subject}. A group stands when all its rules for it do.`
  const standing = groups.find(({ stands }) => stands)?.name
  return `Within: ${standing ? `the group ${escapeControl(standing)}` : 'a group'} stands for ${subject}, and one is enough.`
}
