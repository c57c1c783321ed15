import type { Account } from '../../../lib/records/schema/index.ts'
import { Copies } from '../copies.ts'
import { LABELS } from '../labels.ts'
import { type Migration, OPERATOR, reportErrors } from '../migration.ts'
import { remember } from '../names/changes.ts'
import type { TeamRights } from './rights.ts'
import { copyOfTeam, type Keyed, membersOf, repositoriesOf, teamsOf } from './things.ts'

const LOWERED =
  'teams that only read code here, since they write to a repository with protected branches or tags at the source'
const CREATED_HERE = 'teams created here, which get nothing from the team of the same name at the source'

/**
 * Takes from the teams of an organization what the source has withdrawn: whole teams, their rights, their
 * members and their repositories.
 * @param teams without that of the owners; none when the organization was deleted
 */
export const withdrawTeams = async (
  migration: Migration,
  organization: Account,
  teams: readonly TeamRights[],
): Promise<void> => {
  const keyed = await migration.names.keysOfTeams(migration.names.keyHere(organization), teams)
  const { things, items } = teamsOf(migration, organization, keyed)
  await new Copies(migration, things).withdraw(items)
  for (const one of keyed) {
    const here = await copyOfTeam(migration, things.scope, one.key)
    if (here === undefined) continue
    const [members, repositories] = [membersOf, repositoriesOf].map((of) =>
      of(migration, organization, one, here),
    )
    await new Copies(migration, members!.things).withdraw(members!.items)
    if (one.team.repositories !== undefined)
      await new Copies(migration, repositories!.things).withdraw(repositories!.items)
  }
}

/** Gives the teams of an organization their rights, their members and their repositories. */
export const giveTeams = async (
  migration: Migration,
  organization: Account,
  teams: readonly TeamRights[],
): Promise<void> => {
  const { migrationLog, names, report } = migration
  const keyed = await names.keysOfTeams(names.keyHere(organization), teams)
  const { things, items } = teamsOf(migration, organization, keyed)
  // Copies of earlier runs first: a team that was renamed makes its name free for a new one.
  const isCopied = ({ name }: { name: string }) => keyed.find(({ key }) => key === name)?.record !== undefined
  await new Copies(migration, things).give([
    ...items.filter(isCopied),
    ...items.filter((item) => !isCopied(item)),
  ])
  for (const { key, team } of keyed) {
    const known = await migrationLog.get('team', things.scope, key)
    if (known !== undefined)
      await remember(migration, known, { original: { id: team.id, name: team.name.toLowerCase() } })
  }
  for (const one of keyed)
    await reportErrors(report, `the team ${one.team.name} of ${organization.name}`, () =>
      giveWithin(migration, organization, one, things.scope),
    )
}

const giveWithin = async (
  migration: Migration,
  organization: Account,
  one: Keyed,
  scope: string,
): Promise<void> => {
  const { report, comparison } = migration
  const label = `${one.team.name} of ${organization.name}`
  if (one.team.isLowered) report.note('leftOut', LOWERED, label)
  const here = await copyOfTeam(migration, scope, one.key)
  if (here === undefined) {
    if (comparison === undefined) report.note('differs', CREATED_HERE, label)
    return
  }
  const members = membersOf(migration, organization, one, here)
  await new Copies(migration, members.things).give(members.items)
  const repositories = repositoriesOf(migration, organization, one, here)
  if (!here.allRepositories) await new Copies(migration, repositories.things).give(repositories.items)
}

/**
 * Takes a repository out of the teams that it was copied into. A team that is for all repositories now keeps
 * it.
 */
export const removeFromTeams = async (
  { allot, migrationLog, names, report }: Migration,
  id: number,
): Promise<void> => {
  const repository = await allot.hosting.repositories.byId(id)
  const path = repository && (await names.addressOf(repository))
  for (const record of await migrationLog.list('teamRepository')) {
    const { of: team, to } = record.copy ?? {}
    if (to !== id || team === undefined || path === undefined) continue
    const isListed = (await allot.hosting.teams.find(OPERATOR, team))?.team?.allRepositories === false
    if (isListed && (await allot.hosting.teamRepositories.remove(OPERATOR, team, path)))
      report.note('revoked', LABELS.teamRepository.revoked!, `${record.name} (${record.scope})`)
    await migrationLog.remove([record])
  }
}
