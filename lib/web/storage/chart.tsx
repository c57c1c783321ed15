/**
 * A chart of usage over time, drawn on the server: an SVG that the browser stretches, with its labels as text
 * beside it. The script of the pages shows the values of a day on hover and with the arrow keys; without it
 * they are titles.
 */

import { dateOf } from '../../clock.ts'
import { Size, unbrokenSize } from '../parts/components.tsx'
import { Table } from '../parts/list.tsx'
import { CalendarDay } from '../parts/times.tsx'
import { Swatch, usageParts } from './limits.tsx'

/** Usage at the end of a day, or of the last day of several. */
export interface ChartPoint {
  /** Days since 1970. */
  readonly day: number
  /** Bytes in the order of `usageParts`, rounded to what a chart can show. */
  readonly parts: readonly number[]
}

export const totalOf = ({ parts }: ChartPoint): number => parts.reduce((sum, bytes) => sum + bytes, 0)

const CANVAS = { width: 1000, height: 240 }

interface ChartProps {
  readonly points: readonly ChartPoint[]
  /** Bytes; undefined when no rule limits the total. */
  readonly limit: number | undefined
  /** Title of the chart, such as `Usage of the last 30 days`. */
  readonly label: string
}

export const Chart = ({ points, limit, label }: ChartProps) => {
  const scale = scaleOf(points, limit)
  const highest = Math.max(...points.map(totalOf))
  const [first, last] = [points[0]!, points.at(-1)!]
  return (
    <figure class="plot" data-chart>
      <div class="ticks" aria-hidden="true">
        {scale.ticks.map((bytes) => (
          <span key={bytes}>{unbrokenSize(bytes)}</span>
        ))}
      </div>
      <Drawing points={points} scale={scale} limit={limit} label={label} />
      <Days points={points} />
      <figcaption>
        <span class="chart-value" aria-live="polite" data-chart-value>
          {unbrokenSize(totalOf(first))} on <CalendarDay day={first.day} />, {unbrokenSize(totalOf(last))}{' '}
          today. Highest: {unbrokenSize(highest)}.
        </span>
        {scale.limitY !== undefined && ` The dashed line is the current limit, ${unbrokenSize(limit!)}.`}
      </figcaption>
    </figure>
  )
}

/**
 * Up to this many columns, each has its date below it on a wide screen; more columns have `DATES` dates in
 * all.
 */
const MAX_DATED = 8
const DATES = 7

/** Dates below their columns; a narrow screen has space for the first, the last and at most one between. */
const Days = ({ points }: { points: readonly ChartPoint[] }) => {
  const isEach = points.length <= MAX_DATED
  const last = (isEach ? points.length : DATES) - 1
  return (
    <div class={isEach ? 'days each' : 'days'} aria-hidden="true">
      {Array.from({ length: last + 1 }, (_, mark) => (
        <span key={mark} class={[0, Math.round(last / 2), last].includes(mark) ? undefined : 'wide'}>
          <CalendarDay
            day={points[Math.min(Math.floor((mark * points.length) / last), points.length - 1)]!.day}
          />
        </span>
      ))}
    </div>
  )
}

interface Scale {
  /** Bytes of the grid lines, the highest first; the last is 0. */
  readonly ticks: readonly number[]
  readonly top: number
  /** Undefined when the limit is so far above the usage that showing it would flatten the chart. */
  readonly limitY: number | undefined
}

const scaleOf = (points: readonly ChartPoint[], limit: number | undefined): Scale => {
  const highest = Math.max(1, ...points.map(totalOf))
  const isLimitShown = limit !== undefined && limit > 0 && limit <= 2.5 * highest
  const step = stepFor(Math.max(highest, isLimitShown ? limit : 0) / 4)
  const count = Math.ceil((Math.max(highest, isLimitShown ? limit : 0) * 1.02) / step)
  const top = count * step
  const ticks = Array.from({ length: count + 1 }, (_, index) => top - index * step)
  return { ticks, top, limitY: isLimitShown ? yOf(limit, top) : undefined }
}

/** The next step of 1, 2, 5, 10 … or 512 of a binary unit. */
const stepFor = (bytes: number): number => {
  const unit = 1024 ** Math.max(0, Math.floor(Math.log2(Math.max(1, bytes)) / 10))
  const steps = [1, 2, 5, 10, 20, 50, 100, 200, 250, 500, 1024]
  return unit * (steps.find((step) => step * unit >= bytes) ?? 1024)
}

const yOf = (bytes: number, top: number): number => round(CANVAS.height * (1 - bytes / top))
const round = (number: number): number => Number(number.toFixed(1))

interface DrawingProps extends ChartProps {
  readonly scale: Scale
}

const Drawing = ({ points, scale: { ticks, top, limitY }, label }: DrawingProps) => {
  const width = CANVAS.width / points.length
  return (
    <svg
      class="chart"
      viewBox={`0 0 ${CANVAS.width} ${CANVAS.height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${label}, also in the table below`}
    >
      {ticks.map((bytes) => (
        <line key={bytes} class="grid" x1="0" x2={CANVAS.width} y1={yOf(bytes, top)} y2={yOf(bytes, top)} />
      ))}
      {usageParts.map(
        (_, part) =>
          points.some(({ parts }) => parts[part] !== 0) && (
            <Area key={part} part={part} d={pathsOf(points, part, top, width)} />
          ),
      )}
      {limitY !== undefined &&
        ['halo', 'limit'].map((line) => (
          <line key={line} class={line} x1="0" x2={CANVAS.width} y1={limitY} y2={limitY} />
        ))}
      {points.map((point, index) => (
        <rect
          key={point.day}
          class="hit"
          x={round(index * width)}
          width={round(width)}
          height={CANVAS.height}
        >
          <title>{`${dateOf(point.day)}: ${unbrokenSize(totalOf(point))}`}</title>
        </rect>
      ))}
    </svg>
  )
}

/** One part: its area, lightly, below its upper edge, which tells the parts apart. */
const Area = ({ part, d: { area, edge } }: { part: number; d: { area: string; edge: string } }) => (
  <>
    <path class={`area part${part}`} d={area} />
    <path class={`edge part${part}`} d={edge} />
  </>
)

/**
 * One part, stacked on the parts before it: its upper edge, and its outline, which goes along the upper edge
 * forward, then along the lower edge back. Days without a change need no point.
 */
const pathsOf = (points: readonly ChartPoint[], part: number, top: number, width: number) => {
  const heightsOf = (count: number): number[] =>
    points.map(({ parts }) =>
      yOf(
        parts.slice(0, count).reduce((sum, bytes) => sum + bytes, 0),
        top,
      ),
    )
  const [upper, lower] = [heightsOf(part + 1), heightsOf(part)]
  const isLast = (heights: readonly number[], index: number) => heights[index] !== heights[index + 1]
  const forward = upper.map((y, index) => (isLast(upper, index) ? `V${y}H${round((index + 1) * width)}` : ''))
  const back = lower
    .map((y, index) => (y === lower[index - 1] ? '' : `V${y}H${round(index * width)}`))
    .reverse()
  const edge = forward.join('')
  return { area: `M0 ${lower[0]}${edge}${back.join('')}Z`, edge: `M0 ${upper[0]}${edge}` }
}

/** The colors of the parts that a chart shows. */
export const ChartLegend = ({ points }: { points: readonly ChartPoint[] }) => (
  <ul class="legend">
    {usageParts.map(
      ({ name }, part) =>
        points.some(({ parts }) => parts[part] !== 0) && (
          <li key={part}>
            <Swatch part={part} />
            {name}
          </li>
        ),
    )}
  </ul>
)

/** The values of a chart, the newest first. */
export const ChartTable = ({ points }: { points: readonly ChartPoint[] }) => {
  const changes = points.map((point, index) => totalOf(point) - totalOf(points[index - 1] ?? point))
  const rows = points.map((point, index) => ({ point, change: changes[index]! })).reverse()
  return (
    <details>
      <summary>Show as table</summary>
      <Table
        items={rows}
        keyOf={({ point }) => point.day}
        columns={[
          { head: 'Day', cell: ({ point }) => <CalendarDay day={point.day} /> },
          { head: 'Used', class: 'number', cell: ({ point }) => <Size bytes={totalOf(point)} /> },
          {
            head: 'Change',
            class: 'number',
            cell: ({ change }) => change !== 0 && <Change bytes={change} />,
          },
        ]}
      />
    </details>
  )
}

/** A difference of sizes with its sign. */
export const Change = ({ bytes }: { bytes: number }) => (
  <>
    {bytes > 0 && '+'}
    <Size bytes={bytes} />
  </>
)
