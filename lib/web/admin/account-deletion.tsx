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
import { FlashMessage, formatCount, Link, Notice, PageHead, Post, Section, Table } from '../components.tsx'
import { type Confirmation, TypedConfirmation } from '../confirmation.tsx'
import type { PageServices, View } from '../route.ts'
import { RemovedRepository, RemovedRows, StayingText } from '../storage/removed-kinds.tsx'
import { CRUMBS } from './account-views.tsx'
import { AdminTabs } from './form.tsx'

export const confirmationOf = ({ name, kind }: Account): Confirmation => ({
  expected: name,
  what: `the name of the ${kind}`,
})

/** Repositories of each owner that are listed at most. */
const MAX_LISTED = 50

interface Owned {
  readonly ownership: Ownership
  /** Organizations that have no other owner. */
  readonly organizations: readonly Account[]
  /** Those of them that the account founded, which keep it from being deleted alone. */
  readonly founded: readonly Account[]
  /** What goes with the account and these organizations. */
  readonly kinds: readonly RemovedKind[]
  /** The largest repositories, with what goes with each. */
  readonly repositories: readonly { owner: string; name: string; kinds: readonly RemovedKind[] }[]
  /** Repositories that are not listed. */
  readonly more: number
}

const ownedBy = async ({ store, hosting }: PageServices, account: Account): Promise<Owned> => {
  const found = await store.read(async (tx) => {
    const ownership = await ownershipOf(tx, account.id)
    const ids = ownership.organizations.map(({ organization }) => organization)
    const organizations = [...(await accounts.byIds(tx, ids)).values()]
    // Without need of a purge, the account owns nothing else, and its organizations stay unless the box is ticked.
    const owners = ownership.isPurgeNeeded ? [account, ...organizations] : [account]
    const kinds = await sizesOfOwners(
      tx,
      owners.map(({ id }) => id),
    )
    const isFounded = ({ id }: Account) =>
      ownership.organizations.some(({ organization, founder }) => organization === id && founder === true)
    return { ownership, organizations, founded: organizations.filter(isFounded), owners, kinds }
  })
  const pages = await Promise.all(
    found.owners.map(({ id }) => hosting.usage.largestRepositories(id, { offset: 0, limit: MAX_LISTED })),
  )
  const listed = pages.flatMap(({ items }) => items)
  const repositories = await store.read((tx) =>
    Promise.all(
      listed.map(async ({ repository, owner, usage }) => ({
        owner: owner.name,
        name: repository.name,
        kinds: await sizesOfRepository(tx, usage),
      })),
    ),
  )
  const total = pages.reduce((sum, page) => sum + page.total, 0)
  return { ...found, repositories, more: total - listed.length }
}

/** @param failure why the deletion was refused */
export const deletionView = async (
  services: PageServices,
  account: Account,
  failure?: string,
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
        <Deletion account={account} owned={owned} failure={failure} />
      </>
    ),
  }
}

const accountPath = (name: string): string => `/-/admin/account?name=${encodeURIComponent(name)}`

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
const Deletion = ({ account, owned, failure }: OwnedProps & { failure: string | undefined }) => {
  const { name, kind } = account
  const { ownership, organizations, kinds } = owned
  const { isPurgeNeeded } = ownership
  const freed = freedBy(kinds)
  const all = `${name} and everything it owns`
  return (
    <Section id="delete" title={isPurgeNeeded ? `Or delete ${all}` : 'Delete'}>
      <Notice kind="over">
        The account is deleted at once, with its tokens, keys and memberships
        {isPurgeNeeded && `, and everything below: this frees ${formatSize(freed)}`}.
      </Notice>
      {(isPurgeNeeded || kinds.length > 0) && <WhatGoes owned={owned} />}
      <Post
        to="/-/admin/account/delete"
        fields={[['name', name], ...(isPurgeNeeded ? [['purge', 'yes'] as const] : [])]}
      >
        {!isPurgeNeeded && organizations.length > 0 && <AlsoOrganizations organizations={organizations} />}
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

const AlsoOrganizations = ({ organizations }: { organizations: readonly Account[] }) => (
  <label class="box">
    <input type="checkbox" name="purge" value="yes" />
    <span>
      Also delete what has no other owner: <Names accounts={organizations} />{' '}
      <span class="small">Without this, administrators manage it.</span>
    </span>
  </label>
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
const WhatGoes = ({ owned: { ownership, organizations, kinds, repositories, more } }: { owned: Owned }) => (
  <>
    {ownership.isPurgeNeeded && organizations.length > 0 && (
      <p>
        Organizations without another owner go with it: <Names accounts={organizations} />.
      </p>
    )}
    {kinds.length > 0 && (
      <Table column="Kind" numbers={['Frees']}>
        <RemovedRows kinds={kinds} listOf={undefined} />
      </Table>
    )}
    <StayingText kinds={kinds} />
    {repositories.length > 0 && (
      <details>
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
