/** @jsxRuntime automatic @jsxImportSource preact */
/** How an owner's usage changed: the page, and the chart on the overview. */

import type { RenderableProps } from 'preact'
import { today } from '../../clock.ts'
import { growthOf } from '../../quota/forecast.ts'
import { usedBy } from '../../quota/subjects.ts'
import type { DailyUsage } from '../../records/schema/index.ts'
import { formatCount, Link, Section, usePageContext } from '../parts/components.tsx'
import { page } from '../parts/route.ts'
import { formatSize } from '../parts/sizes.ts'
import { CalendarDay } from '../parts/times.tsx'
import { accessibleOwner, OwnerHead, ownerCrumbs } from './access.tsx'
import { Change, Chart, ChartLegend, type ChartPoint, ChartTable, totalOf } from './chart.tsx'
import { limitStates, partSizes, totalLimit } from './limits.tsx'

/** Periods that the page shows, in days, in this order; `all` is as long as the history is kept. */
const PERIODS = { '7': '7 days', '30': '30 days', '90': '90 days', all: 'All' } as const
type Period = keyof typeof PERIODS

const periodIn = (text: string | null): Period =>
  text !== null && Object.hasOwn(PERIODS, text) ? (text as Period) : '30'

export const historyRoutes = [
  page({
    method: 'GET',
    path: '/-/storage/{owner}/history',
    auth: 'required',
    async handle({ user, params, query }, services) {
      const owner = await accessibleOwner(services, user, params.owner)
      const period = periodIn(query.get('days'))
      const history = await services.quota.history(owner.id)
      const limits = limitStates(await services.quota.statuses.of(owner.id), services.settings.warnAt)
      return {
        title: `History of ${owner.name}`,
        crumbs: ownerCrumbs(owner, user),
        body: (
          <>
            <OwnerHead owner={owner} />
            <History
              owner={owner.name}
              history={history}
              period={period}
              limit={totalLimit(limits)?.rule.limit}
            />
          </>
        ),
      }
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
    <Section id="history" title="History" aside={<Periods owner={owner} chosen={period} />}>
      <WhenStored history={history} points={points}>
        <PeriodGrowth history={history} period={period} />
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
  points.length < 2 ? (
    <FirstDay history={history} />
  ) : points.every((point) => totalOf(point) === 0) ? (
    <p class="muted">Nothing was stored in this period.</p>
  ) : (
    <>{children}</>
  )

const FirstDay = ({ history }: { history: readonly DailyUsage[] }) => {
  const used = history[0] === undefined ? 0 : usedBy('size:all', history[0])
  return (
    <p class="muted">
      {used > 0
        ? `The history begins today, with ${formatSize(used)}. From tomorrow on, a chart shows here how usage changes.`
        : 'Nothing is stored yet. A chart shows here how usage changes, from the day after the first change.'}
    </p>
  )
}

/** How usage changed in the days of the chart. */
const PeriodGrowth = ({ history, period }: Pick<HistoryProps, 'history' | 'period'>) => {
  const days = period === 'all' ? today() - history[0]!.day : Number(period)
  const growth = growthOf(history, (usage) => usedBy('size:all', usage), today(), days)
  if (growth === undefined) return null
  return (
    <p>
      {growth.bytes === 0 ? 'No change' : <Change bytes={growth.bytes} />}{' '}
      {period === 'all' || growth.days < days ? (
        <>
          since <CalendarDay day={growth.since} />
        </>
      ) : (
        `in the last ${formatCount(days, 'day')}`
      )}
      .
    </p>
  )
}

const Periods = ({ owner, chosen }: { owner: string; chosen: Period }) => {
  const { urlOf } = usePageContext()
  return (
    <nav class="choices" aria-label="Period">
      {(Object.keys(PERIODS) as Period[]).map((period) => (
        <a
          key={period}
          href={urlOf(`/-/storage/${owner}/history?days=${period}`)}
          aria-current={period === chosen ? 'true' : undefined}
        >
          {PERIODS[period]}
        </a>
      ))}
    </nav>
  )
}

/** Points that a chart has at most; a longer period has several days in each. */
const MAX_POINTS = 90

/** Usage at the end of each day of a period, or of each few days. The history has only the days with a change. */
export const pointsOf = (history: readonly DailyUsage[], lastDay: number, period: Period): ChartPoint[] => {
  const [first] = history
  if (first === undefined) return []
  const start = period === 'all' ? first.day : Math.max(first.day, lastDay - Number(period) + 1)
  const step = Math.ceil((lastDay - start + 1) / MAX_POINTS)
  const points: ChartPoint[] = []
  for (let day = lastDay; day >= start; day -= step) {
    const usage = history.findLast((one) => one.day <= day) ?? first
    points.push({ day, parts: partSizes(usage).map(Number) })
  }
  return points.reverse()
}
