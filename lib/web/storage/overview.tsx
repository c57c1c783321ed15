/** @jsxRuntime automatic @jsxImportSource preact */
/** An owner's storage at a glance: how full, against which limits, how fast it grows, and what is largest. */
import type { ComponentChildren } from 'preact'
import type { Identity } from '../../accounts/access.ts'
import { formatBytes, formatSize } from '../../byte-sizes.ts'
import { accountPage } from '../../host-pages/html-urls.ts'
import type { QuotaGroup } from '../../quota/evaluate.ts'
import { type Usage, usedBy } from '../../quota/subjects.ts'
import type { Account, DailyUsage } from '../../records/schema/index.ts'
import { groupPath } from '../admin/rules.tsx'
import { Link, Notice, Section } from '../components.tsx'
import { type PageRequest, type PageServices, page, type View } from '../route.ts'
import { accessibleOwner, OwnerHead, ownerCrumbs, pageLink } from './access.tsx'
import { RecentHistory } from './history.tsx'
import {
  formatUsedOf,
  Legend,
  LimitBar,
  type LimitState,
  limitStates,
  StateLabel,
  stateText,
  totalLimit,
  UsageBar,
} from './limits.tsx'
import { ForecastText, Pace } from './pace.tsx'
import { LargestThings, linkOf } from './thing-text.tsx'

const LARGEST = { offset: 0, limit: 8 }

export const overviewRoutes = [
  page({
    method: 'GET',
    path: '/',
    auth: 'required',
    handle: (request, services) => showStorage(services, request, request.user.username),
  }),
  // A form that asks for an owner by name leads here.
  page({
    method: 'GET',
    path: '/-/storage',
    auth: 'required',
    handle: async ({ query }) => ({
      to: `/-/storage/${encodeURIComponent(query.get('owner')?.trim() || '-')}`,
    }),
  }),
  page({
    method: 'GET',
    path: '/-/storage/{owner}',
    auth: 'required',
    handle: (request, services) => showStorage(services, request, request.params.owner),
  }),
]

const showStorage = async (
  services: PageServices,
  request: Pick<PageRequest, 'site' | 'pagesUrl'> & { user: Identity },
  name: string,
): Promise<View> => {
  const { user } = request
  const { hosting, quota } = services
  const owner = await accessibleOwner(services, user, name)
  const { usage, limits, groups } = await readOwner(services, owner)
  const history = await quota.history(owner.id)
  const { items, total } = await hosting.things.list(user, owner.id, {}, LARGEST)
  const listsOrganizations = owner.id === user.id && canRead(user, 'organization')
  const organizations = listsOrganizations ? await ownedOrganizations(services, user) : []
  const link = pageLink(services, request, accountPage(owner))
  const links = new Map(items.map((thing) => [thing.id, linkOf(services, request, owner.name, thing)]))
  return {
    title: `Storage of ${owner.name}`,
    crumbs: ownerCrumbs(owner, user),
    body: (
      <>
        <OwnerHead owner={owner}>
          {user.admin && canRead(user, 'admin') && owner.id !== user.id && (
            <Link class="button secondary" to={`/-/admin/account?name=${encodeURIComponent(owner.name)}`}>
              Account
            </Link>
          )}
          {link !== undefined && (
            <a class="button secondary" href={link}>
              View {owner.kind === 'user' ? 'profile' : 'organization'}
            </a>
          )}
        </OwnerHead>
        <Warnings owner={owner.name} limits={limits} />
        <UsageSection usage={usage} limits={limits} history={history} />
        <Limits owner={owner.name} usage={usage} limits={limits} history={history}>
          {user.admin && canRead(user, 'admin') && <Groups groups={groups} />}
        </Limits>
        <RecentHistory owner={owner.name} history={history} limit={totalLimit(limits)?.rule.limit} />
        <Organizations organizations={organizations} />
        <LargestThings
          owner={owner.name}
          things={items}
          links={links}
          used={usedBy('size:all', usage)}
          total={total}
        />
      </>
    ),
  }
}

/** Whether the session has a scope: a session that a token started has the scopes of the token. */
const canRead = ({ scopes }: Identity, category: 'organization' | 'admin'): boolean =>
  ['all', `read:${category}`, `write:${category}`].some((scope) => scopes.has(scope))

const MAX_ORGANIZATIONS = 50

/** The organizations that the user owns, by name; at most {@link MAX_ORGANIZATIONS}. */
const ownedOrganizations = async (services: PageServices, user: Identity): Promise<OwnerStorage[]> => {
  const { hosting } = services
  const { items } = await hosting.organizations.of(user, user.id, { offset: 0, limit: 1000 })
  const isOwned = await Promise.all(items.map(({ id }) => hosting.organizations.isOwner(id, user.id)))
  const owned = items
    .filter((_, index) => isOwned[index])
    .sort((left, right) => left.name.localeCompare(right.name, 'en'))
    .slice(0, MAX_ORGANIZATIONS)
  return Promise.all(owned.map((organization) => readOwner(services, organization)))
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

/** Notices of limits that are exceeded or nearly reached. */
const Warnings = ({ owner, limits }: { owner: string; limits: readonly LimitState[] }) => (
  <>
    {(['over', 'near'] as const).map((state) => {
      const found = limits.filter((limit) => limit.state === state)
      return (
        found.length > 0 && (
          <Notice key={state} kind={state}>
            {found.map((limit) => (
              <div key={limit.rule.name}>
                <strong>{limit.name}:</strong> {formatUsedOf(limit)}, rule <em>{limit.rule.name}</em>.{' '}
                {stateText(limit)}.{' '}
                {state === 'over' && (
                  <Link to={`/-/storage/${owner}/usage?remove=${encodeURIComponent(limit.rule.name)}`}>
                    What to remove<span class="hidden"> to get under the limit of {limit.name}</span>
                  </Link>
                )}
              </div>
            ))}
          </Notice>
        )
      )
    })}
  </>
)

interface UsageProps {
  usage: Usage
  limits: readonly LimitState[]
  history: readonly DailyUsage[]
}

const UsageSection = ({ usage, limits, history }: UsageProps) => {
  const used = usedBy('size:all', usage)
  const limit = totalLimit(limits)
  return (
    <Section id="usage" title="Usage">
      <p class="fullness">
        <strong>{formatSize(used)}</strong>
        <span class="muted">
          {limit === undefined ? 'used' : `of ${formatSize(limit.rule.limit)} used`} ({formatBytes(used)})
        </span>
        <StateLabel limit={limit} />
      </p>
      {limit !== undefined && <UsageBar usage={usage} limit={limit} />}
      <Legend usage={usage} />
      <Pace used={used} limit={limit} history={history} />
    </Section>
  )
}

const Limits = ({
  owner,
  usage,
  limits,
  history,
  children,
}: UsageProps & { owner: string; children: ComponentChildren }) => (
  <Section id="limits" title="Limits" aside={children}>
    {limits.length === 0 ? (
      <p class="muted">No rule limits the storage of {owner}.</p>
    ) : (
      <ul class="statuses">
        {limits.map((limit) => (
          <li key={limit.rule.name}>
            <div class="line">
              <strong>{limit.name}</strong>
              <StateLabel limit={limit} />
            </div>
            <LimitBar usage={usage} limit={limit} />
            <div class="line small">
              <span>{formatUsedOf(limit)}</span>
              <span>
                rule <em>{limit.rule.name}</em>
              </span>
            </div>
            {limit !== totalLimit(limits) && <ForecastText limit={limit} history={history} />}
          </li>
        ))}
      </ul>
    )}
  </Section>
)

const Groups = ({ groups }: { groups: readonly QuotaGroup[] }) => (
  <span class="small">
    Groups:{' '}
    {groups.length === 0
      ? 'none'
      : groups.map(({ name }, index) => (
          <>
            {index > 0 && ', '}
            <Link to={groupPath(name)}>{name}</Link>
          </>
        ))}
  </span>
)

const Organizations = ({ organizations }: { organizations: readonly OwnerStorage[] }) =>
  organizations.length === 0 ? null : (
    <Section id="organizations" title="Organizations">
      <ul class="statuses">
        {organizations.map(({ account, limits, usage }) => {
          const limit = totalLimit(limits)
          return (
            <li key={account.id}>
              <div class="line">
                <Link to={`/-/storage/${account.name}`}>{account.name}</Link>
                <StateLabel limit={limits[0]} />
              </div>
              {limit !== undefined && <UsageBar usage={usage} limit={limit} isThin />}
              <div class="small">
                {limit === undefined ? `${formatSize(usedBy('size:all', usage))} used` : formatUsedOf(limit)}
              </div>
            </li>
          )
        })}
      </ul>
    </Section>
  )
