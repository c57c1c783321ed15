import { invalid } from '../../lib/errors.ts'
import { type Account, audienceOf } from '../../lib/records/schema/index.ts'
import {
  audienceGrants,
  followAccount,
  isOfKind,
  profileAt,
  synchronizeAccount,
  visibilityAt,
} from './accounts.ts'
import { apiPath, asOperator, ifAvailable, type Migration, reportErrors } from './migration.ts'
import { repositoriesOf } from './repositories.ts'
import { type SourceOrganization, SourceUser } from './shapes.ts'
import { type Source, SourceError } from './source.ts'
import { synchronize, synchronizeGrants, type Things } from './synchronize.ts'
import { type MemberRights, teamRights } from './team-rights.ts'

const NO_OWNER =
  'organizations without an owner, because their owners do not exist here: administrators manage them'
const LEFT_OUT =
  'members who may do less at the source than a member here, who writes to every repository and creates new ones, or whose rights the source does not show'
const NOT_HERE = 'members who do not exist here'
const TEAMS = 'teams: a member here is an owner, or writes to every repository'
const CREATED_HERE = 'an organization of this name was created here, so nothing is copied into it'

/** The right of an owner. The history stores this text, so it must not change. */
const OWNER = 'the organization is owned'

/** All members, in whatever team; undefined when the source doesn't show them. */
export const usersOf = (source: Source, organization: string): Promise<SourceUser[] | undefined> =>
  ifAvailable(source.list(SourceUser, apiPath('orgs', organization, 'members')))

/**
 * Copies an organization and its members. `migration.repositories` gets its repositories only when this has succeeded, as
 * they were when the rights of the members were compared.
 * @param users names of the possible members, for an Allot, which has no teams
 */
export const copyOrganization = (
  migration: Migration,
  organization: SourceOrganization,
  users: readonly string[],
): Promise<void> =>
  reportErrors(migration.report, `the organization ${organization.name}`, async () => {
    const { source, report } = migration
    const { name } = organization
    const repositories = await repositoriesOf(source, 'organization', name)
    const rights = source.isAllot
      ? await allotRights(source, name, users)
      : await teamRights(source, name, repositories)
    const account = await accountFor(migration, organization, rights.owners)
    await followAccount(migration, account, organization)
    await copyMembers(migration, account, rights)
    for (const login of rights.leftOut) report.note('leftOut', LEFT_OUT, `${login} of ${name}`)
    migration.repositories.set(name.toLowerCase(), repositories)
  })

/** Members of an organization of an Allot have the same rights here. */
const allotRights = async (
  source: Source,
  organization: string,
  users: readonly string[],
): Promise<MemberRights> => {
  const members = new Set<string>()
  for (const login of users) {
    const path = apiPath('orgs', organization, 'members', login)
    const { status } = await source.request(path)
    if (status >= 300 && status !== 404) throw new SourceError(status, `${path} answered ${status}`)
    if (status !== 404) members.add(login.toLowerCase())
  }
  return { owners: new Set(), members, leftOut: [] }
}

/** @throws AllotError invalid when the organization was created here: its members here have no rights at the source */
const accountFor = async (
  migration: Migration,
  organization: SourceOrganization,
  owners: MemberRights['owners'],
): Promise<Account> => {
  const { source, allot, report, history } = migration
  const { accounts } = allot.hosting
  const name = organization.name.toLowerCase()
  const existing = await accounts.byName(name)
  if (!isOfKind(existing, 'organization')) return createOrganization(migration, organization, owners)
  const known = await history.get('account', '', name)
  const isCopied = known !== undefined && (known.ids.length === 0 || known.ids.includes(existing.id))
  if (!isCopied) throw invalid(CREATED_HERE)
  report.count('organizations', 'found')
  await synchronizeAccount(migration, existing, grantsAt(source, organization))
  return (await accounts.byId(existing.id)) ?? existing
}

const grantsAt = (source: Source, { visibility }: SourceOrganization): string[] =>
  audienceGrants(audienceOf[visibilityAt(source, visibility)])

/** The first of the source's owners who exists here becomes the owner; otherwise the organization has none. */
const createOrganization = async (
  { source, allot, report, history }: Migration,
  organization: SourceOrganization,
  owners: MemberRights['owners'],
): Promise<Account> => {
  const { accounts, organizations } = allot.hosting
  const { name } = organization
  const scope = name.toLowerCase()
  const record = { kind: 'account', scope: '', name: scope, ids: [], grants: [] } as const
  await history.save([record])
  let owner: Account | undefined
  for (const login of owners) {
    const account = await accounts.byName(login)
    if (account?.kind === 'user') owner ??= account
  }
  if (owner !== undefined)
    await history.save([{ kind: 'membership', scope, name: owner.name.toLowerCase(), ids: [], grants: [] }])
  const { id } = await organizations.create(owner?.id, { name, ...profileAt(source, organization) })
  await history.save([{ ...record, ids: [id], grants: grantsAt(source, organization) }])
  report.count('organizations', 'copied')
  if (owner === undefined) report.note('notCopied', NO_OWNER, name)
  report.note('notCopied', TEAMS, name)
  return (await accounts.byId(id))!
}

/** Copied memberships follow the source, to more rights and to fewer. Memberships that were created here stay. */
export const copyMembers = async (
  migration: Migration,
  organization: Account,
  { owners, members }: Pick<MemberRights, 'owners' | 'members'>,
): Promise<void> => {
  const { allot, report } = migration
  const { accounts, organizations } = allot.hosting
  const memberships = membershipsOf(migration, organization)
  const wanted = [...members].map((login) => ({
    name: login,
    label: login,
    grants: owners.has(login) ? [OWNER] : [],
    async create() {
      const member = await accounts.byName(login)
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
  { kind, scope, find }: Things,
  login: string,
  isOwnerAtSource: boolean,
): Promise<void> => {
  const { history, allot } = migration
  const { organizations } = allot.hosting
  const ids = await find(login)
  if (ids === undefined) return
  const [id, member] = ids as [number, number]
  const isOwner = await organizations.isOwner(id, member)
  const known = await history.get(kind, scope, login)
  const isCopied = known !== undefined && String(known.ids) === String(ids)
  // The member became an owner at the source after the membership was copied.
  if (isCopied && isOwnerAtSource && !isOwner && !known.grants.includes(OWNER)) {
    await organizations.setMember(id, member, { owner: true })
    return history.save([{ ...known, grants: [OWNER] }])
  }
  const subject = { kind, scope, name: login, id: member, label: `${login} (${organization.name})` }
  const [here, source] = [isOwner ? [OWNER] : [], isOwnerAtSource ? [OWNER] : []]
  await synchronizeGrants(migration, { ...subject, here, source }, () =>
    organizations.setMember(id, member, { owner: false, by: asOperator(0) }),
  )
}

const membershipsOf = ({ allot }: Migration, organization: Account): Things => {
  const { accounts, organizations } = allot.hosting
  const parts = async (login: string) => {
    const member = await accounts.byName(login)
    return member?.kind === 'user' ? [organization.id, member.id] : undefined
  }
  return {
    kind: 'membership',
    scope: organization.name.toLowerCase(),
    parts,
    async find(login) {
      const ids = await parts(login)
      const isMember = await organizations.hasMember(asOperator(0), organization.name, login)
      return isMember ? ids : undefined
    },
    async remove(_, [id, member]) {
      await organizations.removeMember(id!, member!, { by: asOperator(0) })
    },
  }
}
