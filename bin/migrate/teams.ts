import type { Account, Team } from '../../lib/records/schema/index.ts'
import { asOperator, type Migration, reportErrors } from './migration.ts'
import { followDetails, synchronize, type Things } from './synchronize.ts'
import type { TeamRights } from './team-rights.ts'

const LOWERED =
  'teams that only read code here, since they write to a repository with protected branches or tags at the source'
const CHANGED = 'rights of teams, which are now as at the source'
const CREATED_HERE = 'teams created here, which get nothing from the team of the same name at the source'

const ALL = { offset: 0, limit: 1000 }
const OPERATOR = asOperator(0)

/**
 * Copies the teams of an organization with their rights and members; their repositories follow when these exist.
 * @param teams without that of the owners
 */
export const copyTeams = async (
  migration: Migration,
  organization: Account,
  teams: readonly TeamRights[],
): Promise<void> => {
  const { allot, report } = migration
  const { name } = organization
  const wanted = teams.map((team) => ({
    name: team.name.toLowerCase(),
    label: team.name,
    create: async () => (await allot.hosting.teams.create(OPERATOR, name, editOf(team))) !== undefined,
  }))
  await synchronize(migration, teamsOf(migration, organization), wanted)
  for (const team of teams) {
    if (team.isLowered) report.note('leftOut', LOWERED, `${team.name} of ${name}`)
    const here = await ownTeam(migration, organization, team)
    if (here === undefined) continue
    await followTeam(migration, organization, here, team)
    await copyMembersOf(migration, organization, here, team)
  }
}

/** Copies which repositories the teams of an organization have rights on. */
export const copyTeamRepositories = async (
  migration: Migration,
  organization: Account,
  teams: readonly TeamRights[],
): Promise<void> => {
  const { teamRepositories, repositories } = migration.allot.hosting
  for (const team of teams) {
    const here = await ownTeam(migration, organization, team, { isReported: false })
    if (here === undefined || here.allRepositories || team.repositories === undefined) continue
    const parts = async (name: string) => {
      const repository = await repositories.find(OPERATOR, organization.name, name)
      return repository && [here.id, repository.id]
    }
    const path = (name: string) => ({ owner: organization.name, name })
    const things: Things = {
      kind: 'teamRepository',
      scope: scopeOf(organization, team),
      parts,
      find: async (name) =>
        (await teamRepositories.find(OPERATOR, here.id, path(name))) && (await parts(name)),
      remove: async (name) => void (await teamRepositories.remove(OPERATOR, here.id, path(name))),
    }
    const wanted = [...team.repositories].map((name) => ({
      ...{ name, label: name },
      create: () => teamRepositories.add(OPERATOR, here.id, path(name)),
    }))
    await synchronize(migration, things, wanted)
  }
}

const editOf = ({ name, description, level, units, canCreate, repositories }: TeamRights) => ({
  ...{ name, description, level, units, canCreate, allRepositories: repositories === undefined },
})

const scopeOf = ({ name }: Account, team: TeamRights): string => `${name}/${team.name}`.toLowerCase()

/** A team of the organization by its name. */
const findTeam = async (
  { allot }: Migration,
  { name: organization }: Account,
  name: string,
): Promise<Team | undefined> => {
  const page = await allot.hosting.teams.list(OPERATOR, organization, ALL)
  return page?.items.find(({ team }) => team?.name.toLowerCase() === name.toLowerCase())?.team
}

/** The copy of a team; undefined when it was removed here, or another one of this name was created here. */
const ownTeam = async (
  migration: Migration,
  organization: Account,
  { name }: TeamRights,
  { isReported = true } = {},
): Promise<Team | undefined> => {
  const here = await findTeam(migration, organization, name)
  const scope = organization.name.toLowerCase()
  const known = await migration.history.get('team', scope, name.toLowerCase())
  if (here === undefined || known?.ids.includes(here.id)) return here
  if (isReported) migration.report.note('differs', CREATED_HERE, `${name} of ${organization.name}`)
  return undefined
}

const teamsOf = (migration: Migration, organization: Account): Things => ({
  kind: 'team',
  scope: organization.name.toLowerCase(),
  parts: async () => [organization.id],
  async find(name) {
    const team = await findTeam(migration, organization, name)
    return team && [organization.id, team.id]
  },
  remove: async (_, ids) => void (await migration.allot.hosting.teams.remove(OPERATOR, ids[1]!)),
})

/** The rights of a team follow the source even with `--keep`. */
const followTeam = (
  migration: Migration,
  organization: Account,
  here: Team,
  team: TeamRights,
): Promise<void> => {
  const scope = organization.name.toLowerCase()
  const subject = { kind: 'team', scope, name: team.name.toLowerCase() } as const
  const label = `the team ${team.name} of ${organization.name}`
  const wanted = editOf(team)
  return followDetails(
    { ...migration, keep: false },
    { ...subject, label, here: shown(here), source: shown(wanted) },
    async () => {
      await migration.allot.hosting.teams.edit(OPERATOR, here.id, () => wanted)
      migration.report.note('revoked', CHANGED, label)
    },
  )
}

/** The members of a team, as texts to compare. */
const shown = ({
  name,
  description,
  level,
  units,
  canCreate,
  allRepositories,
}: ReturnType<typeof editOf>) => ({
  ...{ name, description, level, canCreate, allRepositories },
  units: units.map(({ unit, level }) => `${unit} ${level}`).sort(),
})

const copyMembersOf = (
  migration: Migration,
  organization: Account,
  { id }: Team,
  team: TeamRights,
): Promise<void> => {
  const { accounts, teams } = migration.allot.hosting
  const parts = async (login: string) => {
    const account = await accounts.byName(login)
    return account?.kind === 'user' ? [id, account.id] : undefined
  }
  const things: Things = {
    kind: 'teamMember',
    scope: scopeOf(organization, team),
    parts,
    find: async (login) => (await teams.member(OPERATOR, id, login)) && (await parts(login)),
    remove: async (login) => void (await teams.removeMember(OPERATOR, id, login)),
  }
  const wanted = [...team.users].map((login) => ({
    ...{ name: login, label: login },
    create: () => teams.addMember(OPERATOR, id, login),
  }))
  return reportErrors(migration.report, `the team ${team.name} of ${organization.name}`, () =>
    synchronize(migration, things, wanted),
  )
}
