import { invalid } from '../../lib/errors.ts'
import type { Account } from '../../lib/records/schema/index.ts'
import { copiedAs, followAccount, freeName, isOfKind, newRecord, profileAt } from './accounts.ts'
import { give, synchronize, withdraw } from './copies.ts'
import { apiPath, ifAvailable, type Migration, OPERATOR, reportErrors, withAdminRights } from './migration.ts'
import { repositoriesOf } from './repositories.ts'
import { type SourceOrganization, SourceUser } from './shapes.ts'
import type { Source } from './source.ts'
import { giveTeams, withdrawTeams } from './teams/index.ts'
import { type TeamRights, teamRights } from './teams/rights.ts'
import type { Item, Things } from './things.ts'

const NO_OWNER =
  'organizations without an owner, because their owners do not exist here: administrators manage them'
const NOT_HERE = 'members who do not exist here'
const NOT_MEMBER = 'public memberships of those who are not members here'
const EMAIL = 'email addresses of organizations'
const CREATED_HERE = 'an organization of this name was created here, so nothing is copied into it'

/** All members, in whatever team; undefined when the source doesn't show them. */
export const usersOf = (source: Source, organization: string): Promise<SourceUser[] | undefined> =>
  ifAvailable(source.list(SourceUser, apiPath('orgs', organization, 'members')))

/**
 * Copies an organization, and takes from members and teams what the source has withdrawn; `migration.giving`
 * gives them the rest. `migration.repositories` gets its repositories only when this has succeeded, as they
 * were when the rights of the members were compared.
 */
export const copyOrganization = (migration: Migration, organization: SourceOrganization): Promise<void> =>
  reportErrors(migration.report, `the organization ${organization.name}`, async () => {
    const { source, names, report } = migration
    const { name } = organization
    const repositories = await repositoriesOf(source, 'organization', name)
    for (const { owner, name, id } of repositories) names.repositoryKey(owner.login, name, id)
    const teams = await teamRights(source, name, repositories)
    const rights = await memberRights(source, name, teams)
    const account = await accountFor(migration, organization, rights.owners)
    if (organization.email !== '') report.note('notCopied', EMAIL, `${organization.email} of ${name}`)
    const members = membersIn(migration, account, rights)
    const others = teams.filter(({ isOwners }) => !isOwners)
    await withdraw(migration, membershipsOf(migration, account), members)
    await withdrawTeams(migration, account, others)
    migration.giving.push(() =>
      reportErrors(report, `the organization ${name}`, async () => {
        await give(migration, membershipsOf(migration, account), members)
        await giveTeams(migration, account, others)
        await copyPublicMembers(migration, account, name)
      }),
    )
    migration.repositories.set(name.toLowerCase(), repositories)
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
 * @throws AllotError invalid when the organization was created here: its members here have no rights at the
 * source
 */
const accountFor = async (
  migration: Migration,
  organization: SourceOrganization,
  owners: MemberRights['owners'],
): Promise<Account> => {
  const { source, report, migrationLog, names } = migration
  const existing = await names.accountOf(organization.name)
  const isFound = isOfKind(existing, 'organization')
  const known = await migrationLog.get('account', '', names.key(organization.name))
  const isCopied = known !== undefined && (known.copy === undefined || known.copy.id === existing?.id)
  if (isFound && !isCopied) throw invalid(CREATED_HERE)
  const account = isFound ? existing : await createOrganization(migration, organization, owners)
  const outcome = await followAccount(migration, account, profileAt(source, organization), organization.name)
  if (isFound) report.count('organizations', outcome)
  return account
}

/**
 * The first of the source's owners who exists here becomes the owner; otherwise the organization has none.
 */
const createOrganization = async (
  migration: Migration,
  organization: SourceOrganization,
  owners: MemberRights['owners'],
): Promise<Account> => {
  const { source, allot, report, migrationLog, names } = migration
  const name = await freeName(migration, organization.name)
  const record = newRecord(migration, organization)
  await migrationLog.save([record])
  const owner = await firstOwner(migration, owners)
  if (owner !== undefined)
    await migrationLog.save([{ kind: 'membership', scope: record.name, name: names.keyHere(owner) }])
  const { id } = await allot.hosting.organizations.create(
    owner?.id,
    { name, ...profileAt(source, organization) },
    OPERATOR,
  )
  const created = (await allot.hosting.accounts.byId(id))!
  await migrationLog.save([copiedAs(record, created)])
  names.created(created, record.name)
  report.count('organizations', 'copied')
  if (owner === undefined) report.note('notCopied', NO_OWNER, organization.name)
  return created
}

const firstOwner = async (
  { names }: Migration,
  owners: MemberRights['owners'],
): Promise<Account | undefined> => {
  for (const login of owners) {
    const account = await names.accountOf(login)
    if (account?.kind === 'user') return account
  }
  return undefined
}

const membersIn = (
  { allot, report, names }: Migration,
  organization: Account,
  { owners, members }: MemberRights,
): Item[] =>
  [...members].map((login) => {
    const owner = owners.has(login)
    return {
      ...{ name: names.key(login), label: login, values: { owner } },
      narrowed: (here) => ({ owner: owner && here.owner === true }),
      rights: (values) => (values.owner === true ? ['owner'] : []),
      async create() {
        const member = await names.accountOf(login)
        const isUser = member?.kind === 'user'
        if (isUser) await allot.hosting.organizations.setMember(organization.id, member.id, { owner })
        else report.note('notCopied', NOT_HERE, `${login} of ${organization.name}`)
        return isUser
      },
      edit: ({ to }, edit) =>
        allot.hosting.organizations.setMember(organization.id, to!, { ...edit, viewer: OPERATOR }),
    }
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
  const { source, names, report, allot } = migration
  const { memberships } = allot.hosting
  const listed = await ifAvailable(source.list(SourceUser, apiPath('orgs', name, 'public_members')))
  if (listed === undefined) return
  const setPublic = async (key: string, isPublic: boolean): Promise<boolean> => {
    const member = await names.accountWithKey(key)
    if (member === undefined) return false
    return memberships.setPublic(withAdminRights(member.id), organization.name, member.name, isPublic)
  }
  const things: Things = {
    kind: 'publicMember',
    scope: names.keyHere(organization),
    async find(key) {
      const login = await names.loginHere(key)
      const isPublic = await memberships.isPublic(OPERATOR, organization.name, login)
      return isPublic ? names.ends(organization.id, key) : undefined
    },
    remove: (key) => setPublic(key, false),
  }
  const wanted = listed.map(({ login }) => ({
    name: names.key(login),
    label: login,
    async create() {
      const isMember = await setPublic(names.key(login), true)
      if (!isMember) report.note('notCopied', NOT_MEMBER, `${login} of ${name}`)
      return isMember
    },
  }))
  await synchronize(migration, things, wanted)
}

/** Memberships of owners, and of others who have not only the rights of teams. */
export const membershipsOf = ({ allot, names }: Migration, organization: Account): Things => {
  const { organizations, teams } = allot.hosting
  return {
    kind: 'membership',
    scope: names.keyHere(organization),
    async find(key) {
      const found = await names.ends(organization.id, key, 'user')
      const isFull = found !== undefined && (await organizations.isFullMember(found.of, found.to))
      return isFull ? found : undefined
    },
    members: async ({ to }) => ({ owner: await organizations.isOwner(organization.id, to!) }),
    async remove(key, { of: id, to: member }) {
      // A former owner keeps the rights of teams.
      const wasOwner = await teams.removeMember(OPERATOR, id!, await names.loginHere(key))
      if (!wasOwner) await organizations.removeMember(id!, member!, { viewer: OPERATOR })
    },
  }
}
