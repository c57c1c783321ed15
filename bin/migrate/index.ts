import { now } from '../../lib/clock.ts'
import type { Account, Visibility } from '../../lib/records/schema/index.ts'
import { copyUser } from './accounts.ts'
import { copyCollaborators } from './collaborators.ts'
import { authorsOf } from './content/authors.ts'
import { copyGitData } from './content/git-data.ts'
import { copyIssues } from './content/issues.ts'
import { reportLeftBehind } from './content/left-behind.ts'
import { copyLfs } from './content/lfs.ts'
import { copyPackages } from './content/packages.ts'
import { copyReleases } from './content/releases.ts'
import { copyWebhooks } from './content/webhooks.ts'
import { giveCredentials } from './credentials.ts'
import { revokeDeletedAccounts, revokeDeletedRepositories } from './deleted.ts'
import { each, eachOfSeveral, type Migration, type MigrationOptions, reportErrors } from './migration.ts'
import { followAccountNames, followRepositoryNames } from './names/changes.ts'
import { type Named, Names, type Renames } from './names/index.ts'
import { checkRenamesAt, checkRenamesHere } from './names/renames.ts'
import { copyOrganization, usersOf } from './organizations.ts'
import { copyQuota } from './quota.ts'
import {
  type CopiedRepository,
  copyRepository,
  foundAll,
  linkParent,
  repositoriesOf,
  restoreDates,
} from './repositories.ts'
import { SourceOrganization, SourceUser } from './shapes.ts'
import type { Source } from './source.ts'
import { copyKeys, copyRelations } from './user-data.ts'

/**
 * Copies users, organizations and teams, repositories with their issues, releases and webhooks, packages,
 * keys, relations and quota from the source, kind by kind, and up to four things of a kind at a time. A thing
 * that fails is reported, and the rest goes on. Running it again continues where a run ended, and changes
 * nothing when the run was complete and the source is the same.
 *
 * Copies are found by the ids of the source ({@link Names}). Accounts and repositories without a copy are
 * looked for by name: a user or repository of that name that is not the copy of another one is treated as the
 * copy. An organization that was created here is refused, and so is an account of the other kind. Names are
 * never changed automatically: `--rename` chooses another one.
 *
 * A later run makes copies what the source has by then, and leaves what was created here. After a run with
 * `finish` there is none.
 *
 * Invariant: a copy gives no more rights than the source, at no moment: rights are withdrawn in the whole
 * migration before any is given.
 */
export const migrate = async (options: MigrationOptions, { all, selected }: Selected): Promise<void> => {
  const migration = await prepare(options, all)
  if ((await migration.migrationLog.list('finished')).length > 0) throw new Error(IS_FINISHED)
  await checkRenamesHere(migration)
  const isWhole = selected === all
  if (isWhole) await revokeDeletedAccounts(migration, named(all))
  await followAccountNames(migration, named(selected))
  const copied = await copyAll(migration, selected, isWhole)
  await widen(migration, isWhole)
  // After everything that changes them.
  for (const one of copied) await restoreDates(migration, one)
  if (options.finish && options.report.isComplete()) await migration.migrationLog.save([FINISHED])
  const logins = selected.users.map(({ login }) => login)
  if (options.credentials !== undefined) await giveCredentials(migration, options.credentials, logins)
}

/** Copies kind by kind, or compares when the migration has a comparison. */
export const copyAll = async (
  migration: Migration,
  { users, organizations, owners }: SelectedAccounts,
  isWhole: boolean,
): Promise<CopiedRepository[]> => {
  const logins = users.map(({ login }) => login)
  await each('users', users, (user) => copyUser(migration, user))
  await each('keys', logins, (login) => copyKeys(migration, login))
  await each('organizations', organizations, (organization) => copyOrganization(migration, organization))
  await copyQuota(migration)
  const copied = await copyRepositories(migration, owners)
  // Before the contents: a right that the source has withdrawn must not give access to what is copied next.
  await eachOfSeveral('collaborators', copied, (one) => copyCollaborators(migration, one))
  await each('members and teams', migration.giving, (give) => give())
  await copyContents(migration, copied)
  await copyWebhooks(migration, owners, copied, isWhole)
  await eachOfSeveral('packages', owners, (owner) => copyPackages(migration, owner))
  // Last, because they point to users and repositories that must exist.
  await each('follows, stars and watches', logins, (login) => copyRelations(migration, login))
  return copied
}

const NARROWER =
  'accounts and repositories that the source shows to more people, or gives more rights, than this server: a run of everything in which nothing fails follows it'

/**
 * Shows to more people what the source shows to more people, after all that it has withdrawn. A run of some
 * owners does not know all rights of an account.
 */
const widen = async (migration: Migration, isWhole: boolean): Promise<void> => {
  const { widening, report } = migration
  const isComplete = report.isComplete()
  for (const { kind, label, run } of widening)
    if (isComplete && (isWhole || kind === 'repository')) await reportErrors(report, label, run)
    else report.note('differs', NARROWER, label)
}

const FINISHED = { kind: 'finished', scope: '', name: '' } as const
const IS_FINISHED =
  'the migration from this source was finished with --finish: another run would overwrite what was changed here since'

/** @param accounts all users and organizations of the source */
export const prepare = async (options: MigrationOptions, accounts: SourceAccounts): Promise<Migration> => {
  const { hosting } = options.allot
  const migrationLog = hosting.migrationLog(options.source.base)
  const content = hosting.migratedContent(migrationLog)
  const renames = options.renames ?? new Map()
  const names = await Names.load({ migrationLog, hosting, renames }, named(accounts))
  return {
    ...options,
    migrationLog,
    content,
    packages: hosting.migratedPackages(migrationLog),
    names,
    authors: authorsOf(names, options.comparison === undefined ? () => content.ghost() : async () => 0),
    startedAt: now(),
    found: [],
    listed: new Set(),
    teams: new Map(),
    giving: [],
    widening: [],
  }
}

interface SourceAccounts {
  users: SourceUser[]
  organizations: SourceOrganization[]
}

/** The accounts that a migration copies. */
interface SelectedAccounts extends SourceAccounts {
  /** Accounts whose repositories are copied. */
  owners: Owner[]
}

interface Owner {
  kind: Account['kind']
  name: string
  visibility: Visibility
}

/** The accounts of the source, and those that are copied or compared. */
export interface Selected {
  readonly all: SelectedAccounts
  /** `all` itself: everything. */
  readonly selected: SelectedAccounts
}

/**
 * Reads the accounts of the source. It needs no store, so that a wrong name is noticed before one is created.
 * @param names users and organizations to select; none: everything
 * @throws Error when the source does not have a name, or a name of `renames` is not possible there
 */
export const select = async (
  source: Source,
  names: readonly string[],
  renames: Renames = new Map(),
): Promise<Selected> => {
  const all = await selectAll(source)
  await checkRenamesAt(source, renames, named(all))
  return { all, selected: names.length === 0 ? all : await selectNamed(source, all, names) }
}

/** The accounts of a server. */
export const selectAll = async (source: Source): Promise<SelectedAccounts> => {
  const users = await source.list(SourceUser, '/admin/users')
  const organizations = await source.list(SourceOrganization, '/admin/orgs')
  return { users, organizations, owners: ownersIn(users, organizations) }
}

/** Users and organizations together. */
export const named = ({ users, organizations }: SourceAccounts): Named[] => [
  ...users.map(({ id, login: name }) => ({ id, name })),
  ...organizations.map(({ id, name }) => ({ id, name })),
]

/** The members of a named organization are copied without their repositories. */
const selectNamed = async (
  source: Source,
  all: SelectedAccounts,
  names: readonly string[],
): Promise<SelectedAccounts> => {
  const wanted = new Set(names.map((name) => name.toLowerCase()))
  const known = new Set(all.owners.map(({ name }) => name.toLowerCase()))
  const unknown = names.find((name) => !known.has(name.toLowerCase()))
  if (unknown !== undefined)
    throw new Error(`there is no user or organization named ${unknown} at ${source.base}`)
  const owners = all.owners.filter(({ name }) => wanted.has(name.toLowerCase()))
  const organizations = all.organizations.filter(({ name }) => wanted.has(name.toLowerCase()))
  for (const { name } of organizations)
    for (const { login } of (await usersOf(source, name)) ?? []) wanted.add(login.toLowerCase())
  return { users: all.users.filter(({ login }) => wanted.has(login.toLowerCase())), organizations, owners }
}

const ownersIn = (users: readonly SourceUser[], organizations: readonly SourceOrganization[]): Owner[] => [
  ...users.map(({ login, visibility }) => ({ kind: 'user' as const, name: login, visibility })),
  ...organizations.map(({ name, visibility }) => ({ kind: 'organization' as const, name, visibility })),
]

const copyRepositories = async (
  migration: Migration,
  owners: readonly Owner[],
): Promise<CopiedRepository[]> => {
  const { found, report, source } = migration
  const users = owners.filter(({ kind }) => kind === 'user')
  await each('lists of repositories', users, ({ name, ...owner }) =>
    reportErrors(report, `the repositories of ${name}`, async () =>
      foundAll(migration, owner, name, await repositoriesOf(source, 'user', name)),
    ),
  )
  if (migration.comparison === undefined) {
    await followRepositoryNames(migration, found)
    await revokeDeletedRepositories(migration)
  }
  const copied: CopiedRepository[] = []
  await eachOfSeveral('repositories', found, async ({ given, visibility }) => {
    const repository = await copyRepository(migration, given, visibility)
    if (repository !== undefined) copied.push(repository)
  })
  return copied
}

/**
 * Forks are linked to their parents after all repositories exist.
 */
const copyContents = async (migration: Migration, copied: readonly CopiedRepository[]): Promise<void> => {
  if (migration.comparison === undefined) {
    await eachOfSeveral('git data', copied, (one) => copyGitData(migration, one))
    await eachOfSeveral('LFS objects', copied, (one) => copyLfs(migration, one))
  }
  await eachOfSeveral('issues', copied, (one) => copyIssues(migration, one))
  await eachOfSeveral('releases', copied, (one) => copyReleases(migration, one))
  await eachOfSeveral('forks', copied, async (one) => {
    if (migration.comparison === undefined) await reportLeftBehind(migration, one)
    await linkParent(migration, one)
  })
}
