/**
 * An owner's storage at a glance: how full, against which limits, how fast it grows, and what is largest.
 * Says each excess once.
 */
import type { RenderableProps } from 'preact'
import type { Identity } from '../../accounts/access.ts'
import type { QuotaGroup } from '../../quota/evaluate.ts'
import { type Usage, usedBy } from '../../quota/subjects.ts'
import { allItems, type Page } from '../../records/pages.ts'
import type { Account, DailyUsage } from '../../records/schema/index.ts'
import { hasScope } from '../../scopes.ts'
import { groupPath, Link, More, Section, Size, unbrokenSize } from '../parts/components.tsx'
import { Joined } from '../parts/inline.tsx'
import type { PageServices, View } from '../parts/route.ts'
import { ownerView, type StorageRequest, storagePages } from './access.tsx'
import { RecentHistory } from './history.tsx'
import { LargestItems, linkOf } from './item-text.tsx'
import {
  formatUsedOf,
  Legend,
  LimitBar,
  type LimitState,
  limitStates,
  totalLimit,
  UsageBar,
} from './limits.tsx'
import { ForecastText, Pace } from './pace.tsx'
import { isRemovalUseful, LimitText, RemovalLink, StateBadge, shareText } from './state.tsx'

const LARGEST = { offset: 0, limit: 8 }

export const overviewPageRoutes = [
  storagePages.page({ path: '/', handle: (request) => showStorage(request) }),
  storagePages.page({ path: '/-/storage/{owner}', handle: (request) => showStorage(request) }),
]

const showStorage = async (request: StorageRequest): Promise<View> => {
  const { owner, services, user } = request
  const { hosting, quota } = services
  const { usage, limits, groups } = await readOwner(services, owner)
  const history = await quota.wholeHistory(owner.id)
  const { items, total } = await hosting.storageItems.list(user, owner.id, {}, LARGEST)
  const listsOrganizations = owner.id === user.id && hasScope(user.scopes, 'read:organization')
  const organizations = listsOrganizations ? await ownedOrganizations(services, user) : undefined
  const links = new Map(items.map((item) => [item.id, linkOf(request, item)]))
  const others = limits.filter((limit) => limit !== totalLimit(limits))
  const isOtherOver = others.some(({ state }) => state === 'over')
  const hasSide = others.length + (organizations?.total ?? 0) > 0
  const side = hasSide && (
    <div class="side">
      <Limits owner={owner.name} usage={usage} limits={others} history={history} />
      {organizations !== undefined && organizations.total > 0 && <Organizations {...organizations} />}
    </div>
  )
  return ownerView(
    request,
    'Storage',
    <>
      <div class={hasSide ? 'sides' : undefined}>
        {isOtherOver && side}
        <div>
          <UsageSection owner={owner.name} usage={usage} limits={limits} history={history}>
            {user.admin && hasScope(user.scopes, 'read:admin') && <Groups groups={groups} />}
          </UsageSection>
          <RecentHistory owner={owner.name} history={history} limit={totalLimit(limits)?.rule.limit} />
        </div>
        {!isOtherOver && side}
      </div>
      <LargestItems
        owner={owner.name}
        items={items}
        links={links}
        used={usedBy('size:all', usage)}
        total={total}
      />
    </>,
  )
}

const MAX_ORGANIZATIONS = 50

/** The first {@link MAX_ORGANIZATIONS} organizations that the user owns, by name, and how many there are. */
const ownedOrganizations = async (services: PageServices, user: Identity): Promise<Page<OwnerStorage>> => {
  const { organizations } = services.hosting
  const joined = await allItems((slice) => organizations.of(user, user.id, slice))
  const isOwned = await Promise.all(joined.map(({ id }) => organizations.isOwner(id, user.id)))
  const owned = joined
    .filter((_, index) => isOwned[index])
    .sort((left, right) => left.name.localeCompare(right.name, 'en'))
  const first = owned.slice(0, MAX_ORGANIZATIONS)
  const items = await Promise.all(first.map((organization) => readOwner(services, organization)))
  return { items, total: owned.length }
}

/** An owner's usage and limits. */
interface OwnerStorage {
  readonly account: Account
  readonly usage: Usage
  readonly limits: readonly LimitState[]
  readonly groups: readonly QuotaGroup[]
}

const readOwner = async ({ quota, settings }: PageServices, account: Account): Promise<OwnerStorage> => {
  const status = await quota.statuses.of(account.id)
  const limits = limitStates(status, settings.warnAt)
  return { account, usage: status.usage, limits, groups: status.storedGroups }
}

interface UsageProps {
  owner: string
  usage: Usage
  limits: readonly LimitState[]
  history: readonly DailyUsage[]
}

/** The total, which a rule about everything limits; a rule about a part is in {@link Limits}. */
const UsageSection = ({ owner, usage, limits, history, children }: RenderableProps<UsageProps>) => {
  const used = usedBy('size:all', usage)
  const limit = totalLimit(limits)
  return (
    <Section id="usage" title="Usage" aside={children}>
      <p class="fullness">
        <strong>
          <Size bytes={used} />
        </strong>
        <span class="muted">
          {limit === undefined ? (
            'used'
          ) : (
            <>
              of {unbrokenSize(limit.rule.limit)} used{shareText(limit)}, rule <em>{limit.rule.name}</em>
            </>
          )}
        </span>
        {limit !== undefined ? (
          <StateBadge state={limit.state} left={limit.left} />
        ) : (
          limits.length === 0 && <StateBadge state="unlimited" />
        )}
      </p>
      <UsageBar usage={usage} limit={limit} />
      <Legend usage={usage} />
      {limit !== undefined && isRemovalUseful(limit) && <RemovalButton owner={owner} limit={limit} />}
      <Pace limit={limit} history={history} />
    </Section>
  )
}

const RemovalButton = ({ owner, limit }: { owner: string; limit: LimitState }) => (
  <div class="buttons">
    <RemovalLink class="button" owner={owner} rule={limit.rule.name} />
  </div>
)

/** The limits that do not count everything. */
const Limits = ({ owner, usage, limits, history }: UsageProps) =>
  limits.length === 0 ? null : (
    <Section id="limits" title="Limits">
      <ul class="statuses">
        {limits.map((limit) => (
          <li key={limit.rule.name}>
            <div class="line">
              <strong>{limit.name}</strong>
              <StateBadge state={limit.state} left={limit.left} />
            </div>
            <LimitBar usage={usage} limit={limit} />
            <div class="line small">
              <span>
                {formatUsedOf(limit)}
                {shareText(limit)}
              </span>
              <span>
                rule <em>{limit.rule.name}</em>
              </span>
            </div>
            {isRemovalUseful(limit) ? (
              <RemovalButton owner={owner} limit={limit} />
            ) : (
              <ForecastText limit={limit} history={history} />
            )}
          </li>
        ))}
      </ul>
    </Section>
  )

const Groups = ({ groups }: { groups: readonly QuotaGroup[] }) => (
  <span class="small">
    Groups: {groups.length === 0 && 'none'}
    <Joined parts={groups.map(({ name }) => <Link to={groupPath(name)}>{name}</Link>)} />
  </span>
)

const Organizations = ({ items, total }: Page<OwnerStorage>) => (
  <Section id="organizations" title="Organizations">
    <ul class="statuses">
      {items.map(({ account: { id, name }, limits: [limit], usage }) => (
        <li key={id}>
          <div class="line">
            <Link class="strong" to={`/-/storage/${name}`}>
              {name}
            </Link>
            <StateBadge state={limit?.state ?? 'unlimited'} left={limit?.left} />
          </div>
          {limit !== undefined && <LimitBar usage={usage} limit={limit} />}
          <div class="line small">
            <span>
              {limit === undefined ? (
                `${unbrokenSize(usedBy('size:all', usage))} used`
              ) : (
                <LimitText limit={limit} />
              )}
            </span>
            {limit !== undefined && isRemovalUseful(limit) && (
              <RemovalLink owner={name} rule={limit.rule.name} />
            )}
          </div>
        </li>
      ))}
    </ul>
    <More left={total - items.length} />
  </Section>
)
