/** The page of a user or an organization: who they are, and their repositories. */
import type { Viewer } from '../../accounts/access.ts'
import { canCreateIn } from '../../accounts/rights.ts'
import { AllotError } from '../../errors.ts'
import type { Page } from '../../records/pages.ts'
import type { Account } from '../../records/schema/index.ts'
import { hasScope } from '../../scopes.ts'
import { RequestCommand } from '../parts/command.tsx'
import { Count, Empty, Link, More, PageHead, Section, Tabs } from '../parts/components.tsx'
import { Dots } from '../parts/inline.tsx'
import { List } from '../parts/list.tsx'
import { pageNumber, sliceOf } from '../parts/paging.tsx'
import { type PageRequest, type PageServices, page } from '../parts/route.ts'
import { maySeeStorage } from '../parts/storage-scopes.ts'
import { Day } from '../parts/times.tsx'
import { AccountLink, Avatar, RepositoryRow, Website } from './account-parts.tsx'

/** Members and organizations on a page; organizations may have thousands. */
const MAX_PEOPLE = 50
const FIRST = { offset: 0, limit: MAX_PEOPLE }

/** @throws AllotError not_found when the viewer cannot see the account, or the host has its page */
export const visibleOwner = async (
  { hosting, settings }: PageServices,
  user: Viewer,
  name: string,
): Promise<Account> => {
  const account = await hosting.accounts.find(user, name)
  if (account !== undefined && settings.servedPages.has(account.kind)) return account
  throw new AllotError('not_found', `there is no user or organization named ${name}`)
}

export const accountPageRoutes = [
  page({
    path: '/{owner}',
    auth: 'optional',
    scope: 'read:user',
    kind: 'user',
    handle: async (request, services) => accountView(services, request),
  }),
]

const accountView = async (services: PageServices, request: PageRequest<'owner'>) => {
  const { hosting, settings } = services
  const { user, params, query } = request
  const account = await visibleOwner(services, user, params.owner)
  const number = pageNumber(query)
  const repositories = await hosting.repositories.list(user, account.id, 'recentupdate', sliceOf(number))
  const isOrganization = account.kind === 'organization'
  const knowsOrganizations = user === null || hasScope(user.scopes, 'read:organization')
  const related =
    isOrganization && knowsOrganizations
      ? await hosting.memberships.list(user, account.name, FIRST)
      : !isOrganization && knowsOrganizations
        ? await hosting.organizations.of(user, account.id, FIRST)
        : undefined
  const showsStorage = user !== null && (await maySeeStorage(services, user, account))
  return {
    title: account.fullName === '' ? account.name : `${account.name} (${account.fullName})`,
    body: (
      <>
        <AccountHead account={account} user={showsStorage ? user : null} />
        <AccountTabs name={account.name} packages={settings.servedPages.has('package')} />
        <div class="beside">
          <List
            id="repositories"
            title="Repositories"
            counted={['repository', 'repositories']}
            {...repositories}
            page={number}
            to={(to) => `/${account.name}?page=${to}`}
            empty={<NoRepositories createAt={await createPath(services, account, user)} />}
            row={(repository) => (
              <RepositoryRow key={repository.id} owner={account.name} repository={repository} />
            )}
          />
          <div>
            <About account={account} />
            {related !== undefined && related.total > 0 && (
              <Related what={isOrganization ? 'member' : 'organization'} found={related} />
            )}
          </div>
        </div>
      </>
    ),
  }
}

/**
 * Path of the API at which the viewer creates repositories of the account; undefined unless the viewer may
 * create them.
 */
const createPath = async (
  { store, settings }: PageServices,
  { id, kind, name }: Account,
  user: Viewer,
): Promise<string | undefined> => {
  if (settings.repositoryCreators === 'administrators' && !user?.admin) return undefined
  if (user?.id === id) return '/user/repos'
  if (user === null || kind === 'user') return undefined
  const mayCreate = user.admin || (await store.read((tx) => canCreateIn(tx, user.id, id)))
  return mayCreate ? `/orgs/${name}/repos` : undefined
}

/** @param user the viewer, if the viewer may see the storage of the account */
export const AccountHead = ({ account, user }: { account: Account; user: Viewer }) => (
  <PageHead
    picture={<Avatar name={account.name} size="large" />}
    title={<bdi>{account.fullName || account.name}</bdi>}
    subtitle={
      <Dots
        facts={[
          account.fullName !== '' && <bdi>{account.name}</bdi>,
          account.kind,
          account.visibility !== 'public' && account.visibility,
        ]}
      />
    }
  >
    {user !== null && (
      <Link class="button secondary" to={`/-/storage/${account.name}`}>
        View storage
      </Link>
    )}
  </PageHead>
)

export const AccountTabs = ({ name, packages }: { name: string; packages: boolean }) => (
  <Tabs
    label={`Pages of ${name}`}
    tabs={[
      { name: 'Repositories', to: `/${name}` },
      ...(packages ? [{ name: 'Packages', to: `/${name}/-/packages` }] : []),
    ]}
  />
)

const NoRepositories = ({ createAt }: { createAt: string | undefined }) => (
  <Empty title="No repositories" icon="repositories">
    {createAt === undefined ? (
      <p>There is nothing here that you can see.</p>
    ) : (
      <>
        <p>Create one; its page says how to push to it.</p>
        <RequestCommand
          scopes={createAt.startsWith('/orgs') ? ['write:organization'] : ['write:user', 'write:repository']}
          path={createAt}
          body={{ name: 'hello' }}
        />
      </>
    )}
  </Empty>
)

const About = ({ account: { description, location, website, createdAt } }: { account: Account }) => (
  <Section id="about" title="About">
    {description !== '' && (
      <p>
        <bdi>{description}</bdi>
      </p>
    )}
    <ul class="plain facts">
      {location !== '' && (
        <li>
          <bdi>{location}</bdi>
        </li>
      )}
      {website !== '' && (
        <li>
          <Website url={website} />
        </li>
      )}
      <li class="muted">
        Since <Day seconds={createdAt} />
      </li>
    </ul>
  </Section>
)

const Related = ({
  what,
  found: { items, total },
}: {
  what: 'member' | 'organization'
  found: Page<Account>
}) => (
  <Section
    id="related"
    title={what === 'member' ? 'Members' : 'Organizations'}
    aside={<Count of={total} singular={what} />}
  >
    <ul class="plain facts">
      {items.map((account) => (
        <li key={account.id}>
          <AccountLink account={account} />
        </li>
      ))}
    </ul>
    <More left={total - items.length} />
  </Section>
)
