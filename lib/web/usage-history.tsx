/** @jsxRuntime automatic @jsxImportSource preact */
import { dateOf } from '../api/time.ts'
import { formatSize } from './format.ts'
import { Size } from './usage-bar.tsx'
import type { SubjectStatus } from './usage-breakdown.ts'
import { CANVAS, type HistoryChart, type HistorySpan, historyChart } from './usage-history.ts'

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
