import type { Account, MigrationRecord, Team } from '../../lib/records/schema/index.ts'
import { followDetails, wasChangedHere } from './details.ts'
import { type Migration, OPERATOR, reportErrors } from './migration.ts'
import { textOf } from './names/index.ts'
import {
  type ExistenceSubject,
  REVOKED_FROM_TEAM,
  removeOthers,
  type SourceItem,
  synchronize,
} from './synchronize.ts'
import type { TeamRights } from './team-rights.ts'

export const LOWERED =
  'teams that only read code here, since they write to a repository with protected branches or tags at the source'
const CHANGED = 'the members of these teams now have the rights that the source has given them since'
const CREATED_HERE = 'teams created here, which get nothing from the team of the same name at the source'
const REMOVED_THERE =
  'teams that were removed at the source, and stay without what was copied into them, since they were changed here, or have members or repositories that were added here'

const ALL = { offset: 0, limit: 1000 }
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
  await synchronize(migration, teamsOf(migration, organization), wanted, false)
  await removeGone(migration, organization, wanted)
  for (const team of teams) {
    if (team.isLowered) report.note('leftOut', LOWERED, `${team.name} of ${name}`)
    const here = await ownTeam(migration, organization, team)
    if (here === undefined) continue
    await followTeam(migration, organization, here, team)
    await copyMembersOf(migration, organization, here, team)
  }
}

/** Removes the teams that the source no longer has. One that was changed here loses only the members and repositories that were copied. */
const removeGone = async (
  migration: Migration,
  organization: Account,
  wanted: readonly SourceItem[],
): Promise<void> => {
  const { allot, migrationLog, names, report } = migration
  const existing = new Set(wanted.map(({ name }) => name))
  const known = await migrationLog.list('team', names.keyHere(organization))
  const gone = known.filter(({ name }) => !existing.has(name))
  const kept: MigrationRecord[] = []
  for (const record of gone) {
    const id = record.copy?.id
    // By its id: it may have got another name here.
    const here = id === undefined ? undefined : (await allot.hosting.teams.find(OPERATOR, id))?.team
    if (here === undefined || !(await hasOwnChanges(migration, here, record))) continue
    report.note('differs', REMOVED_THERE, `${here.name} of ${organization.name}`)
    kept.push(record)
    const scope = `${record.scope}/${record.name}`
    await synchronizeMembers(migration, scope, here, [])
    for (const one of await migrationLog.list('teamRepository', scope))
      if (one.copy?.of === here.id) await removeRepository(migration, one)
  }
  await removeOthers(migration, teamsOf(migration, organization), gone, kept)
}

/** Whether a team was changed here, or has members or repositories that were added here. */
const hasOwnChanges = async (
  { allot, migrationLog }: Migration,
  here: Team,
  record: MigrationRecord,
): Promise<boolean> => {
  if (wasChangedHere(record, shown(here))) return true
  const { teams, teamRepositories } = allot.hosting
  const scope = `${record.scope}/${record.name}`
  const isAdded = async (
    kind: 'teamMember' | 'teamRepository',
    found: { items: readonly { id: number }[] } | undefined,
  ): Promise<boolean> => {
    const copies = (await migrationLog.list(kind, scope)).filter(({ copy }) => copy?.of === here.id)
    const copied = new Set(copies.map(({ copy }) => copy?.to))
    return found?.items.some(({ id }) => !copied.has(id)) === true
  }
  if (await isAdded('teamMember', await teams.members(OPERATOR, here.id, ALL))) return true
  if (here.allRepositories) return false
  return isAdded('teamRepository', await teamRepositories.list(OPERATOR, here.id, ALL))
}

/** Copies which repositories the teams of an organization have rights on. */
export const copyTeamRepositories = async (
  migration: Migration,
  organization: Account,
  teams: readonly TeamRights[],
): Promise<void> => {
  const { allot, names } = migration
  const { teamRepositories } = allot.hosting
  const owner = names.keyHere(organization)
  for (const team of teams) {
    const here = await ownTeam(migration, organization, team, { isReported: false })
    if (here === undefined || here.allRepositories || team.repositories === undefined) continue
    // The records name repositories without their first owner, where that is the organization.
    const find = (name: string) => names.repositoryWithKey(name.includes('/') ? name : `${owner}/${name}`)
    const path = async (name: string) => ({
      owner: organization.name,
      name: (await find(name))?.name ?? name,
    })
    const ends = async (name: string) => {
      const repository = await find(name)
      return repository?.owner === organization.id ? { of: here.id, to: repository.id } : undefined
    }
    const subject: ExistenceSubject = {
      kind: 'teamRepository',
      scope: scopeOf(migration, organization, team),
      ends,
      find: async (name) =>
        (await teamRepositories.find(OPERATOR, here.id, await path(name))) && (await ends(name)),
      remove: async (name) => void (await teamRepositories.remove(OPERATOR, here.id, await path(name))),
    }
    const wanted = [...team.repositories].map((label) => {
      const key = names.repositoryKey(team.organization, label)
      const name = key.scope === owner ? key.name : textOf(key)
      const create = async () => teamRepositories.add(OPERATOR, here.id, await path(name))
      return { name, label, create }
    })
    await synchronize(migration, subject, [...wanted, ...(await keptOf(migration, subject.scope))])
  }
}

/** With `--keep`, teams keep repositories that were deleted at the source. */
const keptOf = async ({ migrationLog, deleted, keep }: Migration, scope: string): Promise<SourceItem[]> => {
  if (keep !== true) return []
  const known = await migrationLog.list('teamRepository', scope)
  const kept = known.filter(({ copy }) => copy?.to !== undefined && deleted.has(copy.to))
  return kept.map(({ name }) => ({ name, label: name, create: async () => false }))
}

/** Takes a repository out of the teams that it was copied into. A team that is for all repositories now keeps it. */
export const removeFromTeams = async (migration: Migration, id: number): Promise<void> => {
  for (const record of await migration.migrationLog.list('teamRepository'))
    if (record.copy?.to === id) await removeRepository(migration, record)
}

/** Takes a copied repository out of its team. */
const removeRepository = async (
  { allot, migrationLog, names, report }: Migration,
  record: MigrationRecord,
): Promise<void> => {
  const { of: team, to } = record.copy ?? {}
  if (team === undefined || to === undefined) return
  const repository = await allot.hosting.repositories.byId(to)
  const path = repository && (await names.addressOf(repository))
  const found = path && (await allot.hosting.teams.find(OPERATOR, team))
  const isListed = found?.team?.allRepositories === false
  if (isListed && (await allot.hosting.teamRepositories.remove(OPERATOR, team, path!)))
    report.note('revoked', REVOKED_FROM_TEAM, `${record.name} (${record.scope})`)
  await migrationLog.remove([record])
}

const editOf = ({ name, description, level, units, canCreate, repositories }: TeamRights) => ({
  name,
  description,
  level,
  units,
  canCreate,
  allRepositories: repositories === undefined,
})

const scopeOf = ({ names }: Migration, organization: Account, { name }: TeamRights): string =>
  `${names.keyHere(organization)}/${name.toLowerCase()}`

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
  const scope = migration.names.keyHere(organization)
  const known = await migration.migrationLog.get('team', scope, name.toLowerCase())
  if (here === undefined || known?.copy?.id === here.id) return here
  if (isReported) migration.report.note('differs', CREATED_HERE, `${name} of ${organization.name}`)
  return undefined
}

const teamsOf = (migration: Migration, organization: Account): ExistenceSubject => ({
  kind: 'team',
  scope: migration.names.keyHere(organization),
  ends: async () => ({ of: organization.id }),
  async find(name) {
    const team = await findTeam(migration, organization, name)
    return team && { id: team.id, of: organization.id }
  },
  remove: async (_, { id }) => void (await migration.allot.hosting.teams.remove(OPERATOR, id!)),
})

/** Rights of a team that only the source has changed follow it even with `--keep`. */
const followTeam = (
  migration: Migration,
  organization: Account,
  here: Team,
  team: TeamRights,
): Promise<void> => {
  const scope = migration.names.keyHere(organization)
  const subject = { kind: 'team', scope, name: team.name.toLowerCase() } as const
  const label = `the team ${team.name} of ${organization.name}`
  const wanted = editOf(team)
  return followDetails(
    { ...migration, keep: false },
    { ...subject, label, here: shown(here), source: shown(wanted) },
    async ({ units, ...others }) => {
      const edit = { ...others, ...(units && { units: wanted.units }) }
      await migration.allot.hosting.teams.edit(OPERATOR, here.id, () => edit)
      const { name: _, description: __, ...rights } = edit
      if (Object.keys(rights).length > 0) migration.report.note('revoked', CHANGED, label)
    },
  )
}

/** The members of a team, as texts to compare. */
const shown = ({ units, ...members }: ReturnType<typeof editOf>) => ({
  ...members,
  units: units.map(({ unit, level }) => `${unit} ${level}`).sort(),
})

const copyMembersOf = (
  migration: Migration,
  organization: Account,
  here: Team,
  team: TeamRights,
): Promise<void> =>
  reportErrors(migration.report, `the team ${team.name} of ${organization.name}`, () =>
    synchronizeMembers(migration, scopeOf(migration, organization, team), here, [...team.users]),
  )

/** @param scope of the members in the migration log */
const synchronizeMembers = (
  migration: Migration,
  scope: string,
  { id }: Team,
  logins: readonly string[],
): Promise<void> => {
  const { allot, names } = migration
  const { teams } = allot.hosting
  const ends = (key: string) => names.ends(id, key, 'user')
  const subject: ExistenceSubject = {
    kind: 'teamMember',
    scope,
    ends,
    find: async (key) => (await teams.member(OPERATOR, id, await names.loginHere(key))) && (await ends(key)),
    remove: async (key) => void (await teams.removeMember(OPERATOR, id, await names.loginHere(key))),
  }
  const wanted = logins.map((login) => ({
    name: names.key(login),
    label: login,
    create: async () => teams.addMember(OPERATOR, id, await names.loginHere(names.key(login))),
  }))
  return synchronize(migration, subject, wanted)
}
