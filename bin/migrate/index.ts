import type { Account, Visibility } from '../../lib/records/schema/index.ts'
import { copyUser, synchronizeAccount } from './accounts.ts'
import {
  apiPath,
  each,
  ifAvailable,
  type Migration,
  type MigrationOptions,
  reportErrors,
} from './migration.ts'
import { copyMembers, copyOrganization, usersOf } from './organizations.ts'
import { copyQuota } from './quota.ts'
import { copyRepository, repositoriesOf, synchronizeRepository } from './repositories.ts'
import { type Source, SourceOrganization, type SourceRepository, SourceUser } from './source.ts'
import { copyKeys, copyRelations, removeUserData } from './user-data.ts'

/**
 * Copies accounts, repositories, keys, relations and quota from the source, one thing after another, each completely or not
 * at all. It recognises what exists here by name, so running it again continues where a run ended, and changes nothing when
 * the run was complete and the source is the same.
 *
 * Invariant: a migration gives no more rights than the source gives at that time. It revokes what an earlier one gave and
 * the source has revoked since. What was given here by other means stays, and is reported.
 * @param names users and organizations to copy; none: everything
 */
export const migrate = async (options: MigrationOptions, names: readonly string[]): Promise<void> => {
  const { source, allot } = options
  const migration: Migration = {
    ...options,
    history: allot.hosting.migrated(source.base),
    repositories: new Map(),
  }
  const { users, organizations, owners } =
    names.length === 0 ? await selectAll(source) : await selectNamed(source, names)
  const logins = users.map(({ login }) => login)
  if (names.length === 0)
    await revokeDeletedAccounts(migration, [...logins, ...organizations.map(({ name }) => name)])
  await each('users', users, (user) => copyUser(migration, user))
  await each('organizations', organizations, (organization) =>
    copyOrganization(migration, organization, logins),
  )
  await copyQuota(migration)
  await each('repositories', owners, (owner) => copyRepositories(migration, owner))
  await each('keys', logins, (login) => copyKeys(migration, login))
  // Last, because they point to users and repositories that must exist.
  await each('follows, stars and watches', logins, (login) => copyRelations(migration, login))
}

/** What a migration copies. */
interface Selection {
  users: SourceUser[]
  organizations: SourceOrganization[]
  /** Accounts whose repositories are copied. */
  owners: Owner[]
}

interface Owner {
  kind: Account['kind']
  name: string
  visibility: Visibility
}

const selectAll = async (source: Source): Promise<Selection> => {
  const users = await source.list(SourceUser, '/admin/users')
  const organizations = await source.list(SourceOrganization, '/admin/orgs')
  return { users, organizations, owners: ownersIn(users, organizations) }
}

/** The members of a named organization are copied without their repositories. */
const selectNamed = async (source: Source, names: readonly string[]): Promise<Selection> => {
  const users = new Map<string, SourceUser>()
  const organizations: SourceOrganization[] = []
  const add = (user: SourceUser) => void users.set(user.login.toLowerCase(), user)
  for (const name of names) {
    const organization = await ifAvailable(source.get(SourceOrganization, apiPath('orgs', name)))
    if (organization !== undefined) {
      organizations.push(organization)
      continue
    }
    const user = await ifAvailable(source.get(SourceUser, apiPath('users', name)))
    if (user === undefined)
      throw new Error(`there is no user or organization named ${name} at ${source.base}`)
    add(user)
  }
  const owners = ownersIn([...users.values()], organizations)
  for (const { name } of organizations) (await usersOf(source, name))?.forEach(add)
  return { users: [...users.values()], organizations, owners }
}

const ownersIn = (users: readonly SourceUser[], organizations: readonly SourceOrganization[]): Owner[] => [
  ...users.map(({ login, visibility }) => ({ kind: 'user' as const, name: login, visibility })),
  ...organizations.map(({ name, visibility }) => ({ kind: 'organization' as const, name, visibility })),
]

/**
 * Repositories of an organization are copied only after its members: otherwise members here could do more than at the
 * source.
 */
const copyRepositories = (migration: Migration, { kind, name, visibility }: Owner): Promise<void> =>
  reportErrors(migration.report, `the repositories of ${name}`, async () => {
    const repositories =
      kind === 'user'
        ? await repositoriesOf(migration.source, kind, name)
        : migration.repositories.get(name.toLowerCase())
    if (repositories === undefined) return
    await revokeDeletedRepositories(migration, name, repositories)
    for (const repository of repositories) await copyRepository(migration, repository, visibility)
  })

/**
 * Revokes the rights of copied accounts that were deleted at the source. Nothing is deleted here, but only administrators
 * can use or see it any more.
 * @param names of all accounts at the source
 */
const revokeDeletedAccounts = async (migration: Migration, names: readonly string[]): Promise<void> => {
  const { history, allot, report } = migration
  const existing = new Set(names.map((name) => name.toLowerCase()))
  for (const record of await history.list('account')) {
    if (existing.has(record.name)) continue
    await reportErrors(report, `the account ${record.name}`, async () => {
      const account = await allot.hosting.accounts.byName(record.name)
      if (account === undefined || !record.ids.includes(account.id)) return history.remove([record])
      const path = account.kind === 'user' ? apiPath('users', record.name) : apiPath('orgs', record.name)
      if (await isDeleted(migration, path)) await revokeAccount(migration, account)
    })
  }
}

const revokeAccount = async (migration: Migration, account: Account): Promise<void> => {
  await synchronizeAccount(migration, account, [])
  await revokeDeletedRepositories(migration, account.name, [])
  if (account.kind === 'user') await removeUserData(migration, account)
  else await copyMembers(migration, account, { owners: new Set(), members: new Set() })
}

/**
 * Makes copied repositories that were deleted at the source private and archived.
 * @param repositories all repositories of the owner at the source
 */
const revokeDeletedRepositories = async (
  migration: Migration,
  ownerName: string,
  repositories: readonly SourceRepository[],
): Promise<void> => {
  const { history, allot, report } = migration
  const existing = new Set(repositories.map(({ name }) => name.toLowerCase()))
  const owner = await allot.hosting.accounts.byName(ownerName)
  if (owner === undefined) return
  for (const record of await history.list('repository', ownerName.toLowerCase())) {
    if (existing.has(record.name)) continue
    await reportErrors(report, `the repository ${owner.name}/${record.name}`, async () => {
      const [id] = record.ids
      const repository = id === undefined ? undefined : await allot.hosting.repositories.byId(id)
      if (repository === undefined || repository.owner !== owner.id) return history.remove([record])
      const path = apiPath('repos', ownerName, record.name)
      if (await isDeleted(migration, path))
        await synchronizeRepository(migration, owner, repository, [], record.name)
    })
  }
}

/** A list can lack something that exists, when another item was deleted between two of its pages: so ask again. */
const isDeleted = async ({ source }: Migration, path: string): Promise<boolean> => {
  const { status } = await source.request(path)
  return status === 404 || (status >= 300 && status < 400)
}
