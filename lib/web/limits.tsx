/** @jsxRuntime automatic @jsxImportSource preact */
/** Usage against limits: as bars, in words and as warnings. */
import { formatBytes, formatSize } from '../byte-sizes.ts'
import { type Sum, subtract } from '../integers.ts'
import { bindingLimit, type LimitStatus } from '../quota/evaluate.ts'
import type { QuotaStatus } from '../quota/status.ts'
import { kindNames, type Subject, type Usage, usedBy } from '../quota/subjects.ts'
import { Notice, Section, Size } from './components.tsx'

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

/** Usage of one subject against the limit that binds. */
export interface SubjectStatus {
  /** Bytes that count toward the subject. */
  readonly used: Sum
  /** Undefined when nothing limits the subject. */
  readonly binding: LimitStatus | undefined
  readonly state: 'over' | 'near' | 'within' | 'unlimited'
}

/** @param warnAt the share of a limit, between 0 and 1, that counts as near it. */
export const subjectStatus = (
  { groups, usage }: QuotaStatus,
  subject: Subject,
  warnAt: number,
): SubjectStatus => {
  const binding = bindingLimit(groups, subject, usage)
  return { used: usedBy(subject, usage), binding, state: stateOf(binding, warnAt) }
}

const stateOf = (binding: LimitStatus | undefined, warnAt: number): SubjectStatus['state'] => {
  if (binding === undefined) return 'unlimited'
  if (binding.left <= 0) return 'over'
  return measured(binding) >= binding.limit * warnAt ? 'near' : 'within'
}

/** Bytes that the binding rule counts; it can have other subjects besides the one in question. */
const measured = ({ limit, left }: LimitStatus): Sum => subtract(limit, left)

/** The total usage, by part, against the limit. */
export const UsageBar = ({ usage, status }: { usage: Usage; status: SubjectStatus }) => (
  <Bar status={status} class="bar" parts={partSizes(usage).map((bytes, part) => ({ part, bytes }))} />
)

interface BarProps {
  status: SubjectStatus
  class: string
  parts: readonly { part: number; bytes: Sum }[]
}

/** SVG instead of styled boxes: their widths would be inline styles, which the content security policy forbids. */
const Bar = ({ status, class: className, parts }: BarProps) => {
  const { used, binding, state } = status
  const limit = binding?.limit ?? 0
  const whole = Math.max(limit, Number(binding === undefined ? 0 : measured(binding)), Number(used), 1)
  const limitX = percent(limit, whole)
  let start = 0
  return (
    <svg class={className} role="img" aria-label={barLabel(status)}>
      <rect class="track" width="100%" height="100%" />
      {parts.map(({ part, bytes }) => {
        const x = percent(start, whole)
        start += Number(bytes)
        return bytes > 0 && <rect class={`part${part}`} x={x} width={percent(bytes, whole)} height="100%" />
      })}
      {state === 'over' &&
        limit > 0 &&
        ['halo', 'limit'].map((line) => (
          <line key={line} class={line} x1={limitX} x2={limitX} y1="0" y2="100%" />
        ))}
    </svg>
  )
}

const percent = (bytes: Sum, whole: number): string =>
  `${Number(((100 * Number(bytes)) / whole).toFixed(3))}%`

const barLabel = ({ used, binding }: SubjectStatus): string =>
  `${formatSize(used)} used${binding === undefined ? '' : `, limit ${formatSize(binding.limit)}`}`

/** The name, the color and the size of each part of a usage bar. */
export const Legend = ({ usage }: { usage: Usage }) => (
  <ul class="legend">
    {partSizes(usage).map((bytes, part) => (
      <li key={part}>
        <Swatch part={part} />
        {usageParts[part]!.name} <Size bytes={bytes} />
      </li>
    ))}
  </ul>
)

const Swatch = ({ part }: { part: number }) => (
  <svg class="swatch" aria-hidden="true">
    <rect class={`part${part}`} width="100%" height="100%" />
  </svg>
)

export const StateLabel = ({ status }: { status: SubjectStatus }) => (
  <span class={`state ${status.state}`}>{stateText(status)}</span>
)

/** In words, since color alone is not accessible. */
const stateText = ({ state, binding }: SubjectStatus): string => {
  if (binding === undefined) return 'No limit'
  const { left } = binding
  if (state !== 'over') return `${state === 'near' ? 'Near limit: ' : ''}${formatSize(left)} left`
  return left < 0 ? `Over quota by ${formatSize(-left)}` : 'Limit reached'
}

interface Limits {
  total: SubjectStatus
  /** In the order of `usageParts`. */
  parts: readonly SubjectStatus[]
}

/** The parts with less left than the total; for the others, the limit of the total is the one that counts. */
const tighterParts = ({ total, parts }: Limits) =>
  parts
    .map((status, part) => ({ name: usageParts[part]!.name, part, status }))
    .filter(({ status: { binding } }) => {
      if (binding === undefined) return false
      return total.binding === undefined || binding.left < total.binding.left
    })

/** What is over quota, and what is near its limit. */
export const Warnings = (limits: Limits) => {
  const statuses = [{ name: 'Total', status: limits.total }, ...tighterParts(limits)]
  return (
    <>
      {(['over', 'near'] as const).map((state) => {
        const warnings = statuses.filter(({ status }) => status.state === state)
        return (
          warnings.length > 0 && (
            <Notice key={state} kind={state}>
              {warnings.map(({ name, status }) => (
                <div key={name}>
                  <strong>{name}:</strong> {stateText(status)}
                </div>
              ))}
            </Notice>
          )
        )
      })}
    </>
  )
}

export const UsageSummary = ({ total }: { total: SubjectStatus }) => (
  <p>
    <strong>{formatSize(total.used)}</strong> used ({formatBytes(total.used)})
    {total.binding !== undefined && `, limit ${formatSize(total.binding.limit)}`}. {stateText(total)}.
  </p>
)

/** The limits of single parts, with a bar for each. */
export const PartLimits = (limits: Limits) => {
  const tighter = tighterParts(limits)
  return tighter.length === 0 ? null : (
    <Section id="limits" title="Limits">
      <ul class="statuses">
        {tighter.map(({ name, part, status }) => (
          <li key={name}>
            <div class="line">
              <span>
                <Swatch part={part} />
                {name}
              </span>
              <StateLabel status={status} />
            </div>
            <Bar status={status} class="bar thin" parts={[{ part, bytes: status.used }]} />
            <UsedAndLimit status={status} />
          </li>
        ))}
      </ul>
    </Section>
  )
}

export const UsedAndLimit = ({ status: { used, binding } }: { status: SubjectStatus }) => (
  <div class="line small">
    <span>
      <Size bytes={used} /> used
    </span>
    {binding !== undefined && <span>limit {formatSize(binding.limit)}</span>}
  </div>
)
