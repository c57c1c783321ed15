/** How an owner's usage changed: the page, and the chart on the overview. */

import type { RenderableProps } from 'preact'
import { today } from '../../clock.ts'
import { noUsage, usedBy } from '../../quota/subjects.ts'
import { HISTORY_DAYS } from '../../quota/usage.ts'
import type { DailyUsage } from '../../records/schema/index.ts'
import { formatCount, Link, Section, unbrokenSize } from '../parts/components.tsx'
import { Choices } from '../parts/paging.tsx'
import { CalendarDay } from '../parts/times.tsx'
import { ownerView, storagePages } from './access.tsx'
import { Chart, ChartLegend, type ChartPoint, ChartTable, totalOf } from './chart.tsx'
import { limitStates, partSizes, totalLimit } from './limits.tsx'
import { GrowthText } from './pace.tsx'

/** Periods that the page shows, in days, in this order; `all` is as long as the history is kept. */
const PERIODS = { '7': '7 days', '30': '30 days', '90': '90 days', all: 'All' } as const
type Period = keyof typeof PERIODS

const periodIn = (text: string | null): Period =>
  text !== null && Object.hasOwn(PERIODS, text) ? (text as Period) : '30'

export const usageHistoryPageRoutes = [
  storagePages.page({
    path: '/-/storage/{owner}/history',
    async handle(request) {
      const { owner, services, query } = request
      const { quota, settings } = services
      const period = periodIn(query.get('days'))
      const history = await quota.wholeHistory(owner.id)
      const limit = totalLimit(limitStates(await quota.statuses.of(owner.id), settings.warnAt))?.rule.limit
      const props = { owner: owner.name, history, period, limit }
      return ownerView(request, 'History', <History {...props} />)
    },
  }),
]

interface HistoryProps {
  owner: string
  /** The days on which usage changed, oldest first. */
  history: readonly DailyUsage[]
  period: Period
  limit: number | undefined
}

const History = ({ owner, history, period, limit }: HistoryProps) => {
  const points = pointsOf(history, today(), period)
  return (
    <Section
      id="history"
      title="History"
      aside={
        <Choices
          label="Period"
          choices={Object.entries(PERIODS) as [Period, string][]}
          chosen={period}
          to={(days) => `/-/storage/${owner}/history?days=${days}`}
        />
      }
    >
      <WhenStored history={history} points={points}>
        <PeriodGrowth points={points} period={period} />
        <Chart points={points} limit={limit} label={`Usage, ${PERIODS[period].toLowerCase()}`} />
        <ChartLegend points={points} />
        <ChartTable points={points} />
      </WhenStored>
    </Section>
  )
}

/** The last 30 days, for the overview. */
export const RecentHistory = ({ owner, history, limit }: Omit<HistoryProps, 'period'>) => {
  const points = pointsOf(history, today(), '30')
  return (
    <Section
      id="history"
      title="History"
      aside={<Link to={`/-/storage/${owner}/history`}>View history</Link>}
    >
      <WhenStored history={history} points={points}>
        <Chart points={points} limit={limit} label="Usage of the last 30 days" />
        <ChartTable points={points} />
      </WhenStored>
    </Section>
  )
}

/** A chart, or why there is none. */
const WhenStored = ({
  history,
  points,
  children,
}: RenderableProps<Pick<HistoryProps, 'history'> & { points: readonly ChartPoint[] }>) =>
  points.length === 0 ? (
    <FirstDay history={history} />
  ) : points.every((point) => totalOf(point) === 0) ? (
    <p class="muted">Nothing was stored in this period.</p>
  ) : (
    children
  )

const FirstDay = ({ history }: { history: readonly DailyUsage[] }) => {
  const used = history[0] === undefined ? 0 : usedBy('size:all', history[0])
  return (
    <p class="muted">
      {used > 0
        ? `The history begins today, with ${unbrokenSize(used)}. From tomorrow on, a chart shows here how usage changes.`
        : 'Nothing is stored yet. A chart shows here how usage changes, from the day after the first change.'}
    </p>
  )
}

/** How usage changed in the days of the chart. */
const PeriodGrowth = ({ points, period }: { points: readonly ChartPoint[]; period: Period }) => {
  const [first, last] = [points[0]!, points.at(-1)!]
  return (
    <p>
      <GrowthText bytes={totalOf(last) - totalOf(first)} />{' '}
      {period === 'all' ? (
        <>
          since <CalendarDay day={first.day} />
        </>
      ) : (
        `in the last ${formatCount(Number(period), 'day')}`
      )}
      .
    </p>
  )
}

/** Points that a chart has at most; a longer period has several days in each. */
const MAX_POINTS = 91

/**
 * Usage at the end of each day of a period, or of each few days, and of the day before it, from which its
 * growth counts. The history has only the days with a change. A chart of an owner that is newer begins on the
 * day before the first change.
 * @returns nothing when the first change was today
 */
export const pointsOf = (history: readonly DailyUsage[], lastDay: number, period: Period): ChartPoint[] => {
  const [first] = history
  if (first === undefined || first.day >= lastDay) return []
  const start = Math.max(first.day - 1, lastDay - (period === 'all' ? HISTORY_DAYS : Number(period)))
  const step = Math.ceil((lastDay - start + 1) / MAX_POINTS)
  const points: ChartPoint[] = []
  for (let day = lastDay; day >= start; day -= step) {
    const usage = history.findLast((one) => one.day <= day) ?? noUsage
    points.push({ day, parts: partSizes(usage).map(Number) })
  }
  return points.reverse()
}
