import { now } from '../../lib/clock.ts'
import type { Account, Visibility } from '../../lib/records/schema/index.ts'
import { copyUser, synchronizeAccount } from './accounts.ts'
import { Authors } from './authors.ts'
import { copyCollaborators } from './collaborators.ts'
import { copyGitData } from './git-data.ts'
import { copyIssues } from './issues.ts'
import { reportLeftBehind } from './left-behind.ts'
import { copyLfs } from './lfs.ts'
import {
  apiPath,
  each,
  eachOfSeveral,
  ifAvailable,
  isDeleted,
  type Migration,
  type MigrationOptions,
  reportErrors,
} from './migration.ts'
import { copyMembers, copyOrganization, usersOf } from './organizations.ts'
import { copyPackages } from './packages.ts'
import { copyQuota } from './quota.ts'
import { copyReleases } from './releases.ts'
import {
  type CopiedRepository,
  copyRepository,
  linkParent,
  repositoriesOf,
  restoreDates,
  synchronizeRepository,
} from './repositories.ts'
import { SourceOrganization, type SourceRepository, SourceUser } from './shapes.ts'
import type { Source } from './source.ts'
import type { TeamRights } from './team-rights.ts'
import { copyTeamRepositories, copyTeams } from './teams.ts'
import { copyEmails, copyKeys, copyRelations, removeUserData } from './user-data.ts'

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
  const { source } = options
  const migration = begin(options)
  const { users, organizations, owners } =
    names.length === 0 ? await selectAll(source) : await selectNamed(source, names)
  const logins = users.map(({ login }) => login)
  if (names.length === 0)
    await revokeDeletedAccounts(migration, [...logins, ...organizations.map(({ name }) => name)])
  await each('users', users, (user) => copyUser(migration, user))
  await each('organizations', organizations, (organization) => copyOrganization(migration, organization))
  await copyQuota(migration)
  const copied = await copyRepositories(migration, owners)
  // Before the contents: a right that the source has withdrawn must not give access to what is copied next.
  await each('teams', [...migration.teams], ([name, teams]) => copyTeamsOf(migration, name, teams))
  await eachOfSeveral('collaborators', copied, (one) => copyCollaborators(migration, one))
  await copyContents(migration, copied)
  await eachOfSeveral('packages', owners, ({ name }) => copyPackages(migration, name))
  await copyEmails(migration, logins)
  await each('keys', logins, (login) => copyKeys(migration, login))
  // Last, because they point to users and repositories that must exist.
  await each('follows, stars and watches', logins, (login) => copyRelations(migration, login))
}

const begin = (options: MigrationOptions): Migration => {
  const { hosting } = options.allot
  const history = hosting.migrated(options.source.base)
  const content = hosting.migratedContent(history)
  const authors = new Authors(hosting.accounts, content)
  return {
    ...options,
    history,
    content,
    authors,
    startedAt: now(),
    repositories: new Map(),
    teams: new Map(),
  }
}

/** What a migration copies. */
interface Selection {
  users: SourceUser[]
  organizations: SourceOrganization[]
  /** Accounts whose repositories are copied. */
  owners: Owner[]
}

export interface Owner {
  kind: Account['kind']
  name: string
  visibility: Visibility
}

export const selectAll = async (source: Source): Promise<Selection> => {
  const users = await source.list(SourceUser, '/admin/users')
  const organizations = await source.list(SourceOrganization, '/admin/orgs')
  return { users, organizations, owners: ownersIn(users, organizations) }
}

/** The members of a named organization are copied without their repositories. */
export const selectNamed = async (source: Source, names: readonly string[]): Promise<Selection> => {
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

/** A repository of the source, with the visibility of its owner there. */
interface OwnedRepository {
  readonly given: SourceRepository
  readonly visibility: Visibility
}

const copyRepositories = async (
  migration: Migration,
  owners: readonly Owner[],
): Promise<CopiedRepository[]> => {
  const found: OwnedRepository[] = []
  await each('lists of repositories', owners, async (owner) => {
    for (const given of await listRepositories(migration, owner))
      found.push({ given, visibility: owner.visibility })
  })
  const copied: CopiedRepository[] = []
  await eachOfSeveral('repositories', found, async ({ given, visibility }) => {
    const repository = await copyRepository(migration, given, visibility)
    if (repository !== undefined) copied.push(repository)
  })
  return copied
}

/**
 * The repositories of an owner. Those of an organization are copied only after its members: otherwise members here could do
 * more than at the source.
 */
const listRepositories = async (
  migration: Migration,
  { kind, name }: Owner,
): Promise<readonly SourceRepository[]> => {
  let found: readonly SourceRepository[] = []
  await reportErrors(migration.report, `the repositories of ${name}`, async () => {
    const repositories =
      kind === 'user'
        ? await repositoriesOf(migration.source, kind, name)
        : migration.repositories.get(name.toLowerCase())
    if (repositories === undefined) return
    await revokeDeletedRepositories(migration, name, repositories)
    found = repositories
  })
  return found
}

const copyTeamsOf = (
  migration: Migration,
  organization: string,
  teams: readonly TeamRights[],
): Promise<void> =>
  reportErrors(migration.report, `the teams of ${organization}`, async () => {
    const account = await migration.allot.hosting.accounts.byName(organization)
    if (account !== undefined) await copyTeamRepositories(migration, account, teams)
  })

/** Forks are linked to their parents after all repositories exist, and get their dates after everything that changes them. */
const copyContents = async (migration: Migration, copied: readonly CopiedRepository[]): Promise<void> => {
  await eachOfSeveral('git data', copied, (one) => copyGitData(migration, one))
  await eachOfSeveral('LFS objects', copied, (one) => copyLfs(migration, one))
  await eachOfSeveral('issues', copied, (one) => copyIssues(migration, one))
  await eachOfSeveral('releases', copied, (one) => copyReleases(migration, one))
  await eachOfSeveral('forks and dates', copied, async (one) => {
    await reportLeftBehind(migration, one)
    await linkParent(migration, one)
    await restoreDates(migration, one)
  })
}

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
  else {
    await copyTeams(migration, account, [])
    await copyMembers(migration, account, { owners: new Set(), members: new Set() })
  }
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
