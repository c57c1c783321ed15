/**
 * Asks before an account is deleted: what must go first, or what goes with it, what that frees, and what
 * stays elsewhere.
 */
import type { Identity } from '../../accounts/access.ts'
import type { Account } from '../../records/schema/index.ts'
import { accountPath, formatCount, Link, Notice, PageHead, Post, Section } from '../parts/components.tsx'
import { type Confirmation, TypedConfirmation } from '../parts/confirmation.tsx'
import { Box, useChosen } from '../parts/fields.tsx'
import { Table } from '../parts/list.tsx'
import type { PageServices, View } from '../parts/route.ts'
import {
  freedColumns,
  freedText,
  RemovalNotes,
  RemovedRepository,
  RemovedRows,
} from '../storage/removed-kinds.tsx'
import { type Contents, type Owned, ownedBy } from './account-contents.ts'
import { CRUMBS } from './account-views.tsx'
import { adminView } from './form.tsx'

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
      <Table columns={freedColumns('Kind')}>
        <RemovedRows kinds={kinds} listOf={undefined} />
      </Table>
    )}
    <RemovalNotes kinds={kinds} />
    {repositories.length > 0 && (
      <details open={isOpen}>
        <summary>By repository</summary>
        <Table columns={freedColumns('Repository')}>
          {repositories.map((repository) => (
            <RemovedRepository key={repository.id} {...repository} />
          ))}
        </Table>
        {more > 0 && <p class="small">And {formatCount(more, 'smaller one')}.</p>}
      </details>
    )}
  </>
)
