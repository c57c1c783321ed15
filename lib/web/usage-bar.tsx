import { type Sum, subtract } from '../integers.ts'
import { bindingLimit, type LimitStatus } from '../quota/evaluate.ts'
import type { QuotaStatus } from '../quota/status.ts'
import { type Subject, type Usage, usedBy } from '../quota/subjects.ts'
import { formatBytes, formatSize } from './format.ts'

/** The parts that a bar is made of: together they are all that is used. */
export const usageParts = [
  { subject: 'size:repos:public', name: 'Public repositories' },
  { subject: 'size:repos:private', name: 'Private repositories' },
  { subject: 'size:git:lfs', name: 'LFS' },
  { subject: 'size:assets:attachments:all', name: 'Attachments' },
  { subject: 'size:assets:artifacts', name: 'Artifacts' },
  { subject: 'size:assets:packages:all', name: 'Packages' },
] as const satisfies readonly { subject: Subject; name: string }[]

export type LimitState = 'over' | 'near' | 'within' | 'unlimited'

/** How an owner stands for one subject. */
export interface SubjectStatus {
  readonly subject: Subject
  /** Bytes that count toward the subject. */
  readonly used: Sum
  /** The limit that binds; undefined where nothing limits. */
  readonly room: LimitStatus | undefined
  readonly state: LimitState
}

export const subjectStatus = (
  { groups, usage }: QuotaStatus,
  subject: Subject,
  nearAt: number,
): SubjectStatus => {
  const room = bindingLimit(groups, subject, usage)
  return { subject, used: usedBy(subject, usage), room, state: stateOf(room, nearAt) }
}

/** The share is of what the rule measures, which is what is not left of its limit. */
const stateOf = (room: LimitStatus | undefined, nearAt: number): LimitState => {
  if (room === undefined) return 'unlimited'
  if (room.remaining <= 0) return 'over'
  return subtract(room.limit, room.remaining) >= room.limit * nearAt ? 'near' : 'within'
}

export interface UsagePart {
  readonly name: string
  readonly bytes: Sum
}

/** What is used, in parts. */
export const usagePartsOf = (usage: Usage): UsagePart[] =>
  usageParts.map(({ subject, name }) => ({ name, bytes: usedBy(subject, usage) }))

/** @jsxRuntime automatic @jsxImportSource preact */

/** In percent of the whole, with as many digits as a screen has points. */
const percent = (bytes: Sum, whole: number): string =>
  `${whole === 0 ? 0 : Number(((100 * Number(bytes)) / whole).toFixed(3))}%`

/**
 * What is used, in parts, against the limit. The figures are said in words beside it, and in its label. A bar is SVG and
 * not styled boxes, for the widths would be inline styles, which the policy of the pages forbids.
 */
export const PartsBar = ({ usage, measure }: { usage: Usage; measure: SubjectStatus }) => {
  const slices = usagePartsOf(usage)
  const measured =
    measure.room === undefined ? measure.used : subtract(measure.room.limit, measure.room.remaining)
  const whole = Math.max(measure.room?.limit ?? 0, Number(measured), Number(measure.used), 1)
  let begin = 0
  return (
    <svg class="bar" role="img" aria-label={barWords(measure)}>
      <rect class="room" width="100%" height="100%" />
      {slices.map(({ bytes }, at) => {
        const x = percent(begin, whole)
        begin += Number(bytes)
        return bytes > 0 && <rect class={`part${at}`} x={x} width={percent(bytes, whole)} height="100%" />
      })}
      <Mark measure={measure} whole={whole} />
    </svg>
  )
}

/** One sum against its limit. */
export const PlainBar = ({ measure, part }: { measure: SubjectStatus; part?: number | undefined }) => {
  const { used, room } = measure
  const whole = Math.max(room?.limit ?? 0, Number(used), 1)
  return (
    <svg class="bar thin" role="img" aria-label={barWords(measure)}>
      <rect class="room" width="100%" height="100%" />
      {used > 0 && (
        <rect class={part === undefined ? 'sum' : `part${part}`} width={percent(used, whole)} height="100%" />
      )}
      <Mark measure={measure} whole={whole} />
    </svg>
  )
}

/** Where the limit is, for what goes beyond it. */
const Mark = ({ measure: { state, room }, whole }: { measure: SubjectStatus; whole: number }) => {
  if (state !== 'over' || room === undefined || room.limit <= 0) return null
  const at = percent(room.limit, whole)
  return (
    <>
      <line class="halo" x1={at} x2={at} y1="0" y2="100%" />
      <line class="limit" x1={at} x2={at} y1="0" y2="100%" />
    </>
  )
}

const barWords = ({ used, room }: SubjectStatus): string =>
  room === undefined
    ? `${formatSize(used)} used`
    : `${formatSize(used)} used, limit ${formatSize(room.limit)}`

/** Which part of the bar is which, and how much. */
export const Legend = ({ usage }: { usage: Usage }) => (
  <ul class="legend">
    {usagePartsOf(usage).map(({ name, bytes }: UsagePart, at) => (
      <li key={name}>
        <Swatch part={at} />
        {name} <Size bytes={bytes} />
      </li>
    ))}
  </ul>
)

export const Swatch = ({ part }: { part: number }) => (
  <svg class="swatch" aria-hidden="true">
    <rect class={`part${part}`} width="100%" height="100%" />
  </svg>
)

/** For people, and to the byte for whoever points at it or reads the page by program. */
export const Size = ({ bytes }: { bytes: Sum }) => (
  <data value={String(bytes)} title={formatBytes(bytes)}>
    {formatSize(bytes)}
  </data>
)

/** Over, near or within: in a word, and not only in a colour. */
export const StateWord = ({ measure: { state, room } }: { measure: SubjectStatus }) => {
  if (room === undefined) return <span class="state unlimited">no limit</span>
  if (state === 'over')
    return (
      <span class="state over">
        <strong>over</strong>
        {room.remaining < 0 ? ` by ${formatSize(-room.remaining)}` : ', nothing left'}
      </span>
    )
  return (
    <span class={`state ${state}`}>
      {state === 'near' && <strong>near: </strong>}
      {formatSize(room.remaining)} left
    </span>
  )
}
