/** How fast an owner's usage grows, and when it reaches a limit at that pace. */
import { today } from '../../clock.ts'
import { growthIn, type InstanceHistory } from '../../content/usage/instance-history.ts'
import type { OwnerSummary } from '../../content/usage/owners-snapshot.ts'
import { ruleBytes, stands } from '../../quota/evaluate.ts'
import { type Forecast, forecastOf, growthOf, paceOf } from '../../quota/forecast.ts'
import { usedBy } from '../../quota/subjects.ts'
import type { DailyUsage } from '../../records/schema/index.ts'
import { Figures, formatCount } from '../parts/components.tsx'
import { CalendarDay } from '../parts/times.tsx'
import { Change } from './chart.tsx'
import type { LimitState } from './limits.tsx'

/** How fast usage grows, and when it reaches the limit at that pace. */
export const Pace = ({
  limit,
  history,
}: {
  limit: LimitState | undefined
  history: readonly DailyUsage[]
}) => {
  if (history.length === 0 && limit === undefined) return null
  const growth = growthOf(history, (usage) => usedBy('size:all', usage), today())
  return (
    <div class="pace">
      <Figures figures={[['Last 30 days', <GrowthText bytes={growth} />]]} />
      {limit !== undefined && <ForecastText limit={limit} history={history} />}
    </div>
  )
}

/** A forecast, said as such. */
export const ForecastText = ({ limit, history }: { limit: LimitState; history: readonly DailyUsage[] }) => {
  if (!stands(limit)) return null
  const pace = paceOf(history, (usage) => ruleBytes(limit.rule, usage), today())
  const forecast = forecastOf(pace, limit.left)
  const days = formatCount(pace?.days ?? 0, 'day')
  return typeof forecast === 'number' ? (
    <p class="small">
      Forecast: at the pace of the last {days}, the limit is reached around{' '}
      <CalendarDay day={today() + forecast} />, in {formatCount(forecast, 'day')}.
    </p>
  ) : (
    <p class="small">{FORECAST_TEXTS[forecast](days)}</p>
  )
}

const FORECAST_TEXTS: Readonly<Record<Exclude<Forecast, number>, (days: string) => string>> = {
  'too early': () => 'A forecast needs a history of seven days.',
  'not growing': (days) => `Forecast: usage did not grow in the last ${days}, so the limit is not in sight.`,
  'far away': (days) => `Forecast: at the pace of the last ${days}, the limit is more than two years away.`,
}

/** How usage changed in 30 days. */
export const GrowthText = ({ bytes }: { bytes: number }) =>
  bytes === 0 ? <>No change</> : <Change bytes={bytes} />

/**
 * The same for a row of a table of owners.
 * @param history undefined while it is being read
 */
export const OwnerGrowth = ({
  owner,
  history,
}: {
  owner: OwnerSummary
  history: InstanceHistory | undefined
}) =>
  history === undefined ? (
    <span class="muted">Being read</span>
  ) : (
    <GrowthText bytes={growthIn(history, owner)} />
  )
