import { invalid } from '../../lib/errors.ts'
import type { Account } from '../../lib/records/schema.ts'
import { isThere } from './accounts.ts'
import { allOf, asOperator, attempt, ifTold, type Moving } from './moving.ts'
import { type SourceOrganization, SourceTeam, SourceUser } from './shapes.ts'
import type { Source } from './source.ts'

/** Who belongs to an organization. */
export interface Members {
  all: SourceUser[]
  /** Names in lower case; undefined where the source does not tell. */
  owners: Set<string> | undefined
}

const NO_OWNER = 'who owns it is not told, or not here: whoever the token is of does, until that is changed'
const STRANGERS = 'members who are not here'
const TEAMS = 'teams, with their rights: members are members, and those of Owners owners'

/** Undefined where the source has no list of them. */
export const membersOf = async (source: Source, organization: string): Promise<Members | undefined> => {
  const path = `/orgs/${encodeURIComponent(organization)}`
  const all = await ifTold(allOf(source.list(SourceUser, `${path}/members`)))
  if (all === undefined) return undefined
  const teams = await ifTold(allOf(source.list(SourceTeam, `${path}/teams`)))
  if (teams === undefined) return { all, owners: undefined }
  const owners = new Map<string, SourceUser>()
  for (const team of teams.filter(isOfOwners))
    for await (const one of source.list(SourceUser, `/teams/${team.id}/members`))
      owners.set(one.login.toLowerCase(), one)
  const others = all.filter(({ login }) => !owners.has(login.toLowerCase()))
  return { all: [...owners.values(), ...others], owners: new Set(owners.keys()) }
}

const isOfOwners = ({ name, permission }: { name: string; permission?: string | null | undefined }) =>
  permission === 'owner' || name === 'Owners'

/** @param users the names of those who may be members: where there is no list each is asked after */
export const copyOrganization = (
  moving: Moving,
  organization: SourceOrganization,
  users: readonly string[],
): Promise<void> =>
  attempt(moving.report, `the organization ${organization.name}`, async () => {
    const { source, allot, report } = moving
    const told = await membersOf(source, organization.name)
    const names = told?.all.map(({ login }) => login) ?? (await askedAfter(source, organization.name, users))
    const there = await allot.hosting.accounts.byName(organization.name)
    if (isThere(there, 'organization')) report.found('organizations')
    const here = there ?? (await create(moving, organization, told?.owners))
    for (const name of names) await join(moving, here, name, told?.owners?.has(name.toLowerCase()) === true)
  })

const askedAfter = async (source: Source, organization: string, users: readonly string[]) => {
  const members: string[] = []
  for (const login of users)
    if (await source.has(`/orgs/${encodeURIComponent(organization)}/members/${encodeURIComponent(login)}`))
      members.push(login)
  return members
}

/** The first of its owners who is here; else whoever the token is of, who has every right already. */
const create = async (
  { source, allot, report }: Moving,
  { name, full_name, website, description, location, visibility }: SourceOrganization,
  owners: Members['owners'],
): Promise<Account> => {
  const { accounts, organizations } = allot.hosting
  let owner: Account | undefined
  for (const login of [...(owners ?? []), source.login]) owner ??= await accounts.byName(login)
  if (owner === undefined) throw invalid(`none of its owners is here: copy ${source.login}, too`)
  const created = await organizations.create(owner.id, {
    ...{ name, visibility, fullName: full_name ?? '', website: website ?? '' },
    ...{ description: description ?? '', location: location ?? '' },
  })
  report.copied('organizations')
  if (!owners?.has(owner.name.toLowerCase())) report.behind(NO_OWNER, name)
  report.behind(TEAMS, name)
  return created
}

/** Nobody is made less than they are here. */
const join = async (
  { allot, report }: Moving,
  organization: Account,
  login: string,
  isOwner: boolean,
): Promise<void> => {
  const { accounts, organizations } = allot.hosting
  const member = await accounts.byName(login)
  if (member?.kind !== 'user') return report.behind(STRANGERS, `${login} of ${organization.name}`)
  const isMember = await organizations.hasMember(asOperator(0), organization.name, login)
  const isDone = isOwner ? await organizations.isOwner(organization.id, member.id) : isMember
  if (!isDone) await organizations.setMember(organization.id, member.id, { owner: isOwner })
  if (isMember) report.found('memberships')
  else report.copied('memberships')
}
