/**
 * The instance at a glance: totals over time, who uses most, who is over quota or near it, and what the
 * server is doing.
 */
import type { ComponentChildren, VNode } from 'preact'
import { today } from '../../clock.ts'
import { daysUntilNow, type InstanceHistory, totalGrowth } from '../../content/usage/instance-history.ts'
import type { OwnerSummary, OwnersSnapshot } from '../../content/usage/owners-snapshot.ts'
import { usedBy } from '../../quota/subjects.ts'
import { pendingJobs } from '../../records/jobs.ts'
import { CURRENT_LAYOUT } from '../../records/schema/index.ts'
import { VERSION } from '../../version.ts'
import { Figures, formatCount, Link, NameLink, Section, Size, StrongLink } from '../parts/components.tsx'
import { List, Table } from '../parts/list.tsx'
import { sliceOf } from '../parts/paging.tsx'
import { type PageServices, page } from '../parts/route.ts'
import { Chart, ChartTable } from '../storage/chart.tsx'
import { pointsOf } from '../storage/history.tsx'
import { Legend, UsageBar } from '../storage/limits.tsx'
import { GrowthText, OwnerGrowth } from '../storage/pace.tsx'
import { shareColumn } from '../storage/share.tsx'
import { STATE_NAMES, type State } from '../storage/state.tsx'
import { adminPage, adminView } from './form.tsx'
import { OwnerBadge, OwnerLimit, OwnersBeingRead } from './owners-form.tsx'

/** Owners that a section lists; the table of owners has the others. */
const LISTED = 8

export const adminPageRoutes = [
  page({
    ...adminPage,
    path: '/-/admin',
    async handle(_request, services) {
      const { hosting } = services
      const [owners, history] = await Promise.all([hosting.ownerTable.get(), hosting.instanceHistory.get()])
      const health = <Health services={services} pending={await services.store.read(pendingJobs)} />
      if (owners === undefined) return withoutOwners(health)
      const used = usedBy('size:all', owners.total)
      const largest = owners.sorted('used', false, history).slice(0, LISTED)
      return adminView(
        'Administration',
        <>
          <Guide steps={await nextSteps(services, owners)} />
          <Section id="usage" title="Usage">
            <p class="fullness">
              <strong>
                <Size bytes={used} />
              </strong>
              <span class="muted">
                used by <Link to="/-/admin/owners">{countsOf(owners)}</Link>
              </span>
            </p>
            <UsageBar usage={owners.total} />
            <Legend usage={owners.total} />
            <div class="pace">
              <Counts owners={owners} history={history} />
            </div>
          </Section>
          <OverSection owners={owners} />
          <TotalHistory owners={owners} history={history} />
          <div class="beside">
            <TopConsumers owners={largest} used={used} history={history} />
            {health}
          </div>
        </>,
      )
    },
  }),
]

/** The page during the first scan over the owners of a large instance. */
const withoutOwners = (health: VNode) =>
  adminView(
    'Administration',
    <>
      <Section id="usage" title="Usage">
        <OwnersBeingRead />
      </Section>
      {health}
    </>,
  )

const countsOf = ({ counts }: OwnersSnapshot): string =>
  `${formatCount(counts.user, 'user')} and ${formatCount(counts.organization, 'organization')}`

interface TotalsProps {
  owners: OwnersSnapshot
  history: InstanceHistory | undefined
}

const COUNTED = ['over', 'near', 'unlimited'] as const

const Counts = ({ owners, history }: TotalsProps) => (
  <Figures
    figures={[
      [
        'Last 30 days',
        history === undefined ? 'Being read' : <GrowthText bytes={totalGrowth(history, owners.total)} />,
      ],
      ...COUNTED.map((state) => [STATE_NAMES[state], ownerCount(owners, state)] as const),
    ]}
  />
)

/** Owners in a state, which leads to them. */
const ownerCount = ({ counts }: OwnersSnapshot, state: State): ComponentChildren => (
  <Link
    class={counts[state] > 0 ? `counted ${state}` : 'counted'}
    to={`/-/admin/owners?state=${state}${state === 'unlimited' ? '' : '&sort=share'}`}
  >
    {counts[state].toLocaleString('en')}
  </Link>
)

const TotalHistory = ({ owners, history }: TotalsProps) => {
  if (history === undefined)
    return (
      <Section id="history" title="History">
        <p class="muted">The history of all owners is being read. Open the page again in a minute.</p>
      </Section>
    )
  const days = daysUntilNow(history, owners.total).map((usage) => ({ ...usage, owner: 0 }))
  const points = pointsOf(days, today(), '90')
  return (
    <Section
      id="history"
      title="History"
      aside={<Link to="/-/admin/owners?sort=growth">Owners by growth</Link>}
    >
      {points.length === 0 ? (
        <p class="muted">
          The history begins today. From tomorrow on, a chart shows here how the total changes.
        </p>
      ) : (
        <>
          <Chart points={points} limit={undefined} label="Usage of all owners, up to 90 days" />
          <ChartTable points={points} />
        </>
      )}
    </Section>
  )
}

/** Owners that are over quota or near their limit, the largest excess first. */
const OverSection = ({ owners: { overAndNear } }: { owners: OwnersSnapshot }) => (
  <List
    id="over"
    title="Needs attention"
    aside={
      <Link to="/-/admin/owners?sort=share">
        {overAndNear.length > LISTED
          ? `View all ${overAndNear.length.toLocaleString('en')}`
          : 'Owners by limit'}
      </Link>
    }
    items={overAndNear.slice(0, LISTED)}
    empty={<p class="muted">No owner is over quota or near the limit.</p>}
    row={(owner) => (
      <li key={owner.id} class="line">
        <div class="whole">
          <StrongLink to={`/-/storage/${owner.name}`}>{owner.name}</StrongLink>
          <OwnerLimit owner={owner} />
        </div>
        <OwnerBadge owner={owner} />
      </li>
    )}
  />
)

interface TopConsumersProps {
  owners: readonly OwnerSummary[]
  used: number
  history: InstanceHistory | undefined
}

const TopConsumers = ({ owners, used, history }: TopConsumersProps) => (
  <Section id="largest" title="Top consumers" aside={<Link to="/-/admin/owners">All owners</Link>}>
    <Table
      items={owners}
      keyOf={({ id }) => id}
      columns={[
        {
          head: 'Owner',
          cell: ({ name }) => <NameLink to={`/-/storage/${name}`}>{name}</NameLink>,
        },
        {
          head: 'Last 30 days',
          class: 'number',
          cell: (owner) => <OwnerGrowth owner={owner} history={history} />,
        },
        shareColumn((owner: OwnerSummary) => owner.used, used, ' wide'),
        { head: 'Usage', class: 'number', cell: (owner) => <Size bytes={owner.used} /> },
      ]}
    />
  </Section>
)

const Health = ({ services: { store }, pending }: { services: PageServices; pending: number }) => (
  <Section id="health" title="Server" aside={<Link to="/-/admin/audit">Audit log</Link>}>
    <dl class="values">
      <div>
        <dt>Version</dt>
        <dd>{VERSION}</dd>
      </div>
      <div>
        <dt>Store</dt>
        <dd>
          {STORE_NAMES[store.driver.name] ?? store.driver.name}{' '}
          <span class="small">layout {CURRENT_LAYOUT}</span>
        </dd>
      </div>
      <div>
        <dt>Jobs under way</dt>
        <dd>{pending === 0 ? 'None' : pending.toLocaleString('en')}</dd>
      </div>
    </dl>
    <p class="small">
      Check the server with <code>allot doctor</code>, and its counters with <code>allot verify</code>.
    </p>
  </Section>
)

/** Names of the drivers that come with Allot; others have the names that their hosts gave them. */
const STORE_NAMES: Readonly<Record<string, string>> = {
  level: 'LevelDB',
  postgres: 'PostgreSQL',
  memory: 'Memory',
}

interface Step {
  readonly isDone: boolean
  readonly text: string
  readonly to: string
}

/** The next steps on a new instance, in order; empty when all are done. */
const nextSteps = async ({ quota, settings }: PageServices, { owners }: OwnersSnapshot): Promise<Step[]> => {
  if (owners.length > 5) return []
  const [rules, groups] = [await quota.rules.list(sliceOf(1)), await quota.groups.list(sliceOf(1))]
  const steps = [
    { isDone: owners.length > 1, text: 'Create the first user', to: '/-/admin/accounts/new?kind=user' },
    { isDone: rules.total > 0, text: 'Create a rule: how much may be stored', to: '/-/admin/rules' },
    { isDone: groups.total > 0, text: 'Create a group, and give it the rule', to: '/-/admin/groups' },
    {
      isDone: owners.some((owner) => owner.groups.length > 0),
      text: 'Assign the group to owners, or name it in default_groups',
      to: '/-/admin/owners',
    },
    {
      isDone: owners.some(({ used }) => used > 0),
      text: `Store something: create a repository${settings.hasTokens ? ' with a token' : ''}, and push`,
      to: settings.hasTokens ? '/-/account' : '/',
    },
  ]
  return steps.every(({ isDone }) => isDone) ? [] : steps
}

const Guide = ({ steps }: { steps: readonly Step[] }) =>
  steps.length === 0 ? null : (
    <Section
      id="next"
      title="What to do next"
      aside={
        <span class="small">
          {steps.filter(({ isDone }) => isDone).length} of {steps.length} done
        </span>
      }
    >
      <ol class="steps">
        {steps.map(({ isDone, text, to }) => (
          <li key={text} class={isDone ? 'done' : undefined}>
            {isDone ? (
              <span>
                <s>{text}</s> <span class="tag">Done</span>
              </span>
            ) : (
              <Link to={to}>{text}</Link>
            )}
          </li>
        ))}
      </ol>
    </Section>
  )
