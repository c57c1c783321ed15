/** Usage against limits, and the bars that show it. */
import {
  bindingLimits,
  type Compared,
  compareLimits,
  type LimitStatus,
  type QuotaGroup,
  type QuotaRule,
  type UsageState,
} from '../../quota/evaluate.ts'
import type { QuotaStatus } from '../../quota/status.ts'
import { kindNames, type Subject, type Usage, usedBy, withAncestors } from '../../quota/subjects.ts'
import { Size, unbrokenSize } from '../parts/components.tsx'
import { subjectsInWords } from '../parts/subject-names.ts'

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
export const partSizes = (usage: Usage): number[] => usageParts.map(({ subject }) => usedBy(subject, usage))

/** Usage against one limit. */
export interface LimitState {
  /** What the rule counts, such as `Artifacts`. */
  readonly name: string
  readonly rule: QuotaRule
  /** Bytes that the rule counts. */
  readonly used: number
  readonly left: number
  readonly state: UsageState
  /** Share of the limit that is used; more than 1 above it. */
  readonly share: number
}

/**
 * The limits that bind for something, the one that decides the state of the owner first.
 * @param warnAt the share of a limit, between 0 and 1, that counts as near it
 */
export const limitStates = ({ groups, usage }: QuotaStatus, warnAt: number): LimitState[] => {
  const limits = new Map<string, LimitState>()
  for (const compared of compareLimits(bindingLimits(groups, usage), warnAt))
    if (!limits.has(compared.rule)) limits.set(compared.rule, limitStateOf(groups, compared))
  return [...limits.values()]
}

/**
 * A limit with its rule.
 * @param groups those of the owner, one of which has the rule
 */
export const limitStateOf = (
  groups: readonly QuotaGroup[],
  { rule: name, limit, left, state, share }: Compared<LimitStatus>,
): LimitState => {
  const rule = groups
    .flatMap(({ rules }) => rules)
    .find((rule) => rule.name === name && rule.limit === limit)!
  return { name: subjectsInWords(rule.subjects), rule, used: limit - left, left, state, share }
}

/** The limit that counts all bytes of the owner, if one binds. */
export const totalLimit = (limits: readonly LimitState[]): LimitState | undefined =>
  limits.find(({ rule }) => rule.subjects.length === 1 && rule.subjects[0] === 'size:all')

interface BarProps {
  /** Bytes that count toward the limit. */
  used: number
  /** Bytes of the limit. */
  limit: number
  /** Each takes as much of the bar as it has of the bytes of all parts. */
  parts: readonly { part: number; bytes: number }[]
  label: string
  isThin?: boolean
}

/**
 * Usage that is over the limit fills the bar, on which a line with a label marks the limit. SVG instead of
 * styled boxes: their widths would be inline styles, which the content security policy forbids.
 */
const Bar = ({ used, limit, parts, label, isThin = false }: BarProps) => {
  const sum = parts.reduce((total, { bytes }) => total + bytes, 0)
  const whole = (Math.max(limit, used, 1) * sum) / Math.max(1, used) || 1
  const isOver = limit > 0 && used > limit
  const limitX = percent(limit, used)
  let start = 0
  return (
    <>
      <svg class={isThin ? 'bar thin' : 'bar'} role="img" aria-label={label}>
        <rect class="track" width="100%" height="100%" />
        {parts.map(({ part, bytes }) => {
          const x = percent(start, whole)
          start += bytes
          return bytes > 0 && <rect class={`part${part}`} x={x} width={percent(bytes, whole)} height="100%" />
        })}
        {isOver &&
          ['halo', 'limit'].map((line) => (
            <line key={line} class={line} x1={limitX} x2={limitX} y1="0" y2="100%" />
          ))}
      </svg>
      {isOver && <LimitMark x={limitX} isLate={2 * limit > used} limit={limit} />}
    </>
  )
}

/**
 * Names the line of a limit below a bar.
 * @param isLate whether the text has more space before the line than after it
 */
const LimitMark = ({ x, isLate, limit }: { x: string; isLate: boolean; limit: number }) => (
  <svg class="limit-mark" aria-hidden="true">
    <line x1={x} x2={x} y1="0" y2="100%" />
    <text x={x} dx={isLate ? -6 : 6} y="1em" text-anchor={isLate ? 'end' : 'start'}>
      Limit: {unbrokenSize(limit)}
    </text>
  </svg>
)

const percent = (bytes: number, whole: number): string => `${Number(((100 * bytes) / whole).toFixed(3))}%`

/** The total usage, by part, against the limit of the total if there is one. Without both, it is left out. */
export const UsageBar = ({ usage, limit }: { usage: Usage; limit?: LimitState | undefined }) => {
  const used = usedBy('size:all', usage)
  return limit === undefined && used <= 0 ? null : (
    <Bar
      used={used}
      limit={limit?.rule.limit ?? 0}
      label={`${limit === undefined ? unbrokenSize(used) : formatUsedOf(limit)} used`}
      parts={partSizes(usage).map((bytes, part) => ({ part, bytes }))}
    />
  )
}

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
  return (
    <Bar
      isThin
      used={limit.used}
      limit={limit.rule.limit}
      label={`${limit.name}: ${formatUsedOf(limit)}`}
      parts={parts}
    />
  )
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

/** `66.3 of 40 MiB`, or with two units. */
export const formatUsedOf = ({ used, rule }: { used: number; rule: Pick<QuotaRule, 'limit'> }): string => {
  const [left, right] = [unbrokenSize(used), unbrokenSize(rule.limit)]
  const unit = right.replace(/^[^\s]*/, '')
  return `${left.endsWith(unit) ? left.slice(0, -unit.length) : left} of ${right}`
}
