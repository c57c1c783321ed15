/** @jsxRuntime automatic @jsxImportSource preact */
import { dateOf } from '../api/fields.ts'
import { formatSize } from '../byte-sizes.ts'
import type { Sum } from '../integers.ts'
import { usedBy } from '../quota/subjects.ts'
import { today } from '../quota/usage.ts'
import type { DailyUsage } from '../records/schema/index.ts'
import { Section, SizeCell, Table } from './components.tsx'
import { partSizes } from './limits.tsx'

/** Rows of the table. */
const MAX_ROWS = 30

/** The usage of an owner over time, as a chart and as a table. */
export const UsageHistory = ({
  history,
  limit,
}: {
  /** The days on which usage changed, oldest first. */
  history: readonly DailyUsage[]
  limit: number | undefined
}) => {
  const spans = spansOf(history, today())
  const [first, last] = [spans[0], spans.at(-1)]
  if (first === undefined || last === undefined) return null
  const highest = Math.max(...spans.map(({ used }) => Number(used)))
  const scale = scaleOf(spans, highest, limit)
  return (
    <Section id="history" title="History">
      <figure>
        <Chart spans={spans} scale={scale} />
        <div class="line small" aria-hidden="true">
          <span>{dateOf(first.from)}</span>
          <span>{dateOf(last.to - 1)}</span>
        </div>
        <figcaption>
          {formatSize(first.used)} on {dateOf(first.from)}, {formatSize(last.used)} today. Highest:{' '}
          {formatSize(highest)}.
          {scale.limitY !== undefined && ` The dashed line is the current limit, ${formatSize(limit!)}.`}
        </figcaption>
      </figure>
      <HistoryTable spans={spans} />
    </Section>
  )
}

/** Days during which usage did not change. */
interface Span {
  /** First day. */
  readonly from: number
  /** The day after the last. */
  readonly to: number
  /** Bytes. */
  readonly used: Sum
  /** Bytes in the order of `usageParts`, rounded to what a chart can show. */
  readonly parts: readonly number[]
}

const spansOf = (history: readonly DailyUsage[], lastDay: number): Span[] =>
  history.map((usage, index) => ({
    from: usage.day,
    to: Math.max(usage.day + 1, history[index + 1]?.day ?? lastDay + 1),
    used: usedBy('size:all', usage),
    parts: partSizes(usage).map(Number),
  }))

/** Coordinates inside the SVG; the browser stretches it to the width of the page. */
const CANVAS = { width: 1000, height: 240 }

interface Scale {
  x(day: number): number
  y(bytes: number): number
  /** Undefined when the limit is so far above the usage that showing it would flatten the chart. */
  readonly limitY: number | undefined
}

const scaleOf = (spans: readonly Span[], highest: number, limit: number | undefined): Scale => {
  const max = Math.max(1, highest)
  const isLimitShown = limit !== undefined && limit >= 0 && limit <= 2 * max
  const top = isLimitShown ? Math.max(max, limit) * 1.05 : max
  const [start, end] = [spans[0]!.from, spans.at(-1)!.to]
  const y = (bytes: number) => round(CANVAS.height * (1 - bytes / top))
  return {
    x: (day) => round((CANVAS.width * (day - start)) / (end - start)),
    y,
    limitY: isLimitShown ? y(limit) : undefined,
  }
}

const round = (number: number): number => Number(number.toFixed(2))

const Chart = ({ spans, scale }: { spans: readonly Span[]; scale: Scale }) => (
  <svg
    class="chart"
    viewBox={`0 0 ${CANVAS.width} ${CANVAS.height}`}
    preserveAspectRatio="none"
    role="img"
    aria-label="Usage over time by part, also shown in the table below"
  >
    {spans[0]!.parts.map(
      (_, part) =>
        spans.some(({ parts }) => parts[part] !== 0) && (
          <path key={part} class={`part${part}`} d={areaPath(spans, part, scale)} />
        ),
    )}
    {scale.limitY !== undefined &&
      ['halo', 'limit'].map((line) => (
        <line key={line} class={line} x1="0" x2={CANVAS.width} y1={scale.limitY} y2={scale.limitY} />
      ))}
  </svg>
)

/** The outline of one part, stacked on the parts before it: the upper edge forward, then the lower edge back. */
const areaPath = (spans: readonly Span[], part: number, { x, y }: Scale): string => {
  const stacked = ({ parts }: Span, count: number) =>
    y(parts.slice(0, count).reduce((sum, bytes) => sum + bytes, 0))
  const upper = spans.map((span) => `H${x(span.from)}V${stacked(span, part + 1)}H${x(span.to)}`)
  const lower = spans.map((span) => `V${stacked(span, part)}H${x(span.from)}`).reverse()
  return `M0 ${stacked(spans[0]!, part)}${upper.join('')}${lower.join('')}Z`
}

const HistoryTable = ({ spans }: { spans: readonly Span[] }) => (
  <details>
    <summary>Show as table</summary>
    <Table
      column="Day"
      numbers={['Used']}
      caption={spans.length > MAX_ROWS ? `The last ${MAX_ROWS} days with a change` : 'The days with a change'}
    >
      {spans
        .slice(-MAX_ROWS)
        .reverse()
        .map(({ from, used }) => (
          <tr key={from}>
            <td>{dateOf(from)}</td>
            <SizeCell bytes={used} />
          </tr>
        ))}
    </Table>
  </details>
)
