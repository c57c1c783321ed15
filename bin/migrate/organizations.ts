import { invalid } from '../../lib/errors.ts'
import { type Account, audienceOf } from '../../lib/records/schema/index.ts'
import { followAccount, isThere } from './accounts.ts'
import { follow, type Things } from './follow.ts'
import { followGrants } from './grants.ts'
import { asOperator, collect, ifAvailable, type Migration, reportErrors } from './migration.ts'
import { repositoriesOf } from './repositories.ts'
import { type Source, SourceError } from './source.ts'
import { type SourceOrganization, SourceUser } from './source-types.ts'
import { type MemberRights, teamRights } from './team-rights.ts'
import { grantsOfAudience, visibilityAt } from './visibility.ts'

const NO_OWNER = 'organizations without an owner, whose owners are not known here: administrators manage them'
const LEFT_OUT =
  'members who may do less at the source than a member here, who writes to every repository and creates new ones, or of whom the source does not show it'
const STRANGERS = 'members who are not here'
const TEAMS = 'teams: a member here is an owner, or writes to every repository'
const MADE_HERE = 'an organization of that name was made here, so nothing of the source goes into it'
const OWNER = 'the organization is owned'

/** The users who belong to an organization in any way. */
export const usersOf = (source: Source, organization: string): Promise<SourceUser[] | undefined> =>
  ifAvailable(collect(source.list(SourceUser, `/orgs/${encodeURIComponent(organization)}/members`)))

/**
 * The organization and its members. Its repositories come only after this has succeeded: `moving.repositories` has them
 * then, as they were when the rights of the members were compared.
 * @param users names of those who may be members, for a source that has no list of them
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
    const here = await accountFor(migration, organization, rights)
    await copyMembers(migration, here, rights)
    for (const login of rights.leftOut) report.leftOut(LEFT_OUT, `${login} of ${name}`)
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
    const path = `/orgs/${encodeURIComponent(organization)}/members/${encodeURIComponent(login)}`
    const status = await source.status(path)
    if (status >= 300 && status !== 404) throw new SourceError(status, `${path} answered ${status}`)
    if (status !== 404) members.add(login.toLowerCase())
  }
  return { owners: new Set(), members, leftOut: [] }
}

/** @throws AllotError invalid when it was made here: its members here have no rights at the source */
const accountFor = async (
  migration: Migration,
  given: SourceOrganization,
  { owners }: MemberRights,
): Promise<Account> => {
  const { source, allot, report, history } = migration
  const { accounts } = allot.hosting
  const name = given.name.toLowerCase()
  const there = await accounts.byName(name)
  const visibility = visibilityAt(source, given.visibility)
  if (!isThere(there, 'organization')) return create(migration, given, owners)
  const known = await history.get('account', '', name)
  if (known === undefined || (known.ids.length > 0 && !known.ids.includes(there.id))) throw invalid(MADE_HERE)
  report.found('organizations')
  await followAccount(migration, there, grantsOfAudience(audienceOf[visibility]))
  return (await accounts.byId(there.id)) ?? there
}

/** Its first owner is one of those of the source, or there is none. */
const create = async (
  { source, allot, report, history }: Migration,
  { name, full_name, website, description, location, ...given }: SourceOrganization,
  owners: MemberRights['owners'],
): Promise<Account> => {
  const { accounts, organizations } = allot.hosting
  const scope = name.toLowerCase()
  const visibility = visibilityAt(source, given.visibility)
  const record = {
    kind: 'account',
    scope: '',
    name: scope,
    ids: [],
    grants: [],
  } as const
  await history.save([record])
  let owner: Account | undefined
  for (const login of owners) {
    const found = await accounts.byName(login)
    if (found?.kind === 'user') owner ??= found
  }
  const membership = { kind: 'membership', scope, ids: [], grants: [] } as const
  if (owner !== undefined) await history.save([{ ...membership, name: owner.name.toLowerCase() }])
  const { id } = await organizations.create(owner?.id, {
    ...{ name, visibility, fullName: full_name ?? '', website: website ?? '' },
    ...{ description: description ?? '', location: location ?? '' },
  })
  await history.save([{ ...record, ids: [id], grants: grantsOfAudience(audienceOf[visibility]) }])
  report.copied('organizations')
  if (owner === undefined) report.behind(NO_OWNER, name)
  report.behind(TEAMS, name)
  return (await accounts.byId(id))!
}

/** A membership that came from the source follows it, up and down; one that was made here stays as it is. */
export const copyMembers = async (
  migration: Migration,
  here: Account,
  { owners, members }: MemberRights,
): Promise<void> => {
  const { allot, report } = migration
  const { accounts, organizations } = allot.hosting
  const things = membershipsOf(migration, here)
  const wanted = [...members].map((login) => ({
    ...{ name: login, label: login, grants: owners.has(login) ? [OWNER] : [] },
    bring: async () => {
      const member = await accounts.byName(login)
      if (member?.kind !== 'user') report.behind(STRANGERS, `${login} of ${here.name}`)
      else await organizations.setMember(here.id, member.id, { owner: owners.has(login) })
      return member?.kind === 'user'
    },
  }))
  await follow(migration, things, wanted)
  for (const login of members) await followOwnership(migration, here, things, login, owners.has(login))
}

const followOwnership = async (
  migration: Migration,
  { name: organization }: Account,
  { kind, scope, find }: Things,
  login: string,
  isOwnerThere: boolean,
): Promise<void> => {
  const { history, allot } = migration
  const { organizations } = allot.hosting
  const ids = await find(login)
  if (ids === undefined) return
  const [id, member] = ids as [number, number]
  const isOwner = await organizations.isOwner(id, member)
  const known = await history.get(kind, scope, login)
  const isBrought = known !== undefined && String(known.ids) === String(ids)
  // Made an owner at the source since the membership was brought.
  if (isBrought && isOwnerThere && !isOwner && !known.grants.includes(OWNER)) {
    await organizations.setMember(id, member, { owner: true })
    return history.save([{ ...known, grants: [OWNER] }])
  }
  await followGrants(
    migration,
    {
      ...{ kind, scope, name: login, id: member, label: `${login} (${organization})` },
      here: isOwner ? [OWNER] : [],
      source: isOwnerThere ? [OWNER] : [],
    },
    () => organizations.setMember(id, member, { owner: false, by: asOperator(0) }),
  )
}

const membershipsOf = ({ allot }: Migration, organization: Account): Things => {
  const { accounts, organizations } = allot.hosting
  const parts = async (login: string) => {
    const member = await accounts.byName(login)
    return member?.kind === 'user' ? [organization.id, member.id] : undefined
  }
  return {
    ...{ kind: 'membership', scope: organization.name.toLowerCase(), parts },
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
