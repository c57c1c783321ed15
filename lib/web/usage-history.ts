import type { Sum } from '../integers.ts'
import { usedBy } from '../quota/subjects.ts'
import type { DailyUsage } from '../records/schema/index.ts'
import { usagePartsOf } from './usage-breakdown.ts'

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
