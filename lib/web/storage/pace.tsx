/** @jsxRuntime automatic @jsxImportSource preact */
/** How fast an owner's usage grows, and when it reaches a limit at that pace. */
import type { ComponentChildren } from 'preact'
import type { Sum } from '../../integers.ts'
import { measure } from '../../quota/evaluate.ts'
import { forecastOf, growthOf } from '../../quota/forecast.ts'
import { usedBy } from '../../quota/subjects.ts'
import { today } from '../../quota/usage.ts'
import type { DailyUsage } from '../../records/schema/index.ts'
import { Figures, formatCount, Size } from '../components.tsx'
import { CalendarDay } from '../times.tsx'
import { Change } from './chart.tsx'
import type { LimitState } from './limits.tsx'

/** How fast usage grows, and when it reaches the limit at that pace. */
export const Pace = ({
  used,
  limit,
  history,
}: {
  used: Sum
  limit: LimitState | undefined
  history: readonly DailyUsage[]
}) => {
  const growth = growthOf(history, (usage) => usedBy('size:all', usage), today())
  if (growth.days === 0) return null
  const change = growth.bytes === 0 ? 'No change' : <Change bytes={growth.bytes} />
  const figures: [string, ComponentChildren][] = [[`Last ${growth.days} days`, change]]
  if (limit !== undefined)
    figures.push(
      ['Left', limit.left > 0 ? <Size bytes={limit.left} /> : 'Nothing'],
      [
        'Share of the limit',
        limit.rule.limit > 0 ? `${Math.round((100 * Number(used)) / limit.rule.limit)}%` : '—',
      ],
    )
  return (
    <div class="pace">
      <Figures figures={figures} />
      {limit !== undefined && <ForecastText limit={limit} history={history} />}
    </div>
  )
}

/** A forecast, said as such. */
export const ForecastText = ({ limit, history }: { limit: LimitState; history: readonly DailyUsage[] }) => {
  if (limit.left <= 0) return null
  const growth = growthOf(history, (usage) => measure(limit.rule, usage), today())
  const forecast = forecastOf(growth, limit.left)
  return typeof forecast === 'number' ? (
    <p class="small">
      Forecast: at the pace of the last {growth.days} days, the limit is reached around{' '}
      <CalendarDay day={today() + forecast} />, in {formatCount(forecast, 'day')}.
    </p>
  ) : (
    <p class="small">{FORECAST_TEXTS[forecast]}</p>
  )
}

const FORECAST_TEXTS = {
  'too early': 'A forecast needs a history of seven days.',
  'not growing': 'Forecast: usage did not grow in the last 30 days, so the limit is not in sight.',
  'far away': 'Forecast: at the pace of the last 30 days, the limit is more than two years away.',
} as const
