/** @jsxRuntime automatic @jsxImportSource preact */

import { dateOf } from '../api/time.ts'
import type { Sum } from '../integers.ts'
import { usedBy } from '../quota/subjects.ts'
import type { DailyUsage } from '../records/schema.ts'
import { formatSize } from './format.ts'
import { Size, type SubjectStatus, usagePartsOf } from './usage-bar.tsx'

/** What was used over time: from the begin of one day to the begin of another. */
export interface HistorySpan {
  readonly from: number
  readonly to: number
  /** Bytes. */
  readonly used: Sum
  /** Bytes in the order of the parts, as exact as a drawing needs. */
  readonly slices: readonly number[]
}

/** Between one day on which it changed and the next it was the same; the last goes on to the end of today. */
export const historySpans = (series: readonly DailyUsage[], today: number): HistorySpan[] =>
  series.map((one, at) => ({
    from: one.day,
    to: Math.max(one.day + 1, series[at + 1]?.day ?? today + 1),
    used: usedBy('size:all', one),
    slices: usagePartsOf(one).map(({ bytes }) => Number(bytes)),
  }))

/** A drawing has points of this many in its width and its height, whatever size it is shown at. */
export const CANVAS = { width: 1000, height: 240 }

export interface HistoryChart {
  /** The outline of each part, standing on the one before. */
  readonly areas: readonly string[]
  /** Bytes at the upper edge. */
  readonly top: number
  /** How far from the upper edge the limit is; undefined where it is above. */
  readonly limit: number | undefined
}

export const historyChart = (spans: readonly HistorySpan[], limit: number | undefined): HistoryChart => {
  const most = Math.max(1, ...spans.map(({ used }) => Number(used)))
  const isInSight = limit !== undefined && limit >= 0 && limit <= 2 * most
  const top = isInSight ? Math.max(most, limit) * 1.05 : most
  const [begin, end] = [spans[0]?.from ?? 0, spans.at(-1)?.to ?? 1]
  const x = (day: number) => round((CANVAS.width * (day - begin)) / (end - begin))
  const y = (bytes: number) => round(CANVAS.height * (1 - bytes / top))
  const below = (span: HistorySpan, part: number) =>
    span.slices.slice(0, part).reduce((sum, bytes) => sum + bytes, 0)
  const area = (part: number): string => {
    if (spans.every(({ slices }) => slices[part] === 0)) return ''
    const upper = spans.map((one) => `H${x(one.from)}V${y(below(one, part + 1))}H${x(one.to)}`)
    const lower = spans.map((one) => `V${y(below(one, part))}H${x(one.from)}`).reverse()
    return `M0 ${y(below(spans[0]!, part))}${upper.join('')}${lower.join('')}Z`
  }
  return {
    areas: (spans[0]?.slices ?? []).map((_, part) => area(part)),
    top,
    limit: isInSight ? y(limit) : undefined,
  }
}

const round = (number: number): number => Number(number.toFixed(2))

/** @jsxRuntime automatic @jsxImportSource preact */

/** So many of the latest changes are said in figures. */
const LATEST = 30

/** How what is used has grown, drawn and in figures. */
export const UsageHistory = ({ spans, total }: { spans: readonly HistorySpan[]; total: SubjectStatus }) => {
  const [first, last] = [spans[0], spans.at(-1)]
  if (first === undefined || last === undefined) return null
  const limit = total.room?.limit
  const drawing = historyChart(spans, limit)
  const most = Math.max(...spans.map(({ used }) => Number(used)))
  return (
    <section aria-labelledby="growth">
      <h2 id="growth">Over time</h2>
      <figure>
        <Drawn drawing={drawing} />
        <div class="line small" aria-hidden="true">
          <span>{dateOf(first.from)}</span>
          <span>{dateOf(last.to - 1)}</span>
        </div>
        <figcaption>
          {formatSize(first.used)} on {dateOf(first.from)}, {formatSize(last.used)} today, and never more than{' '}
          {formatSize(most)}.
          {drawing.limit !== undefined && ` The broken line is the limit of today, ${formatSize(limit!)}.`}
        </figcaption>
      </figure>
      <Figures spans={spans} />
    </section>
  )
}

/** It is stretched to the width that there is; what is written stands below it, where it stays readable. */
const Drawn = ({ drawing: { areas, limit } }: { drawing: HistoryChart }) => (
  <svg
    class="growth"
    viewBox={`0 0 ${CANVAS.width} ${CANVAS.height}`}
    preserveAspectRatio="none"
    role="img"
    aria-label="Storage used over time, in parts; the figures follow"
  >
    {areas.map((path, part) => path !== '' && <path class={`part${part}`} d={path} />)}
    {limit !== undefined &&
      ['halo', 'limit'].map((kind) => (
        <line key={kind} class={kind} x1="0" x2={CANVAS.width} y1={limit} y2={limit} />
      ))}
  </svg>
)

const Figures = ({ spans }: { spans: readonly HistorySpan[] }) => {
  const latest = spans.slice(-LATEST).reverse()
  return (
    <details>
      <summary>In figures</summary>
      <table>
        <caption>
          {latest.length < spans.length
            ? `The latest ${LATEST} days on which it changed`
            : 'The days on which it changed'}
        </caption>
        <thead>
          <tr>
            <th scope="col">At the end of</th>
            <th scope="col" class="number">
              Used
            </th>
          </tr>
        </thead>
        <tbody>
          {latest.map(({ from, used }) => (
            <tr key={from}>
              <td>{dateOf(from)}</td>
              <td class="number">
                <Size bytes={used} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  )
}
