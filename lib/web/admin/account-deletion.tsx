/**
 * Asks before an account is deleted: what must go first, or what goes with it, what that frees, and what
 * stays elsewhere.
 */
import type { Identity } from '../../accounts/access.ts'
import { type Ownership, ownershipOf } from '../../content/removal.ts'
import { kindPlaces, type RemovedKind, removedKinds } from '../../content/usage/removal-sizes.ts'
import type { StorageItem } from '../../content/usage/storage-item.ts'
import { type Account, accounts, ownerUsages } from '../../records/schema/index.ts'
import { accountPath, formatCount, Link, Notice, PageHead, Post, Section } from '../parts/components.tsx'
import { type Confirmation, TypedConfirmation } from '../parts/confirmation.tsx'
import { Box, useChosen } from '../parts/fields.tsx'
import { Joined } from '../parts/inline.tsx'
import type { PageServices, View } from '../parts/route.ts'
import { freedText, type RemovedItem, RemovedKinds, RemovedTable, removedItems } from '../storage/removed.tsx'
import { CRUMBS } from './account-views.tsx'
import { adminView } from './form.tsx'

/** Repositories that are listed at most. */
const MAX_LISTED = 20

/** What owners have. */
interface Contents {
  readonly kinds: readonly RemovedKind[]
  /** The largest repositories of all these owners. */
  readonly repositories: readonly RemovedItem[]
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

const ownedBy = async (services: PageServices, user: Identity, account: Account): Promise<Owned> => {
  const found = await services.store.read(async (tx) => {
    const ownership = await ownershipOf(tx, account.id)
    const ids = ownership.organizations.map(({ organization }) => organization)
    return { ownership, organizations: [...(await accounts.byIds(tx, ids)).values()] }
  })
  const { ownership, organizations } = found
  const isFounded = ({ id }: Account) =>
    ownership.organizations.some(({ organization, founder }) => organization === id && founder === true)
  // Without need of a purge, the account owns nothing else, and its organizations stay unless the box is
  // ticked.
  const [certain, optional] = ownership.isPurgeNeeded
    ? [[account, ...organizations], []]
    : [[account], organizations]
  return {
    ...found,
    founded: organizations.filter(isFounded),
    contents: await contentsOf(services, user, certain),
    optional: await contentsOf(services, user, optional),
  }
}

const contentsOf = async (
  services: PageServices,
  user: Identity,
  owners: readonly Account[],
): Promise<Contents> => {
  const { store, hosting } = services
  let largest: (StorageItem & { owner: string })[] = []
  let total = 0
  for (const { id, name: owner } of owners) {
    const slice = { offset: 0, limit: MAX_LISTED }
    const page = await hosting.storageItems.list(user, id, { kind: 'repositories' }, slice)
    total += page.total
    largest = [...largest, ...page.items.map((item) => ({ ...item, owner }))]
      .sort((a, b) => b.size - a.size)
      .slice(0, MAX_LISTED)
  }
  const kinds = await store.read(async (tx) => {
    const usages = await ownerUsages.byIds(
      tx,
      owners.map(({ id }) => id),
    )
    return removedKinds([...usages.values()], await kindPlaces(tx))
  })
  return { kinds, repositories: await removedItems(services, largest), more: total - largest.length }
}

export const confirmationOf = ({ name, kind }: Account): Confirmation => ({
  expected: name,
  what: `the name of the ${kind}`,
})

export const deletionView = async (
  services: PageServices,
  user: Identity,
  account: Account,
): Promise<View> => {
  const { name, kind } = account
  const owned = await ownedBy(services, user, account)
  const title = `Delete the ${kind} ${name}?`
  return adminView(
    title,
    <>
      {owned.ownership.isPurgeNeeded && <GoesFirst account={account} owned={owned} />}
      <Deletion account={account} owned={owned} />
    </>,
    [...CRUMBS, { name, to: accountPath(name) }],
    <PageHead title={title} subtitle="This cannot be undone." />,
  )
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
    <p>Settle these first:</p>
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
const Deletion = ({ account, owned }: OwnedProps) => {
  const { name, kind } = account
  const { ownership, organizations, contents } = owned
  const { isPurgeNeeded } = ownership
  const all = `${name} and everything the ${kind} owns`
  return (
    <Section id="delete" title={isPurgeNeeded ? `Or delete ${all}` : 'Delete'}>
      <Notice kind="over">
        The account is deleted at once, with its tokens, keys and memberships
        {isPurgeNeeded && `, and everything below: this frees ${freedText(contents.kinds)}`}.
      </Notice>
      {isPurgeNeeded && organizations.length > 0 && (
        <p>
          Organizations without another owner are deleted too: <Names accounts={organizations} />.
        </p>
      )}
      <WhatGoes contents={contents} />
      <Post to="/-/admin/account/delete" fields={{ name, ...(isPurgeNeeded && { purge: 'yes' }) }}>
        {!isPurgeNeeded && organizations.length > 0 && <AlsoOrganizations owned={owned} />}
        <TypedConfirmation
          {...confirmationOf(account)}
          cancel={accountPath(name)}
          button={isPurgeNeeded ? `Delete ${name} and everything` : `Delete the ${kind} ${name}`}
        />
      </Post>
    </Section>
  )
}

/** The box that deletes the organizations, too, with what they have. */
const AlsoOrganizations = ({ owned: { organizations, optional } }: { owned: Owned }) => (
  <>
    <Box name="purge" isChecked={useChosen('purge').includes('yes')}>
      Also delete what has no other owner: <Names accounts={organizations} />{' '}
      <span class="small">Without this, administrators manage it.</span>
    </Box>
    <p>
      {optional.kinds.length === 0
        ? 'Nothing is stored there.'
        : `This also deletes everything below, which frees ${freedText(optional.kinds)} more.`}
    </p>
    <WhatGoes contents={optional} isOpen />
  </>
)

const Names = ({ accounts }: { accounts: readonly Account[] }) => (
  <Joined parts={accounts.map(({ name }) => <Link to={accountPath(name)}>{name}</Link>)} />
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
    <RemovedKinds kinds={kinds} />
    {repositories.length > 0 && (
      <details open={isOpen}>
        <summary>By repository</summary>
        <RemovedTable head="Repository" items={repositories} />
        {more > 0 && <p class="small">And {formatCount(more, 'smaller one')}.</p>}
      </details>
    )}
  </>
)
