/** @jsxRuntime automatic @jsxImportSource preact */
/** Asks before an account is deleted: what must go first, or what goes with it, what that frees, and what stays elsewhere. */
import { formatSize } from '../../byte-sizes.ts'
import { type Ownership, ownershipOf } from '../../content/removal.ts'
import {
  freedBy,
  type RemovedKind,
  sizesOfOwners,
  sizesOfRepository,
} from '../../content/usage/removal-sizes.ts'
import { type Account, accounts } from '../../records/schema/index.ts'
import {
  accountPath,
  FlashMessage,
  formatCount,
  Link,
  Notice,
  PageHead,
  Post,
  Section,
  Table,
} from '../parts/components.tsx'
import { type Confirmation, TypedConfirmation } from '../parts/confirmation.tsx'
import type { PageServices, View } from '../parts/route.ts'
import { RemovedRepository, RemovedRows, StayingText } from '../storage/removed-kinds.tsx'
import { CRUMBS } from './account-views.tsx'
import { AdminTabs } from './form.tsx'

export const confirmationOf = ({ name, kind }: Account): Confirmation => ({
  expected: name,
  what: `the name of the ${kind}`,
})

/** Repositories of each owner that are listed at most. */
const MAX_LISTED = 50

/** What owners have. */
interface Contents {
  readonly kinds: readonly RemovedKind[]
  /** The largest repositories, with what goes with each. */
  readonly repositories: readonly { owner: string; name: string; kinds: readonly RemovedKind[] }[]
  /** Repositories that are not listed. */
  readonly more: number
}

interface Owned {
  readonly ownership: Ownership
  /** Organizations that have no other owner. */
  readonly organizations: readonly Account[]
  /** Those of them that the account founded, which keep it from being deleted alone. */
  readonly founded: readonly Account[]
  /** What goes with the account: also that of these organizations when it is not deleted without them. */
  readonly contents: Contents
  /** What these organizations have, when they go only if the box is ticked. */
  readonly optional: Contents
}

const ownedBy = async (services: PageServices, account: Account): Promise<Owned> => {
  const found = await services.store.read(async (tx) => {
    const ownership = await ownershipOf(tx, account.id)
    const ids = ownership.organizations.map(({ organization }) => organization)
    return { ownership, organizations: [...(await accounts.byIds(tx, ids)).values()] }
  })
  const { ownership, organizations } = found
  const isFounded = ({ id }: Account) =>
    ownership.organizations.some(({ organization, founder }) => organization === id && founder === true)
  // Without need of a purge, the account owns nothing else, and its organizations stay unless the box is ticked.
  const [certain, optional] = ownership.isPurgeNeeded
    ? [[account, ...organizations], []]
    : [[account], organizations]
  return {
    ...found,
    founded: organizations.filter(isFounded),
    contents: await contentsOf(services, certain),
    optional: await contentsOf(services, optional),
  }
}

const contentsOf = async (
  { store, hosting }: PageServices,
  owners: readonly Account[],
): Promise<Contents> => {
  const ids = owners.map(({ id }) => id)
  const pages = await Promise.all(
    ids.map((id) => hosting.usage.largestRepositories(id, { offset: 0, limit: MAX_LISTED })),
  )
  const listed = pages.flatMap(({ items }) => items)
  const total = pages.reduce((sum, page) => sum + page.total, 0)
  return store.read(async (tx) => {
    const repositories = await Promise.all(
      listed.map(async ({ repository, owner, usage }) => ({
        owner: owner.name,
        name: repository.name,
        kinds: await sizesOfRepository(tx, usage),
      })),
    )
    return { kinds: await sizesOfOwners(tx, ids), repositories, more: total - listed.length }
  })
}

interface Refusal {
  /** Why the deletion was refused. */
  readonly failure?: string
  /** Whether the box was ticked that deletes organizations, too. */
  readonly isTicked?: boolean
}

export const deletionView = async (
  services: PageServices,
  account: Account,
  { failure, isTicked = false }: Refusal = {},
): Promise<View> => {
  const { name, kind } = account
  const owned = await ownedBy(services, account)
  const title = `Delete the ${kind} ${name}?`
  return {
    title,
    crumbs: [...CRUMBS, { name, to: accountPath(name) }],
    body: (
      <>
        <PageHead title={title} subtitle="This cannot be undone." />
        <AdminTabs />
        <FlashMessage failure={failure} />
        {owned.ownership.isPurgeNeeded && <GoesFirst account={account} owned={owned} />}
        <Deletion account={account} owned={owned} failure={failure} isTicked={isTicked} />
      </>
    ),
  }
}

interface OwnedProps {
  account: Account
  owned: Owned
}

/** What keeps the account from being deleted alone. */
const GoesFirst = ({
  account: { name, kind },
  owned: {
    ownership: { repositories, packages },
    founded,
  },
}: OwnedProps) => (
  <Section id="first" title={`To delete the ${kind} alone`}>
    <p>These must go first:</p>
    <ul>
      {repositories > 0 && (
        <li>
          <Link to={`/-/storage/${name}/repositories`}>
            {formatCount(repositories, 'repository', 'repositories')}
          </Link>
          : delete or transfer {repositories === 1 ? 'it' : 'them'}
        </li>
      )}
      {packages > 0 && (
        <li>
          <Link to={`/-/storage/${name}/packages`}>
            {formatCount(packages, 'version of a package', 'versions of packages')}
          </Link>
          : delete {packages === 1 ? 'it' : 'them'}
        </li>
      )}
      {founded.map((organization) => (
        <li key={organization.id}>
          the organization <Link to={accountPath(organization.name)}>{organization.name}</Link>, which has no
          other owner: name another one, or delete it
        </li>
      ))}
    </ul>
  </Section>
)

/** The form: with everything when the account owns something that keeps it from being deleted alone. */
const Deletion = ({
  account,
  owned,
  failure,
  isTicked,
}: OwnedProps & { failure: string | undefined; isTicked: boolean }) => {
  const { name, kind } = account
  const { ownership, organizations, contents } = owned
  const { isPurgeNeeded } = ownership
  const freed = freedBy(contents.kinds)
  const all = `${name} and everything it owns`
  return (
    <Section id="delete" title={isPurgeNeeded ? `Or delete ${all}` : 'Delete'}>
      <Notice kind="over">
        The account is deleted at once, with its tokens, keys and memberships
        {isPurgeNeeded && `, and everything below: this frees ${formatSize(freed)}`}.
      </Notice>
      {isPurgeNeeded && organizations.length > 0 && (
        <p>
          Organizations without another owner go with it: <Names accounts={organizations} />.
        </p>
      )}
      <WhatGoes contents={contents} />
      <Post
        to="/-/admin/account/delete"
        fields={[['name', name], ...(isPurgeNeeded ? [['purge', 'yes'] as const] : [])]}
      >
        {!isPurgeNeeded && organizations.length > 0 && (
          <AlsoOrganizations owned={owned} isTicked={isTicked} />
        )}
        <TypedConfirmation
          {...confirmationOf(account)}
          cancel={accountPath(name)}
          button={isPurgeNeeded ? 'Delete everything' : `Delete the ${kind}`}
          failure={failure}
        />
      </Post>
    </Section>
  )
}

/** The box that deletes the organizations, too, with what they have. */
const AlsoOrganizations = ({
  owned: { organizations, optional },
  isTicked,
}: {
  owned: Owned
  isTicked: boolean
}) => (
  <>
    <label class="box">
      <input type="checkbox" name="purge" value="yes" checked={isTicked} />
      <span>
        Also delete what has no other owner: <Names accounts={organizations} />{' '}
        <span class="small">Without this, administrators manage it.</span>
      </span>
    </label>
    <p>
      {optional.kinds.length === 0
        ? 'Nothing is stored there.'
        : `This also deletes everything below, which frees ${formatSize(freedBy(optional.kinds))} more.`}
    </p>
    <WhatGoes contents={optional} isOpen />
  </>
)

const Names = ({ accounts }: { accounts: readonly Account[] }) => (
  <>
    {accounts.map(({ id, name }, index) => (
      <>
        {index > 0 && ', '}
        <Link key={id} to={accountPath(name)}>
          {name}
        </Link>
      </>
    ))}
  </>
)

/** By kind, and on demand by repository. */
const WhatGoes = ({
  contents: { kinds, repositories, more },
  isOpen = false,
}: {
  contents: Contents
  isOpen?: boolean
}) => (
  <>
    {kinds.length > 0 && (
      <Table column="Kind" numbers={['Frees']}>
        <RemovedRows kinds={kinds} listOf={undefined} />
      </Table>
    )}
    <StayingText kinds={kinds} />
    {repositories.length > 0 && (
      <details open={isOpen}>
        <summary>By repository</summary>
        <Table column="Repository" numbers={['Frees']}>
          {repositories.map(({ owner, name, kinds: parts }) => (
            <RemovedRepository key={`${owner}/${name}`} owner={owner} name={name} kinds={parts} />
          ))}
        </Table>
        {more > 0 && <p class="small">And {more.toLocaleString('en')} smaller ones.</p>}
      </details>
    )}
  </>
)
