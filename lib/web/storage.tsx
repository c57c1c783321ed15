/** @jsxRuntime automatic @jsxImportSource preact */
import type { Identity } from '../accounts/access.ts'
import { accountPage } from '../api/users.ts'
import type { QuotaGroup } from '../quota/evaluate.ts'
import type { Subject, Usage } from '../quota/subjects.ts'
import type { Account } from '../records/schema/index.ts'
import { Link, PageHead, Post, Section, usePageContext } from './components.tsx'
import { groupPath } from './groups.tsx'
import {
  Legend,
  PartLimits,
  StateLabel,
  type SubjectStatus,
  subjectStatus,
  UsageBar,
  UsageSummary,
  UsedAndLimit,
  usageParts,
  Warnings,
} from './limits.tsx'
import { type PageServices, page, type View } from './route.ts'
import { accessibleOwner, externalLink, LargestItems, readUsageList, usageKinds } from './storage-details.tsx'
import { UsageHistory } from './usage-history.tsx'

/** The items that the page shows of each list. */
const LARGEST = { offset: 0, limit: 5 }

export const storageRoutes = [
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

/** Above every page of storage but the own. */
const STORAGE_CRUMBS = [{ name: 'Storage', to: '/' }]

const showStorage = async (
  services: PageServices,
  request: { user: Identity; site: string | undefined },
  name: string,
): Promise<View> => {
  const { user } = request
  const account = await accessibleOwner(services, user, name)
  const { usage, total, parts, groups } = await readOwner(services, account)
  const history = await services.quota.history(account.id)
  const lists = await Promise.all(
    usageKinds.map((kind) => readUsageList(services, request, account, kind, LARGEST)),
  )
  const listsOrganizations = account.id === user.id && canRead(user, 'organization')
  const organizations = listsOrganizations ? await ownedOrganizations(services, user) : []
  const link = externalLink(services, request.site, accountPage(account))
  const title = `Storage of ${account.name}`
  return {
    title,
    crumbs: account.id === user.id ? [] : STORAGE_CRUMBS,
    body: (
      <>
        <PageHead
          title={title}
          subtitle={account.fullName === '' ? undefined : <bdi>{account.fullName}</bdi>}
        >
          {link !== undefined && (
            <a class="button secondary" href={link}>
              Go to the {account.kind === 'user' ? 'profile' : 'organization'}
            </a>
          )}
        </PageHead>
        {user.admin && canRead(user, 'admin') && <Groups groups={groups} />}
        <Warnings total={total} parts={parts} />
        <Section id="usage" title="Usage">
          <UsageSummary total={total} />
          <UsageBar usage={usage} status={total} />
          <Legend usage={usage} />
        </Section>
        <PartLimits total={total} parts={parts} />
        <UsageHistory history={history} limit={total.binding?.limit} />
        <Organizations organizations={organizations} />
        {lists.map((list) => (
          <LargestItems key={list.kind} {...list} />
        ))}
        <Sessions account={account.id} />
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
  readonly total: SubjectStatus
  /** In the order of `usageParts`. */
  readonly parts: readonly SubjectStatus[]
  readonly groups: readonly QuotaGroup[]
}

const readOwner = async ({ quota, settings }: PageServices, account: Account): Promise<OwnerStorage> => {
  const status = await quota.statuses.of(account.id)
  const statusOf = (subject: Subject) => subjectStatus(status, subject, settings.warnAt)
  return {
    account,
    usage: status.usage,
    total: statusOf('size:all'),
    parts: usageParts.map(({ subject }) => statusOf(subject)),
    groups: status.storedGroups,
  }
}

const Groups = ({ groups }: { groups: readonly QuotaGroup[] }) => (
  <p class="subtitle">
    Groups:{' '}
    {groups.length === 0
      ? 'none'
      : groups.map(({ name }, index) => (
          <>
            {index > 0 && ', '}
            <Link to={groupPath(name)}>{name}</Link>
          </>
        ))}
  </p>
)

const Organizations = ({ organizations }: { organizations: readonly OwnerStorage[] }) =>
  organizations.length === 0 ? null : (
    <Section id="organizations" title="Organizations">
      <ul class="statuses">
        {organizations.map(({ account, total, usage }) => (
          <li key={account.id}>
            <div class="line">
              <Link to={`/-/storage/${account.name}`}>{account.name}</Link>
              <StateLabel status={total} />
            </div>
            <UsageBar usage={usage} status={total} />
            <UsedAndLimit status={total} />
          </li>
        ))}
      </ul>
    </Section>
  )

/** Shown to the owner of the account alone. */
const Sessions = ({ account }: { account: number }) => {
  const { user, hasSessions } = usePageContext()
  return account !== user?.id || !hasSessions ? null : (
    <Section id="sessions" title="Sessions">
      <p>Changing the password, or revoking the token that a session started with, also ends the session.</p>
      <Post to="/-/sign-out">
        <button type="submit" class="secondary" name="everywhere" value="yes">
          Sign out of all devices
        </button>
      </Post>
    </Section>
  )
}
