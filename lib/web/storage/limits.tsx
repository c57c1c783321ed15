/** @jsxRuntime automatic @jsxImportSource preact */
/** Usage against limits: as bars, in words and as warnings. */
import { formatSize } from '../../byte-sizes.ts'
import type { Sum } from '../../integers.ts'
import { bindingLimits, measure, type QuotaGroup, type QuotaRule } from '../../quota/evaluate.ts'
import type { QuotaStatus } from '../../quota/status.ts'
import { kindNames, type Subject, type Usage, usedBy, withAncestors } from '../../quota/subjects.ts'
import { Size } from '../components.tsx'
import { subjectsInWords } from '../subject-names.ts'

/** The parts of a usage bar; together they are the total usage. */
export const usageParts = [
  { subject: 'size:repos:public', name: kindNames.reposPublic },
  { subject: 'size:repos:private', name: kindNames.reposPrivate },
  { subject: 'size:git:lfs', name: kindNames.lfs },
  { subject: 'size:assets:attachments:all', name: 'Attachments' },
  { subject: 'size:assets:artifacts', name: kindNames.artifacts },
  { subject: 'size:assets:packages:all', name: kindNames.packages },
] as const satisfies readonly { subject: Subject; name: string }[]

/** Bytes used by each part, in the order of `usageParts`. */
export const partSizes = (usage: Usage): Sum[] => usageParts.map(({ subject }) => usedBy(subject, usage))

/** Usage against one limit. */
export interface LimitState {
  /** Names of the subjects that the rule limits. */
  readonly name: string
  readonly rule: QuotaRule
  /** Bytes that the rule counts. */
  readonly used: Sum
  readonly left: Sum
  readonly state: 'over' | 'near' | 'within'
}

/**
 * The limits that bind for some subject, the one with the fewest bytes left first.
 * @param warnAt the share of a limit, between 0 and 1, that counts as near it
 */
export const limitStates = ({ groups, usage }: QuotaStatus, warnAt: number): LimitState[] => {
  const rules = new Map<string, LimitState>()
  for (const { rule: name, limit, left } of bindingLimits(groups, usage)) {
    const rule = ruleNamed(groups, name, limit)
    if (rules.has(name)) continue
    const used = measure(rule, usage)
    const state = left <= 0 ? 'over' : used >= limit * warnAt ? 'near' : 'within'
    rules.set(name, { name: subjectsInWords(rule.subjects), rule, used, left, state })
  }
  return [...rules.values()]
}

const ruleNamed = (groups: readonly QuotaGroup[], name: string, limit: number): QuotaRule =>
  groups.flatMap(({ rules }) => rules).find((rule) => rule.name === name && rule.limit === limit)!

/** The limit that counts all bytes of the owner, if one binds. */
export const totalLimit = (limits: readonly LimitState[]): LimitState | undefined =>
  limits.find(({ rule }) => rule.subjects.length === 1 && rule.subjects[0] === 'size:all')

interface BarProps {
  /** Bytes of the limit. */
  limit: number
  parts: readonly { part: number; bytes: Sum }[]
  label: string
  isThin?: boolean
}

/** SVG instead of styled boxes: their widths would be inline styles, which the content security policy forbids. */
const Bar = ({ limit, parts, label, isThin = false }: BarProps) => {
  const used = parts.reduce((sum, { bytes }) => sum + Number(bytes), 0)
  const whole = Math.max(limit, used, 1)
  const limitX = percent(limit, whole)
  let start = 0
  return (
    <svg class={isThin ? 'bar thin' : 'bar'} role="img" aria-label={label}>
      <rect class="track" width="100%" height="100%" />
      {parts.map(({ part, bytes }) => {
        const x = percent(start, whole)
        start += Number(bytes)
        return bytes > 0 && <rect class={`part${part}`} x={x} width={percent(bytes, whole)} height="100%" />
      })}
      {used > limit && limit > 0 && (
        <>
          <rect class="excess" x={limitX} width={percent(used - limit, whole)} height="100%" />
          <line class="halo" x1={limitX} x2={limitX} y1="0" y2="100%" />
          <line class="limit" x1={limitX} x2={limitX} y1="0" y2="100%" />
        </>
      )}
    </svg>
  )
}

const percent = (bytes: Sum, whole: number): string =>
  `${Number(((100 * Number(bytes)) / whole).toFixed(3))}%`

/** The total usage, by part, against the limit of the total. */
export const UsageBar = ({
  usage,
  limit,
  isThin = false,
}: {
  usage: Usage
  limit: LimitState
  isThin?: boolean
}) => (
  <Bar
    isThin={isThin}
    limit={limit.rule.limit}
    label={`${formatUsedOf(limit)} used`}
    parts={partSizes(usage).map((bytes, part) => ({ part, bytes }))}
  />
)

/** Index of the part that rules about attachments of one kind show, because these kinds have no part. */
const ATTACHMENTS = 3

/** A bar with the parts that one rule counts, against its limit. */
export const LimitBar = ({ usage, limit }: { usage: Usage; limit: LimitState }) => {
  const counted = usageParts
    .map(({ subject }, part) => ({ part, bytes: usedBy(subject, usage) }))
    .filter(({ part }) =>
      limit.rule.subjects.some((subject) => withAncestors(usageParts[part]!.subject).includes(subject)),
    )
  const parts = counted.length > 0 ? counted : [{ part: ATTACHMENTS, bytes: limit.used }]
  return <Bar isThin limit={limit.rule.limit} label={`${limit.name}: ${formatUsedOf(limit)}`} parts={parts} />
}

/** The name, the color and the size of each part of a usage bar that is not empty. */
export const Legend = ({ usage }: { usage: Usage }) => {
  const parts = partSizes(usage)
    .map((bytes, part) => ({ bytes, part }))
    .filter(({ bytes }) => bytes > 0)
  return parts.length === 0 ? null : (
    <ul class="legend">
      {parts.map(({ bytes, part }) => (
        <li key={part}>
          <Swatch part={part} />
          <span>{usageParts[part]!.name}</span> <Size bytes={bytes} />
        </li>
      ))}
    </ul>
  )
}

export const Swatch = ({ part }: { part: number }) => (
  <svg class="swatch" aria-hidden="true">
    <rect class={`part${part}`} width="100%" height="100%" />
  </svg>
)

/** In words, since color alone is not accessible. */
export const StateLabel = ({ limit }: { limit: Pick<LimitState, 'state' | 'left'> | undefined }) => (
  <span class={`state ${limit?.state ?? 'unlimited'}`}>{stateText(limit)}</span>
)

export const stateText = (limit: Pick<LimitState, 'state' | 'left'> | undefined): string => {
  if (limit === undefined) return 'No limit'
  const { state, left } = limit
  if (state !== 'over') return `${state === 'near' ? 'Near limit: ' : ''}${formatSize(left)} left`
  return left < 0 ? `Over quota by ${formatSize(-left)}` : 'Limit reached'
}

/** `66.3 of 40 MiB`, or with two units. */
export const formatUsedOf = ({ used, rule }: { used: Sum; rule: Pick<QuotaRule, 'limit'> }): string => {
  const [left, right] = [formatSize(used), formatSize(rule.limit)]
  const unit = right.slice(right.indexOf(' '))
  return `${left.endsWith(unit) ? left.slice(0, -unit.length) : left} of ${right}`
}
