import { invalid } from '../../lib/errors.ts'
import { type Account, audienceOf } from '../../lib/records/schema/index.ts'
import {
  audienceGrants,
  followAccount,
  freeName,
  isOfKind,
  newRecord,
  profileAt,
  synchronizeAccount,
  visibilityAt,
} from './accounts.ts'
import { GRANTS } from './grants.ts'
import { apiPath, ifAvailable, type Migration, OPERATOR, reportErrors, withAdminRights } from './migration.ts'
import { repositoriesOf } from './repositories.ts'
import { type SourceOrganization, SourceUser } from './shapes.ts'
import type { Source } from './source.ts'
import { type ExistenceSubject, isCopy, synchronize, synchronizeGrants } from './synchronize.ts'
import { copyTeams } from './teams/index.ts'
import { type TeamRights, teamRights } from './teams/rights.ts'

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
 * Copies an organization and its members. `migration.repositories` gets its repositories only when this has
 * succeeded, as they were when the rights of the members were compared.
 */
export const copyOrganization = (migration: Migration, organization: SourceOrganization): Promise<void> =>
  reportErrors(migration.report, `the organization ${organization.name}`, async () => {
    const { source } = migration
    const { name } = organization
    const repositories = await repositoriesOf(source, 'organization', name)
    const teams = await teamRights(source, name, repositories)
    const rights = await memberRights(source, name, teams)
    const account = await accountFor(migration, organization, rights.owners)
    await followAccount(migration, account, organization, name)
    if (organization.email !== '')
      migration.report.note('notCopied', EMAIL, `${organization.email} of ${name}`)
    await copyMembers(migration, account, rights)
    await copyTeams(
      migration,
      account,
      teams.filter(({ isOwners }) => !isOwners),
    )
    await copyPublicMembers(migration, account, name)
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
  const { source, allot, report, migrationLog, names } = migration
  const { accounts } = allot.hosting
  const existing = await names.accountOf(organization.name)
  if (!isOfKind(existing, 'organization')) return createOrganization(migration, organization, owners)
  const known = await migrationLog.get('account', '', names.key(organization.name))
  const isCopied = known !== undefined && (known.copy === undefined || known.copy.id === existing.id)
  if (!isCopied) throw invalid(CREATED_HERE)
  report.count('organizations', 'found')
  await synchronizeAccount(migration, existing, grantsAt(source, organization))
  return (await accounts.byId(existing.id)) ?? existing
}

const grantsAt = (source: Source, { visibility }: SourceOrganization) =>
  audienceGrants(audienceOf[visibilityAt(source, visibility)])

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
    await migrationLog.save([
      { kind: 'membership', scope: record.name, name: names.keyHere(owner), grants: [] },
    ])
  const { id } = await allot.hosting.organizations.create(
    owner?.id,
    { name, ...profileAt(source, organization) },
    OPERATOR,
  )
  const created = (await allot.hosting.accounts.byId(id))!
  await migrationLog.save([{ ...record, copy: { id }, grants: grantsAt(source, organization) }])
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

/**
 * Copied memberships follow the source, to more rights and to fewer. Memberships that were created here stay.
 */
export const copyMembers = async (
  migration: Migration,
  organization: Account,
  { owners, members }: MemberRights,
): Promise<void> => {
  const { allot, report, names } = migration
  const { organizations } = allot.hosting
  const memberships = membershipsOf(migration, organization)
  const wanted = [...members].map((login) => ({
    name: names.key(login),
    label: login,
    grants: owners.has(login) ? [GRANTS.owner] : [],
    async create() {
      const member = await names.accountOf(login)
      const isUser = member?.kind === 'user'
      if (isUser) await organizations.setMember(organization.id, member.id, { owner: owners.has(login) })
      else report.note('notCopied', NOT_HERE, `${login} of ${organization.name}`)
      return isUser
    },
  }))
  await synchronize(migration, memberships, wanted)
  for (const login of members)
    await synchronizeOwnership(migration, organization, memberships, login, owners.has(login))
}

const synchronizeOwnership = async (
  migration: Migration,
  organization: Account,
  { kind, scope, find }: ExistenceSubject,
  login: string,
  isOwnerAtSource: boolean,
): Promise<void> => {
  const { migrationLog, allot, names } = migration
  const { organizations } = allot.hosting
  const name = names.key(login)
  const copy = await find(name)
  if (copy?.to === undefined) return
  const [{ id }, member] = [organization, copy.to]
  const isOwner = await organizations.isOwner(id, member)
  const known = await migrationLog.get(kind, scope, name)
  const isCopied = isCopy(known, copy)
  // The member became an owner at the source after the membership was copied.
  if (isCopied && isOwnerAtSource && !isOwner && !known.grants.includes(GRANTS.owner)) {
    await organizations.setMember(id, member, { owner: true })
    return migrationLog.save([{ ...known, grants: [GRANTS.owner] }])
  }
  const subject = { kind, scope, name, copy, label: `${login} (${organization.name})` }
  const [here, source] = [isOwner ? [GRANTS.owner] : [], isOwnerAtSource ? [GRANTS.owner] : []]
  await synchronizeGrants(migration, { ...subject, here, source }, () =>
    organizations.setMember(id, member, { owner: false, viewer: OPERATOR }),
  )
}

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
  const ends = (key: string) => names.ends(organization.id, key)
  const things: ExistenceSubject = {
    kind: 'publicMember',
    scope: names.keyHere(organization),
    ends,
    async find(key) {
      const login = await names.loginHere(key)
      return (await memberships.isPublic(OPERATOR, organization.name, login)) ? ends(key) : undefined
    },
    remove: async (key) => void (await setPublic(key, false)),
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
const membershipsOf = ({ allot, names }: Migration, organization: Account): ExistenceSubject => {
  const { organizations, teams } = allot.hosting
  const ends = (key: string) => names.ends(organization.id, key, 'user')
  return {
    kind: 'membership',
    scope: names.keyHere(organization),
    ends,
    async find(key) {
      const found = await ends(key)
      const isFull = found !== undefined && (await organizations.isFullMember(found.of, found.to))
      return isFull ? found : undefined
    },
    async remove(key, { of: id, to: member }) {
      // A former owner keeps the rights of teams.
      const wasOwner = await teams.removeMember(OPERATOR, id!, await names.loginHere(key))
      if (!wasOwner) await organizations.removeMember(id!, member!, { viewer: OPERATOR })
    },
  }
}
