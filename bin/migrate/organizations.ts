import { invalid } from '../../lib/errors.ts'
import type { Account } from '../../lib/records/schema/index.ts'
import { createCopy, followAccount, isOfKind, profileAt } from './accounts.ts'
import { Copies } from './copies.ts'
import { followLinks, type LinkedThings } from './links.ts'
import { apiPath, ifAvailable, type Migration, OPERATOR, reportErrors, withAdminRights } from './migration.ts'
import { foundAll, repositoriesOf } from './repositories.ts'
import { SourceLogin, type SourceOrganization } from './shapes.ts'
import type { Source } from './source.ts'
import { giveTeams, withdrawTeams } from './teams/index.ts'
import { type TeamRights, teamRights } from './teams/rights.ts'
import type { Item } from './things.ts'

const NO_OWNER =
  'organizations without an owner, because their owners do not exist here: administrators manage them'
const NOT_HERE = 'members who do not exist here'
const NOT_MEMBER = 'public memberships of those who are not members here'
const EMAIL = 'email addresses of organizations'
const CREATED_HERE = 'an organization of this name was created here, so nothing is copied into it'

/** All members, in whatever team; undefined when the source doesn't show them. */
export const usersOf = (source: Source, organization: string): Promise<SourceLogin[] | undefined> =>
  ifAvailable(source.list(SourceLogin, apiPath('orgs', organization, 'members')))

/**
 * Copies an organization, and takes from members and teams what the source has withdrawn; `migration.giving`
 * gives them the rest. `migration.found` gets its repositories only when this has succeeded, as they were
 * when the rights of the members were compared.
 */
export const copyOrganization = (migration: Migration, organization: SourceOrganization): Promise<void> =>
  reportErrors(migration.report, `the organization ${organization.name}`, async () => {
    const { source, names, report } = migration
    const { name } = organization
    const repositories = await repositoriesOf(source, 'organization', name)
    const teams = await teamRights(source, name, repositories)
    const rights = await memberRights(source, name, teams)
    const account = await accountFor(migration, organization, rights.owners)
    if (account === undefined) return
    if (organization.email !== '') report.note('notCopied', EMAIL, `${organization.email} of ${name}`)
    const ownerKeys = new Set([...rights.owners].map((login) => names.key(login)))
    const memberships = membershipsOf(migration, account, ownerKeys)
    const members = membersIn(migration, account, memberships, rights)
    const others = teams.filter(({ isOwners }) => !isOwners)
    await new Copies(migration, memberships).withdraw(members)
    await withdrawTeams(migration, account, others)
    migration.giving.push(() =>
      reportErrors(report, `the organization ${name}`, async () => {
        await new Copies(migration, memberships).give(members)
        await giveTeams(migration, account, others)
        await copyPublicMembers(migration, account, name)
      }),
    )
    foundAll(migration, organization, name, repositories)
    migration.teams.set(name.toLowerCase(), teams)
  })

/**
 * Members of an organization, besides those who have only the rights of their teams. Names are in lower case.
 */
interface MemberRights {
  owners: ReadonlySet<string>
  /** Includes the owners. */
  members: ReadonlySet<string>
}

/** Only at an Allot there are members who are in no team: they may do what members here may. */
const memberRights = async (
  source: Source,
  organization: string,
  teams: readonly TeamRights[],
): Promise<MemberRights> => {
  const owners = new Set(teams.filter(({ isOwners }) => isOwners).flatMap(({ users }) => [...users]))
  if (!source.isAllot) return { owners, members: owners }
  const inTeams = new Set(teams.flatMap(({ users }) => [...users]))
  const all = (await usersOf(source, organization)) ?? []
  const others = all.map(({ login }) => login.toLowerCase()).filter((login) => !inTeams.has(login))
  return { owners, members: new Set([...owners, ...others]) }
}

/**
 * @returns undefined when there is none to compare
 * @throws AllotError invalid when the organization was created here: its members here have no rights at the
 * source
 */
const accountFor = async (
  migration: Migration,
  organization: SourceOrganization,
  owners: MemberRights['owners'],
): Promise<Account | undefined> => {
  const { source, report, migrationLog, names, comparison } = migration
  const existing = await names.accountOf(organization.name)
  const isFound = isOfKind(existing, 'organization')
  const known = await migrationLog.get('account', '', names.key(organization.name))
  const isCopied = known !== undefined && (known.copy === undefined || known.copy.id === existing?.id)
  if (isFound && !isCopied) throw invalid(CREATED_HERE)
  if (!isFound && comparison !== undefined) return void comparison.missing('organization', organization.name)
  const account = isFound ? existing : await createOrganization(migration, organization, owners)
  const outcome = await followAccount(migration, account, profileAt(source, organization), organization.name)
  if (isFound) report.count('organizations', outcome)
  return account
}

/**
 * The first of the source's owners who exists here becomes the owner; otherwise the organization has none.
 */
const createOrganization = (
  migration: Migration,
  organization: SourceOrganization,
  owners: MemberRights['owners'],
): Promise<Account> =>
  createCopy(migration, organization, 'organizations', async (name, key) => {
    const { source, allot, report, migrationLog, names } = migration
    const found = await Promise.all([...owners].map((login) => names.userWithKey(names.key(login))))
    const owner = found.find((user) => user !== undefined)
    if (owner === undefined) report.note('notCopied', NO_OWNER, organization.name)
    else await migrationLog.save([{ kind: 'membership', scope: key, name: names.keyHere(owner) }])
    const wanted = { name, ...profileAt(source, organization) }
    const { id } = await allot.hosting.organizations.create(owner?.id, wanted, OPERATOR)
    return (await allot.hosting.accounts.byId(id))!
  })

const membersIn = (
  { allot, names }: Migration,
  organization: Account,
  memberships: LinkedThings,
  { owners, members }: MemberRights,
): Item[] =>
  [...members].map((login) => {
    const owner = owners.has(login)
    return memberships.itemFor(names.key(login), login, {
      values: { owner },
      rightsOnBothSides: (here) => ({ owner: owner && here.owner === true }),
      edit: ({ to }, edit) =>
        allot.hosting.organizations.setMember(organization.id, to!, { ...edit, viewer: OPERATOR }),
    })
  })

/**
 * Publishes the memberships that their users have published at the source, and hides those that they have
 * hidden since.
 */
const copyPublicMembers = async (
  migration: Migration,
  organization: Account,
  name: string,
): Promise<void> => {
  const { source, names, allot } = migration
  const { memberships, organizations } = allot.hosting
  const path = apiPath('orgs', name, 'public_members')
  const listed = await ifAvailable(source.list(SourceLogin, path))
  if (listed === undefined) return
  const setPublic = ({ id, name: login }: Account, isPublic: boolean) =>
    memberships.setPublic(withAdminRights(id), organization.name, login, isPublic)
  const things = followLinks<Account>(migration, {
    kind: 'publicMember',
    scope: names.keyHere(organization),
    of: organization.id,
    within: name,
    async withKey(key) {
      const account = await names.accountWithKey(key)
      const isMember = account && (await organizations.hasMember(OPERATOR, organization.name, account.name))
      return isMember ? account : undefined
    },
    all: (slice) => memberships.list(OPERATOR, organization.name, slice),
    has: ({ name: login }) => memberships.isPublic(OPERATOR, organization.name, login),
    add: (member) => setPublic(member, true),
    remove: (member) => setPublic(member, false),
    notHere: (label) => [NOT_MEMBER, `${label} of ${name}`],
  })
  const items: Item[] = []
  // A Gitea lists all members to an administrator.
  for (const { login } of listed)
    if (await source.has(path + apiPath(login))) items.push(things.itemFor(names.key(login), login))
  await new Copies(migration, things).synchronize(items)
}

/**
 * Memberships of owners, and of others who have not only the rights of teams.
 * @param owners keys of those who are created as owners
 */
export const membershipsOf = (
  migration: Migration,
  organization: Account,
  owners: ReadonlySet<string> = new Set(),
): LinkedThings => {
  const { allot, names } = migration
  const { organizations, teams, memberships } = allot.hosting
  const { id, name } = organization
  return followLinks<Account>(migration, {
    kind: 'membership',
    scope: names.keyHere(organization),
    of: id,
    within: name,
    withKey: (key) => names.userWithKey(key),
    all: (slice) => memberships.list(OPERATOR, name, slice),
    has: (member) => organizations.isFullMember(id, member.id),
    members: async ({ to }) => ({ owner: await organizations.isOwner(id, to!) }),
    add: (member) => organizations.setMember(id, member.id, { owner: owners.has(names.keyHere(member)) }),
    async remove(member) {
      // A former owner keeps the rights of teams.
      const wasOwner = await teams.removeMember(OPERATOR, id, member.name)
      if (!wasOwner) await organizations.removeMember(id, member.id, { viewer: OPERATOR })
    },
    notHere: (label) => [NOT_HERE, `${label} of ${name}`],
  })
}
