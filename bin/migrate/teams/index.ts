import { AllotError } from '../../../lib/errors.ts'
import { allItems } from '../../../lib/records/pages.ts'
import type { Account, MigrationRecord, Team } from '../../../lib/records/schema/index.ts'
import { followDetails, wasChangedHere } from '../details.ts'
import { type Migration, OPERATOR, reportErrors } from '../migration.ts'
import { remember } from '../names/changes.ts'
import { createMissing, type ExistenceSubject, removeOthers, synchronize } from '../synchronize.ts'
import { copyWithKey, type Keyed, ownTeam, teamsOf } from './copies.ts'
import { removeRepository } from './repositories.ts'
import type { TeamRights } from './rights.ts'

export const LOWERED =
  'teams that only read code here, since they write to a repository with protected branches or tags at the source'
const CHANGED = 'the members of these teams now have the rights that the source has given them since'
const NAME_REFUSED = 'teams that were renamed at the source, and cannot get that name here'
const REMOVED_THERE =
  'teams that were removed at the source, and stay without what was copied into them, since they were changed here, or have members or repositories that were added here'

/**
 * Copies the teams of an organization with their rights and members; their repositories follow when these
 * exist.
 * @param teams without that of the owners
 */
export const copyTeams = async (
  migration: Migration,
  organization: Account,
  teams: readonly TeamRights[],
): Promise<void> => {
  const { allot, names } = migration
  const { name } = organization
  const keyed = await names.keysOfTeams(names.keyHere(organization), teams)
  await removeGone(migration, organization, keyed)
  // Copies of earlier runs first: a team that was renamed makes its name free for a new one.
  for (const one of keyed) if (isCopied(one)) await followTeam(migration, organization, one)
  const wanted = keyed.map(({ team, key }) => ({
    name: key,
    label: team.name,
    create: async () => (await allot.hosting.teams.create(OPERATOR, name, editOf(team))) !== undefined,
  }))
  await createMissing(migration, teamsOf(migration, organization, keyed), wanted)
  for (const one of keyed) {
    if (!isCopied(one)) await followTeam(migration, organization, one)
    await copyMembersOf(migration, organization, one)
  }
}

/** Whether an earlier run copied it. */
const isCopied = ({ record }: Keyed): boolean => record?.copy !== undefined

/**
 * Removes the teams that the source no longer has. One that was changed here loses only the members and
 * repositories that were copied.
 */
const removeGone = async (
  migration: Migration,
  organization: Account,
  keyed: readonly Keyed[],
): Promise<void> => {
  const { migrationLog, names, report } = migration
  const existing = new Set(keyed.map(({ key }) => key))
  const known = await migrationLog.list('team', names.keyHere(organization))
  const gone = known.filter(({ name }) => !existing.has(name))
  const kept: MigrationRecord[] = []
  for (const record of gone) {
    const here = await copyWithKey(migration, record.scope, record.name)
    if (here === undefined || !(await hasOwnChanges(migration, here, record))) continue
    report.note('differs', REMOVED_THERE, `${here.name} of ${organization.name}`)
    kept.push(record)
    const scope = `${record.scope}/${record.name}`
    await synchronizeMembers(migration, scope, here, [])
    for (const one of await migrationLog.list('teamRepository', scope))
      if (one.copy?.of === here.id) await removeRepository(migration, one)
  }
  await removeOthers(migration, teamsOf(migration, organization, keyed), gone, kept)
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
    found: readonly { id: number }[],
  ): Promise<boolean> => {
    const copies = (await migrationLog.list(kind, scope)).filter(({ copy }) => copy?.of === here.id)
    const copied = new Set(copies.map(({ copy }) => copy?.to))
    return found.some(({ id }) => !copied.has(id))
  }
  const members = await allItems((slice) => teams.members(OPERATOR, here.id, slice))
  if (await isAdded('teamMember', members)) return true
  if (here.allRepositories) return false
  const repositories = await allItems((slice) => teamRepositories.list(OPERATOR, here.id, slice))
  return isAdded('teamRepository', repositories)
}

const editOf = ({ name, description, level, units, canCreate, repositories }: TeamRights) => ({
  name,
  description,
  level,
  units,
  canCreate,
  allRepositories: repositories === undefined,
})

const followTeam = (migration: Migration, organization: Account, one: Keyed): Promise<void> => {
  const { allot, migrationLog, names, report } = migration
  const { team, key } = one
  const label = `the team ${team.name} of ${organization.name}`
  return reportErrors(report, label, async () => {
    const here = await ownTeam(migration, organization, one)
    if (here === undefined) return
    const subject = { kind: 'team', scope: names.keyHere(organization), name: key, label } as const
    const wanted = editOf(team)
    await followDetails(
      migration,
      { ...subject, here: shown(here), source: shown(wanted) },
      async ({ units, name, ...others }) => {
        const edit = { ...others, ...(units && { units: wanted.units }) }
        await allot.hosting.teams.edit(OPERATOR, here.id, () => edit)
        const { description: _, ...rights } = edit
        if (Object.keys(rights).length > 0) report.note('revoked', CHANGED, label)
        if (name !== undefined) await rename(migration, here, name, label)
      },
    )
    const known = await migrationLog.get('team', subject.scope, key)
    if (known !== undefined)
      await remember(migration, known, { original: { id: team.id, name: team.name.toLowerCase() } })
  })
}

/** After the rights, which another team of the name must not keep from being withdrawn. */
const rename = async (
  { allot, report }: Migration,
  { id }: Team,
  name: string,
  label: string,
): Promise<void> => {
  try {
    await allot.hosting.teams.edit(OPERATOR, id, () => ({ name }))
  } catch (error) {
    if (!(error instanceof AllotError)) throw error
    report.note('differs', NAME_REFUSED, `${label} (${error.message})`)
  }
}

/** The members of a team, as texts to compare. */
const shown = ({ units, ...members }: ReturnType<typeof editOf>) => ({
  ...members,
  units: units.map(({ unit, level }) => `${unit} ${level}`).sort(),
})

const copyMembersOf = (migration: Migration, organization: Account, one: Keyed): Promise<void> => {
  const { names, report } = migration
  const { team, key } = one
  return reportErrors(report, `the team ${team.name} of ${organization.name}`, async () => {
    if (team.isLowered) report.note('leftOut', LOWERED, `${team.name} of ${organization.name}`)
    const here = await ownTeam(migration, organization, one)
    if (here !== undefined)
      await synchronizeMembers(migration, `${names.keyHere(organization)}/${key}`, here, [...team.users])
  })
}

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
